package finding

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestBlind(t *testing.T) {
	t.Parallel()
	once := &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce}
	watched := &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch}
	on := func(b *inspect.Backend) func(*inspect.Case) { return func(c *inspect.Case) { c.Backend = b } }
	reported := func(c *inspect.Case) { c.Watches, c.Sessions = &inspect.WatchTable{}, map[int64]inspect.Session{} }
	unread := func(c *inspect.Case) { c.Watches = nil }
	unseen := func(u ...inspect.Unseen) func(*inspect.Case) { return func(c *inspect.Case) { c.Lock.Unseen = u } }
	check(t, "blind",
		fires("neither watches nor clients reported", queue("kazoo", 2), on(once)),
		fires("clients but no watches", queue("kazoo", 2), on(once), reported, unread),
		fires("the watches of some sessions", queue("kazoo", 3), on(once), reported, func(c *inspect.Case) {
			c.Watches.Unheard = []int64{2}
		}),
		silent("all was reported", queue("kazoo", 2), on(once), reported),
		silent("no waiters", queue("kazoo", 1), on(once)),
		silent("while watching, tables are read on demand", queue("kazoo", 2), on(watched)),
		fires("watches refused, sessions never asked for: each is reported once",
			queue("kazoo", 2), on(once), unseen(inspect.Unseen{
				Aspect: inspect.AspectWatches, Where: "z1:2181", Read: "wchp", Reason: "not in the whitelist",
				Right: "wchp in 4lw.commands.whitelist",
			})),
		fires("a master is silent", votes("aa!")),
		fires("a silent master, also in the list of what is unseen: reported once", votes("aa!"),
			unseen(inspect.Unseen{Aspect: inspect.AspectVotes, Where: "r3", Reason: "i/o timeout"})),
		fires("a master loads its data", answering("master r3: LOADING Redis is loading the dataset in memory")),
		fires("two masters run scripts", answering("BUSY Redis is busy", "BUSY Redis is busy")),
		fires("a master that is down and one that is loading need different advice",
			answering("", "LOADING Redis is loading")),
		fires("most masters are silent", votes("a!!")),
		silent("every master answered", votes("aaa")),
	)
}

// answering returns a lock on three masters. The last ones return these errors instead of votes, or
// no answer if empty.
func answering(errors ...string) *inspect.Lock {
	l := votes("aaa"[:3-len(errors)] + "!!!"[:len(errors)])
	for i, text := range errors {
		if m := &l.Masters[3-len(errors)+i]; text != "" {
			m.Error = text
		}
	}
	return l
}

// unreadFrom parses what the sources could not read: "ASPECT, SERVER, READ, RIGHT" for each refused read, or a reason
// after the server's "!" if it was not refused.
func unreadFrom(t *testing.T, text string) (list []inspect.Unseen) {
	t.Helper()
	for item := range strings.SplitSeq(text, "; ") {
		parts := strings.Split(item, ", ")
		must.Equal(t, len(parts), 4, item)
		u := inspect.Unseen{Aspect: inspect.Aspect(parts[0]), Where: parts[1], Read: parts[2]}
		if reason, failed := strings.CutPrefix(parts[3], "!"); failed {
			u.Reason = reason
		} else {
			u.Reason, u.Right = "NOPERM", parts[3]
		}
		list = append(list, u)
	}
	return list
}

func TestAnUnseenAspectIsReportedOnce(t *testing.T) {
	t.Parallel()
	states := []state{silent("nothing", &inspect.Backend{})}
	add := func(name string, list ...inspect.Unseen) {
		lock, backend := queue("kazoo", 1), &inspect.Backend{Unseen: list}
		lock.Unseen = list
		states = append(states, fires(name, backend))
		must.Equal(t, shown(t, diagnose(t, "blind", lock)), shown(t, diagnose(t, "blind", backend)), name, "of a lock")
	}
	for _, tt := range [][2]string{
		{"one command", "waiters, r1:1, LRANGE, +lrange"},
		{
			"two commands on two servers hide the same",
			"waiters, r1:1, LRANGE, +lrange; waiters, r2:1, LRANGE, +lrange; waiters, r1:1, ZRANGE, +zrange",
		},
		{
			"one command hides two things, and another a third",
			"kind, r1:1, TYPE, +type; expiry, r1:1, PTTL, +pttl; holders, r1:1, TYPE, +type",
		},
		{
			"one command hides more than three things",
			"kind, r1:1, TYPE, +type; holders, r1:1, TYPE, +type; waiters, r1:1, TYPE, +type; expiry, r1:1, TYPE, +type",
		},
		{"a failure without a reason", "waiters, r1:1, LRANGE, !"},
		{"a node", "holders, , /locks/a b, READ on /locks/a b"},
		{"a right to keys", "locks, r1:1, the keys that match, ~{a:lock}"},
		{"a right in words", "locks, r1:1, SCAN, SCAN under its own name (rename-command)"},
		{"one server at two addresses", "server, http://z1:8080, srvr, !gone; server, z1:2181, srvr, !gone"},
		{
			"two servers, one of them at two addresses",
			"server, http://z1:8080, srvr, !gone; server, z1:2181, srvr, !gone; server, https://z2:8080, srvr, !gone",
		},
		{"one refused, one failed", "waiters, r1:1, LRANGE, +lrange; waiters, r2:1, LRANGE, !i/o timeout"},
	} {
		add(tt[0], unreadFrom(t, tt[1])...)
	}
	add("a replica that was given", inspect.Unseen{
		Aspect: "locks", Where: "r1:6379", Read: "ROLE", Reason: "it is a replica of r0:6379, has no vote",
		Advice: "use r0:6379 instead",
	})
	add("a missing root", unreadFrom(t, "locks, , /lokcs, !no such node")...)
	check(t, "blind", states...)
}

func TestRightsAreGrantedToOurUser(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ user, want string }{
		{"viewer", "allow it: ACL SETUSER viewer +pttl"},
		{"a b", "allow it: ACL SETUSER 'a b' +pttl"},
		{"", "allow it: ACL SETUSER NAME +pttl"},
	} {
		denied := inspect.Unseen{Aspect: inspect.AspectExpiry, Where: "r1:1", Read: "PTTL", Right: "+pttl"}
		backend := &inspect.Backend{Kind: inspect.Redis, User: tt.user, Unseen: []inspect.Unseen{denied}}
		lock := votes("a")
		lock.Unseen = backend.Unseen
		c := present(lock, func(c *inspect.Case) { c.Backend = backend })
		r := blind().rule()
		for _, f := range append(r.Lock(&c), r.Backend(backend, now)...) {
			must.Equal(t, f.Advice(), tt.want, tt.user)
		}
	}
}
