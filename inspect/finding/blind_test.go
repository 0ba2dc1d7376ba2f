package finding

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestBlind(t *testing.T) {
	t.Parallel()
	once := &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce}
	on := func(b *inspect.Backend) func(*inspect.Case) { return func(c *inspect.Case) { c.Backend = b } }
	reported := func(c *inspect.Case) { c.Watches, c.Sessions = &inspect.WatchTable{}, map[int64]inspect.Session{} }
	check(t, "blind", []state{
		{
			name: "neither watches nor clients reported", c: present(queue("kazoo", 2), on(once)), fires: true, severity: inspect.Info, confidence: recipe.Certain,
			has: []string{"who watches whom and which clients"}, evidence: map[string]any{"unseen": []string{"watches", "sessions"}},
		},
		{name: "clients but no watches", c: present(queue("kazoo", 2), on(once), reported, func(c *inspect.Case) { c.Watches = nil }), fires: true, severity: inspect.Info, confidence: recipe.Certain, evidence: map[string]any{"unseen": []string{"watches"}}},
		{name: "all was reported", c: present(queue("kazoo", 2), on(once), reported)},
		{name: "no waiters", c: present(queue("kazoo", 1), on(once))},
		{name: "while watching, tables are read on demand", c: present(queue("kazoo", 2), on(&inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch}))},
		{
			name: "a master is silent", c: present(votes("aa!", time.Minute)), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"r3 did not answer"},
			evidence: map[string]any{"masters": []map[string]any{{"addr": "r3", "error": "i/o timeout"}}},
		},
		{
			name: "a master loads its data", c: present(answering("master r3: LOADING Redis is loading the dataset in memory")), fires: true, severity: inspect.Info, confidence: recipe.Certain,
			has: []string{"r3 answered only LOADING"}, advice: "wait until it has finished. Until then do not count its vote",
		},
		{
			name: "two masters run scripts", c: present(answering("BUSY Redis is busy", "BUSY Redis is busy")), fires: true, severity: inspect.Info, confidence: recipe.Certain,
			has: []string{"2 of 3 masters answered only BUSY"}, advice: "let a person decide whether SCRIPT KILL may end it",
		},
		{name: "most masters are silent", c: present(votes("a!!", time.Minute)), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"2 of 3 masters"}},
		{name: "every master answered", c: present(votes("aaa", time.Minute))},
	})
}

// blindness is an expected finding of blind: its message, part of its advice, and its aspects.
type blindness struct {
	message, advice string
	unseen          []inspect.Aspect
}

func refused(a inspect.Aspect, where, read, right string) inspect.Unseen {
	return inspect.Unseen{Aspect: a, Where: where, Read: read, Reason: "NOPERM", Right: right}
}

// unseenLists have reports of the sources and the expected findings.
var unseenLists = []struct {
	name string
	list []inspect.Unseen
	want []blindness
}{
	{"nothing", nil, nil},
	{
		"one command",
		[]inspect.Unseen{refused("waiters", "r1:1", "LRANGE", "+lrange")},
		[]blindness{{"r1:1 refused LRANGE: who waits for it is unknown", "ACL SETUSER NAME +lrange", []inspect.Aspect{"waiters"}}},
	},
	{
		"two commands on two servers hide the same",
		[]inspect.Unseen{
			refused("waiters", "r1:1", "LRANGE", "+lrange"), refused("waiters", "r2:1", "LRANGE", "+lrange"),
			refused("waiters", "r1:1", "ZRANGE", "+zrange"),
		},
		[]blindness{{"r1:1 and 1 other refused LRANGE and 1 more: who waits for it is unknown", "ACL SETUSER NAME +lrange +zrange", []inspect.Aspect{"waiters"}}},
	},
	{
		"one command hides two things, and another a third",
		[]inspect.Unseen{refused("kind", "r1:1", "TYPE", "+type"), refused("expiry", "r1:1", "PTTL", "+pttl"), refused("holders", "r1:1", "TYPE", "+type")},
		[]blindness{
			{"r1:1 refused TYPE: who holds it and what kind of lock it is are unknown", "ACL SETUSER NAME +type", []inspect.Aspect{"holders", "kind"}},
			{"r1:1 refused PTTL: when it expires is unknown", "ACL SETUSER NAME +pttl", []inspect.Aspect{"expiry"}},
		},
	},
	{
		"a node",
		[]inspect.Unseen{refused("holders", "", "/locks/a b", "READ on /locks/a b")},
		[]blindness{{"/locks/a b was refused: who holds it is unknown", "credentials with READ on '/locks/a b' (LOCKSCOPE_ZK_AUTH", []inspect.Aspect{"holders"}}},
	},
	{
		"a right to keys",
		[]inspect.Unseen{refused("locks", "r1:1", "the keys that match", "~{a:lock}")},
		[]blindness{{"r1:1 refused the keys that match: which locks exist is unknown", "ACL SETUSER NAME '~{a:lock}'", []inspect.Aspect{"locks"}}},
	},
	{
		"a right in words",
		[]inspect.Unseen{refused("locks", "r1:1", "SCAN", "SCAN under its own name (rename-command)")},
		[]blindness{{"r1:1 refused SCAN: which locks exist is unknown", "allow SCAN under its own name (rename-command)", []inspect.Aspect{"locks"}}},
	},
	{
		"one server at two addresses",
		[]inspect.Unseen{
			{Aspect: "server", Where: "http://z1:8080", Read: "srvr", Reason: "gone"}, {Aspect: "server", Where: "z1:2181", Read: "srvr", Reason: "gone"},
		},
		[]blindness{{"http://z1:8080 did not answer srvr (gone): " + describe.Aspect("server") + " is unknown", "find out why", []inspect.Aspect{"server"}}},
	},
	{
		"two servers, one of them at two addresses",
		[]inspect.Unseen{
			{Aspect: "server", Where: "http://z1:8080", Read: "srvr", Reason: "gone"},
			{Aspect: "server", Where: "z1:2181", Read: "srvr", Reason: "gone"},
			{Aspect: "server", Where: "https://z2:8080", Read: "srvr", Reason: "gone"},
		},
		[]blindness{{"http://z1:8080 and 1 other did not answer srvr (gone): " + describe.Aspect("server") + " is unknown", "find out why", []inspect.Aspect{"server"}}},
	},
	{
		"one refused, one failed",
		[]inspect.Unseen{refused("waiters", "r1:1", "LRANGE", "+lrange"), {Aspect: "waiters", Where: "r2:1", Read: "LRANGE", Reason: "i/o timeout"}},
		[]blindness{
			{"r1:1 refused LRANGE: who waits for it is unknown", "+lrange", []inspect.Aspect{"waiters"}},
			{"r2:1 did not answer LRANGE (i/o timeout): who waits for it is unknown", "find out why it failed", []inspect.Aspect{"waiters"}},
		},
	},
	{
		"a replica that was given",
		[]inspect.Unseen{{Aspect: "locks", Where: "r1:6379", Read: "ROLE", Reason: "it is a replica of r0:6379, has no vote", Advice: "use r0:6379 instead"}},
		[]blindness{{"r1:6379: it is a replica of r0:6379, has no vote: which locks exist is unknown", "use r0:6379 instead", []inspect.Aspect{"locks"}}},
	},
	{
		"a missing root",
		[]inspect.Unseen{{Aspect: "locks", Read: "/lokcs", Reason: "no such node"}},
		[]blindness{{"/lokcs could not be read (no such node): which locks exist is unknown", "find out why", []inspect.Aspect{"locks"}}},
	},
}

func TestAnUnseenAspectIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range unseenLists {
		t.Run(tt.name, func(t *testing.T) {
			lock := queue("kazoo", 1)
			lock.Unseen = tt.list
			r := blind().rule()
			onBackend := r.Backend(&inspect.Backend{Unseen: tt.list}, now)
			for where, found := range map[string][]inspect.Finding{"lock": r.Lock(new(present(lock))), "backend": onBackend} {
				if len(found) != len(tt.want) {
					t.Fatalf("%s: %d findings, want %d: %+v", where, len(found), len(tt.want), found)
				}
				for i, w := range tt.want {
					f := found[i]
					if f.Message != w.message || !strings.Contains(f.Advice(), w.advice) || !reflect.DeepEqual(f.Subject.Unseen, w.unseen) {
						t.Errorf("%s: got %q, %q about %v; want %q, %q about %v", where, f.Message, f.Advice(), f.Subject.Unseen, w.message, w.advice, w.unseen)
					}
					if f.Severity != inspect.Info || f.Confidence != recipe.Certain {
						t.Errorf("%s: %s, %s", where, f.Severity, f.Confidence)
					}
					readable(t, f)
				}
			}
		})
	}
}

func TestUnseenIsNotReportedTwice(t *testing.T) {
	t.Parallel()
	refused := queue("kazoo", 2)
	refused.Unseen = []inspect.Unseen{{Aspect: inspect.AspectWatches, Where: "z1:2181", Read: "wchp", Reason: "not in the whitelist", Right: "wchp in 4lw.commands.whitelist"}}
	silent := votes("aa!", time.Minute)
	silent.Unseen = []inspect.Unseen{{Aspect: inspect.AspectVotes, Where: "r3", Reason: "i/o timeout"}}
	once := &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce}
	for name, tt := range map[string]struct {
		c    inspect.Case
		want []inspect.Aspect
	}{
		"watches refused, sessions never asked for": {present(refused, func(c *inspect.Case) { c.Backend = once }), []inspect.Aspect{"watches", "sessions"}},
		"a silent master": {present(silent), []inspect.Aspect{"votes"}},
	} {
		var reported []inspect.Aspect
		for _, f := range blind().rule().Lock(&tt.c) {
			reported = append(reported, f.Subject.Unseen...)
		}
		must.Same(t, reported, tt.want, name, "reported")
	}
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

// A master that is down and one that is loading need different advice.
func TestSilentAndFailingMastersAreSeparate(t *testing.T) {
	t.Parallel()
	found := diagnose(t, "blind", present(answering("", "LOADING Redis is loading")))
	if len(found) != 2 || !strings.Contains(found[0].Advice(), "see why it does not answer") || !strings.Contains(found[1].Message, "r3 answered only LOADING") {
		t.Errorf("%+v", found)
	}
}
