package inspect

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Who names the owner of a contender by the best that is known of it: label, client address, host, session, and the
// contender's own name at last, also where the host is only a MAC address, which several have. See also Nameless.
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
	case c.Nameless() && c.Count > 1:
		return Untrusted(fmt.Sprintf("%d unknown", c.Count))
	case c.Nameless():
		return "unknown"
	default:
		return c.Name
	}
}

// Nameless reports whether a contender's value says that the lock is held but not by whom: 1, true, a count.
func (c *Contender) Nameless() bool {
	return c.Owner.Process == Process{} && c.Owner.Label == "" && c.Owner.Client == "" && c.Owner.Session == 0 &&
		!c.Sequential && recipe.NamesNobody(c.Name.Raw())
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
