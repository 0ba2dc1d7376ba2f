package act

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// Candidate is a Redis connection that may belong to a contender. None is certain: Redis does not
// record who wrote a key, a pool has several connections, and the last command is shown without its
// key.
type Candidate struct {
	Connection
	// For and Against are the reasons for and against attributing it to the contender; For is never
	// empty.
	For, Against []string

	weight int
}

// Commands that take or renew a lock, or wait for one.
var (
	taking = []string{
		"set", "setnx", "eval", "evalsha", "fcall", "expire", "pexpire", "hset", "hincrby",
		"zadd", "exec",
	}
	waiting = []string{"blpop", "brpop", "subscribe", "psubscribe", "ssubscribe"}
)

// shortest is the shortest name, in bytes, whose occurrence in another name is no coincidence.
const shortest = 4

// Candidates returns the connections that may belong to a contender of a lock in a database, the
// most likely first. held is how long it has held or waited; 0 if unknown.
func Candidates(l *inspect.Lock, c *inspect.Contender, held time.Duration, db int, list []Connection) []Candidate {
	var found []Candidate
	for i := range list {
		one := Candidate{Connection: list[i]}
		if said := one.Command.Raw(); one.link() || said == "client|list" || said == "client" {
			continue // a server, or a client that runs CLIENT LIST; before Redis 7 the subcommand is not shown
		}
		one.byOwner(&c.Owner)
		one.byLibrary(l, c)
		one.byCommand(c.State)
		if len(one.For) == 0 {
			continue
		}
		one.byAge(held)
		if one.DB != db {
			one.arguesAgainst(2, "it is in database %d", one.DB)
		}
		found = append(found, one)
	}
	slices.SortStableFunc(found, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Server, b.Server), cmp.Compare(a.ID, b.ID))
	})
	return found
}

func (c *Candidate) arguesFor(weight int, format string, args ...any) {
	c.For, c.weight = append(c.For, fmt.Sprintf(format, args...)), c.weight+weight
}

func (c *Candidate) arguesAgainst(weight int, format string, args ...any) {
	c.Against, c.weight = append(c.Against, fmt.Sprintf(format, args...)), c.weight-weight
}

// byOwner compares name and address with the owner in the lock's value.
func (c *Candidate) byOwner(o *inspect.Owner) {
	for _, part := range []struct {
		what string
		text inspect.Untrusted
	}{{"label", o.Label}, {"host", o.Host}, {"library's id", o.LibraryID}} {
		if len(part.text) >= shortest && strings.Contains(c.Name.Raw(), part.text.Raw()) {
			c.arguesFor(8, "its name contains the owner's %s %s", part.what, part.text)
		}
	}
	host, _, err := net.SplitHostPort(c.Addr.Raw())
	if err == nil && host == o.Host.Raw() {
		c.arguesFor(4, "it comes from the owner's host %s", o.Host)
	}
}

// byLibrary compares the connection's declared library with those that write such locks.
func (c *Candidate) byLibrary(l *inspect.Lock, one *inspect.Contender) {
	writer := cmp.Or(one.Recipe, l.Recipe)
	by := recipe.Clients(writer)
	if l.Custom != nil {
		by = l.Custom.Clients()
	}
	if c.Library == "" || by == nil {
		return
	}
	if slices.ContainsFunc(by, func(name string) bool {
		return strings.HasPrefix(strings.ToLower(c.Library.Raw()), strings.ToLower(name))
	}) {
		c.arguesFor(3, "its library is %s, which %s uses for its locks", c.Library, writer)
	} else {
		c.arguesAgainst(4, "its library is %s, but %s uses %s for its locks", c.Library, writer,
			strings.Join(by, " or "))
	}
}

// byCommand checks the last command: holders and waiters send different ones.
func (c *Candidate) byCommand(state inspect.ContenderState) {
	verb, _, _ := strings.Cut(strings.ToLower(c.Command.Raw()), "|")
	switch {
	case slices.Contains(taking, verb):
		c.arguesFor(1, "last command %s, as when taking or renewing a lock", inspect.Escape(verb))
	case state != inspect.Holding && slices.Contains(waiting, verb):
		c.arguesFor(2, "last command %s, as when waiting", inspect.Escape(verb))
	}
}

// byAge compares ages: the client was connected when it took the lock, unless its pool has
// reconnected since.
func (c *Candidate) byAge(held time.Duration) {
	switch {
	case held <= 0:
	case c.Age+time.Second >= held: // Redis counts whole seconds
		c.arguesFor(1, "it connected before the lock was taken or waited for")
	default:
		c.arguesAgainst(2, "it connected later, or reconnected")
	}
}
