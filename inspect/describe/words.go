package describe

import (
	"fmt"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/text"
)

// Printable makes text safe to print that is our own or already escaped. It keeps backslashes and
// escapes the rest as inspect.Escape does.
func Printable(s string) string { return text.Printable(s) }

// OneLine formats an error with Printable. The errors of several servers go on one line, since a
// line feed would be shown escaped.
func OneLine(err error) string { return Printable(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// Count formats a number of things: "1 lock", "2 locks", "3 matches", "4 directories".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	switch last := one[len(one)-1]; {
	case strings.HasSuffix(one, "ch") || last == 's':
		one += "es"
	case last == 'y' && !strings.ContainsAny(one[len(one)-2:len(one)-1], "aeou"):
		one = one[:len(one)-1] + "ies"
	default:
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}

// Owner names a contender's owner in a word: the label, else the client, host, session or the
// contender's name. It skips a host that is only a MAC address.
func Owner(c *inspect.Contender) string {
	o := &c.Owner
	switch {
	case o.Label != "":
		return o.Label.String()
	case o.Client != "":
		return Printable(o.Client)
	case o.Host != "" && !o.HostIsMAC():
		return o.Host.String()
	case o.Session != 0:
		return inspect.SessionID(o.Session)
	default:
		return c.Who().String()
	}
}

// Contender names the owner of a contender, and its own name if that differs.
func Contender(c *inspect.Contender) string {
	text := c.Who().Cut(64)
	if c.Who() != c.Name {
		text += " (" + c.Name.Cut(64) + ")"
	}
	return text
}

// BriefOwner names the owner for a short sentence: with its client, unless its label is long.
func BriefOwner(c *inspect.Contender) string {
	const brief, longest = 36, 64
	switch w := c.Who(); {
	case w == c.Name && len(w) >= brief:
		return BriefName(c.Name)
	case len(w) > brief && c.Owner.Label != "":
		return c.Owner.Label.Cut(longest)
	default:
		return w.Cut(longest)
	}
}

// BriefName shortens a contender's name. It keeps the end, which is a znode's sequence number.
func BriefName(name inspect.Untrusted) string {
	const start, end = 12, 20
	raw := name.Raw()
	if len(raw) <= start+end {
		return name.String()
	}
	cut := len(raw) - end
	for cut < len(raw) && !utf8.RuneStart(raw[cut]) {
		cut++
	}
	return name.Cut(start) + inspect.Untrusted(raw[cut:]).Cut(end)
}

// Host is the label for an owner's host, which may be known only as a MAC address.
func Host(o *inspect.Owner) string {
	if o.HostIsMAC() {
		return "MAC address"
	}
	return "host"
}

// Client is an owner's address, or else its host; empty if neither is known.
func Client(o *inspect.Owner) string {
	if o.Client != "" {
		return Printable(o.Client)
	}
	return o.Host.String()
}

// Client is like the function Client, but prefers the host's name to its address.
func (v View) Client(o *inspect.Owner) string {
	n, ok := v.Snapshot.HostName(o)
	if !ok {
		return Client(o)
	}
	if _, port, err := net.SplitHostPort(o.Client); err == nil {
		return n.String() + ":" + Printable(port)
	}
	return n.String()
}

// HostName returns the name of an owner's host; empty if it has none.
func (v View) HostName(o *inspect.Owner) string {
	n, _ := v.Snapshot.HostName(o)
	return n.String()
}
