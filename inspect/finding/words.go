package finding

import (
	"fmt"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"lockscope/inspect"
)

// evidence is what a finding rests on.
type evidence = map[string]any

// listed is how many names a finding lists; it counts the rest.
const listed = 10

// spans are the round figures of over.
var spans = [...]struct {
	d    time.Duration
	text string
}{
	{365 * 24 * time.Hour, "1y"},
	{90 * 24 * time.Hour, "90d"},
	{30 * 24 * time.Hour, "30d"},
	{7 * 24 * time.Hour, "7d"},
	{2 * 24 * time.Hour, "2d"},
	{24 * time.Hour, "1d"},
	{12 * time.Hour, "12h"},
	{6 * time.Hour, "6h"},
	{3 * time.Hour, "3h"},
	{time.Hour, "1h"},
	{30 * time.Minute, "30m"},
	{20 * time.Minute, "20m"},
	{10 * time.Minute, "10m"},
	{5 * time.Minute, "5m"},
	{2 * time.Minute, "2m"},
	{time.Minute, "1m"},
	{30 * time.Second, "30s"},
	{10 * time.Second, "10s"},
	{5 * time.Second, "5s"},
	{2 * time.Second, "2s"},
	{time.Second, "1s"},
	{500 * time.Millisecond, "0.5s"},
	{100 * time.Millisecond, "0.1s"},
}

// over is the longest round span that d has reached. Findings tell no running ages, so that the same state gives the
// same finding from one second to the next.
func over(d time.Duration) string {
	for _, s := range spans {
		if d >= s.d {
			return s.text
		}
	}
	return "0s"
}

// brief writes a span or a limit without the zeros that FormatAge ends with: 10m, 1h30m.
func brief(d time.Duration) string {
	text := inspect.FormatAge(d)
	for _, zero := range []string{"00s", "00m", "00h"} {
		if cut, ok := strings.CutSuffix(text, zero); ok && cut != "" {
			return cut
		}
	}
	return text
}

// count writes a number of things: 1 waiter, 2 waiters.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// stamp is an instant as evidence has it, to the millisecond.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }

// who names the owner of a contender in a few cells.
func who(c *inspect.Contender) string {
	if w := c.Who(); w != c.Name {
		return w.Cut(36)
	}
	return short(c.Name)
}

// short is a contender's name in a few cells. The end of a znode's name tells it apart, the beginning is the same for all.
func short(name inspect.Untrusted) string {
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

// at is a server's address in a few cells.
func at(addr string) string { return inspect.Untrusted(addr).Cut(40) }

// about is evidence of one contender: contender is its name, owner who stands behind it, session and client where known;
// since and held_since by the backend's clock where known.
func about(c *inspect.Contender) evidence {
	e := evidence{"contender": c.Name.String(), "owner": c.Who().String()}
	if c.Digest != "" {
		e["value_digest"] = c.Digest
	}
	if c.Owner.Session != 0 {
		e["session"] = inspect.SessionID(c.Owner.Session)
	}
	if c.Owner.Client != "" {
		e["client"] = inspect.Escape(c.Owner.Client)
	}
	if !c.Since.IsZero() {
		e["since"] = stamp(c.Since)
	}
	if !c.HeldSince.IsZero() {
		e["held_since"] = stamp(c.HeldSince)
	}
	return e
}

// release is the command that frees a lock of one contender. It takes the name as it was seen, so that it refuses when
// another has come meanwhile.
func release(c *inspect.Case, id inspect.ID, name inspect.Untrusted, digest string) string {
	owner := name.String()
	if digest != "" {
		owner = digest
	}
	command := "lockscope release " + quote(id.String())
	if target := c.Reach[id.Backend].Target; target != "" {
		command += " " + target
	}
	return command + " --owner " + quote(owner)
}

// zkCLI is a command of ZooKeeper's own client.
func zkCLI(c *inspect.Case, verb, path string) string {
	command := "zkCli.sh "
	if server := c.Reach[c.Lock.ID.Backend].Client; server != "" {
		command += server + " "
	}
	return command + verb + " " + quote(inspect.Escape(path))
}

// redisCLI is a command of Redis' own client to a master: host:port, or the path of a socket.
func redisCLI(c *inspect.Case, addr, command string) string {
	words := "redis-cli -s " + quote(inspect.Escape(addr))
	if host, port, err := net.SplitHostPort(addr); err == nil {
		words = "redis-cli -h " + quote(inspect.Escape(host)) + " -p " + quote(inspect.Escape(port))
	}
	if options := c.Reach[c.Lock.ID.Backend].Client; options != "" {
		words += " " + options
	}
	return words + " " + command
}

// releaseOf is the same for a contender of the case's lock. One that waits needs more than its name.
func releaseOf(c *inspect.Case, one *inspect.Contender) string {
	command := release(c, c.Lock.ID, one.Name, one.Digest)
	if one.State != inspect.Holding {
		command += " --waiter"
	}
	return command
}

// quote makes one word of a shell's command out of text from servers: whoever pastes an advice must not run a name.
func quote(s string) string {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./:@%+=,-", c) >= 0) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	if s == "" {
		return "''"
	}
	return s
}

// names lists the first contenders' names.
func names(cs []inspect.Contender) []string {
	list := make([]string, 0, min(len(cs), listed))
	for i := range cs[:min(len(cs), listed)] {
		list = append(list, cs[i].Name.String())
	}
	return list
}

// escaped lists the first texts.
func escaped(texts []inspect.Untrusted) []string {
	list := make([]string, 0, min(len(texts), listed))
	for _, t := range texts[:min(len(texts), listed)] {
		list = append(list, t.String())
	}
	return list
}

// libraryOf is the library that wrote a contender.
func libraryOf(l *inspect.Lock, c *inspect.Contender) string {
	if c.Recipe != "" {
		return c.Recipe
	}
	return l.Recipe
}
