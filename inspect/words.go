package inspect

import (
	"fmt"
	"strings"
	"time"
)

// FormatAge writes a duration for people, in at most two units: 812ms, 2.1s, 14m02s, 3h05m, 4d06h.
func FormatAge(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// Who names the owner of a contender by the best that is known of it: label, client address, host, session, and the
// contender's own name at last.
func (c *Contender) Who() Untrusted {
	o := c.Owner
	switch {
	case o.Label != "" && o.Client != "":
		return o.Label + " " + Untrusted(o.Client)
	case o.Label != "":
		return o.Label
	case o.Client != "":
		return Untrusted(o.Client)
	case o.Host != "":
		return o.Host
	case o.Session != 0:
		return Untrusted(SessionID(o.Session))
	default:
		return c.Name
	}
}

// Summary says in a few words who holds the lock, or why nobody does.
func (l *Lock) Summary() Untrusted {
	switch l.State {
	case StateFree:
		return "free"
	case StateSplit:
		return Untrusted("split " + l.Ballot())
	case StateMinority:
		return Untrusted(fmt.Sprintf("minority %d of %d", l.Votes(), len(l.Masters)))
	case StateUnknown:
		return "unknown"
	}
	switch n := len(l.Holders); n {
	case 0:
		return "free"
	case 1:
		return l.Holders[0].Who()
	default:
		return Untrusted(fmt.Sprintf("%d holders", n))
	}
}

// Ballot is how many masters hold each value, most first: 2·2·1.
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
