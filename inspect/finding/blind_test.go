package finding

import (
	"testing"
	"time"

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
		silent("all was reported", queue("kazoo", 2), on(once), reported),
		silent("no waiters", queue("kazoo", 1), on(once)),
		silent("while watching, tables are read on demand", queue("kazoo", 2), on(watched)),
		fires("watches refused, sessions never asked for: each is reported once",
			queue("kazoo", 2), on(once), unseen(inspect.Unseen{
				Aspect: inspect.AspectWatches, Where: "z1:2181", Read: "wchp", Reason: "not in the whitelist",
				Right: "wchp in 4lw.commands.whitelist",
			})),
		fires("a master is silent", votes("aa!", time.Minute)),
		fires("a silent master, also in the list of what is unseen: reported once", votes("aa!", time.Minute),
			unseen(inspect.Unseen{Aspect: inspect.AspectVotes, Where: "r3", Reason: "i/o timeout"})),
		fires("a master loads its data", answering("master r3: LOADING Redis is loading the dataset in memory")),
		fires("two masters run scripts", answering("BUSY Redis is busy", "BUSY Redis is busy")),
		fires("a master that is down and one that is loading need different advice",
			answering("", "LOADING Redis is loading")),
		fires("most masters are silent", votes("a!!", time.Minute)),
		silent("every master answered", votes("aaa", time.Minute)),
	)
}

// answering returns a lock on three masters. The last ones return these errors instead of votes, or
// no answer if empty.
func answering(errors ...string) *inspect.Lock {
	l := votes("aaa"[:3-len(errors)]+"!!!"[:len(errors)], time.Minute)
	for i, text := range errors {
		if m := &l.Masters[3-len(errors)+i]; text != "" {
			m.Error = text
		}
	}
	return l
}

func refused(a inspect.Aspect, where, read, right string) inspect.Unseen {
	return inspect.Unseen{Aspect: a, Where: where, Read: read, Reason: "NOPERM", Right: right}
}

func unanswered(a inspect.Aspect, where, read, reason string) inspect.Unseen {
	return inspect.Unseen{Aspect: a, Where: where, Read: read, Reason: reason}
}

// unseenLists are reports of the sources.
var unseenLists = []struct {
	name string
	list []inspect.Unseen
}{
	{"one command", []inspect.Unseen{refused("waiters", "r1:1", "LRANGE", "+lrange")}},
	{"two commands on two servers hide the same", []inspect.Unseen{
		refused("waiters", "r1:1", "LRANGE", "+lrange"), refused("waiters", "r2:1", "LRANGE", "+lrange"),
		refused("waiters", "r1:1", "ZRANGE", "+zrange"),
	}},
	{"one command hides two things, and another a third", []inspect.Unseen{
		refused("kind", "r1:1", "TYPE", "+type"), refused("expiry", "r1:1", "PTTL", "+pttl"),
		refused("holders", "r1:1", "TYPE", "+type"),
	}},
	{"a node", []inspect.Unseen{refused("holders", "", "/locks/a b", "READ on /locks/a b")}},
	{"a right to keys", []inspect.Unseen{refused("locks", "r1:1", "the keys that match", "~{a:lock}")}},
	{"a right in words", []inspect.Unseen{
		refused("locks", "r1:1", "SCAN", "SCAN under its own name (rename-command)"),
	}},
	{"one server at two addresses", []inspect.Unseen{
		unanswered("server", "http://z1:8080", "srvr", "gone"), unanswered("server", "z1:2181", "srvr", "gone"),
	}},
	{"two servers, one of them at two addresses", []inspect.Unseen{
		unanswered("server", "http://z1:8080", "srvr", "gone"), unanswered("server", "z1:2181", "srvr", "gone"),
		unanswered("server", "https://z2:8080", "srvr", "gone"),
	}},
	{"one refused, one failed", []inspect.Unseen{
		refused("waiters", "r1:1", "LRANGE", "+lrange"), unanswered("waiters", "r2:1", "LRANGE", "i/o timeout"),
	}},
	{"a replica that was given", []inspect.Unseen{{
		Aspect: "locks", Where: "r1:6379", Read: "ROLE", Reason: "it is a replica of r0:6379, has no vote",
		Advice: "use r0:6379 instead",
	}}},
	{"a missing root", []inspect.Unseen{unanswered("locks", "", "/lokcs", "no such node")}},
}

func TestAnUnseenAspectIsReportedOnce(t *testing.T) {
	t.Parallel()
	states := []state{silent("nothing", &inspect.Backend{})}
	for _, tt := range unseenLists {
		lock := queue("kazoo", 1)
		lock.Unseen = tt.list
		backend := &inspect.Backend{Unseen: tt.list}
		states = append(states, fires(tt.name, backend))
		must.Equal(t, shown(t, diagnose(t, "blind", lock)), shown(t, diagnose(t, "blind", backend)), tt.name, "of a lock")
	}
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
		lock := votes("a", time.Minute)
		lock.Unseen = backend.Unseen
		c := present(lock, func(c *inspect.Case) { c.Backend = backend })
		r := blind().rule()
		for _, f := range append(r.Lock(&c), r.Backend(backend, now)...) {
			must.Equal(t, f.Advice(), tt.want, tt.user)
		}
	}
}
