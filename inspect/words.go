package inspect

import (
	"fmt"
	"strings"
)

// Who names the owner of a contender by the best that is known of it: label, client address, host, session, and the
// contender's own name at last, also where the host is only a MAC address, which several have.
func (c *Contender) Who() Untrusted {
	o := c.Owner
	switch {
	case o.Label != "" && o.Client != "":
		return o.Label + " " + Untrusted(o.Client)
	case o.Label != "":
		return o.Label
	case o.Client != "":
		return Untrusted(o.Client)
	case o.Host != "" && !o.HostIsMAC():
		return o.Host
	case o.Session != 0:
		return Untrusted(SessionID(o.Session))
	default:
		return c.Name
	}
}

// Ballot counts the masters of each value, most first: 2·2·1.
func (l *Lock) Ballot() string {
	counts := make(map[Untrusted]int)
	for _, m := range l.Masters {
		for _, b := range ballotsOf(m) {
			counts[b.value+Untrusted(b.digest)]++
		}
	}
	var parts []string
	for n := len(l.Masters); n > 0; n-- {
		for _, c := range counts {
			if c == n {
				parts = append(parts, fmt.Sprint(n))
			}
		}
	}
	return strings.Join(parts, "·")
}
