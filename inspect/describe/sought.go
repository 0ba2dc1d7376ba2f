package describe

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// mostSought limits the listed patterns or roots; the others are counted.
const mostSought = 4

// Sought says what was searched for on a backend, among how many keys or nodes, and where else
// there are keys; empty if unknown.
func Sought(b *inspect.Backend) string {
	s := &b.Sought
	if len(s.For) == 0 {
		return ""
	}
	verb, among, more := "looked for ", "key", "pattern"
	if b.Kind == inspect.ZooKeeper {
		verb, among, more = "looked below ", "node", "root"
	}
	words := each.Of(s.For[:min(len(s.For), mostSought)], inspect.Escape)
	text := verb + strings.Join(words, ", ")
	if n := len(s.For) - len(words); n > 0 {
		text += " and " + Count(n, "more "+more)
	}
	if s.Counted {
		text += ", among " + Count(s.Among, among)
		if b.Kind == inspect.Redis && b.Topology != inspect.Cluster {
			text += fmt.Sprintf(" of database %d", s.Database)
		}
	}
	for _, d := range s.Elsewhere {
		text += fmt.Sprintf("; database %d has %s", d.Index, Count(d.Keys, "key"))
		if at := databaseURL(b, d.Index); at != "" {
			text += ": try " + at
		}
	}
	return text
}

// databaseURL is the target of another database on the same servers; empty if the target has no
// such form.
func databaseURL(b *inspect.Backend, index int) string {
	var addrs []string
	for i := range b.Servers {
		if strings.HasPrefix(b.Servers[i].Addr, "/") { // a socket
			return ""
		}
		addrs = append(addrs, inspect.Escape(b.Servers[i].Addr))
	}
	if b.Topology != inspect.Independent || len(addrs) == 0 {
		return ""
	}
	scheme := "redis"
	if strings.Contains(b.Reach.Target, "rediss://") {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, strings.Join(addrs, ","), index)
}
