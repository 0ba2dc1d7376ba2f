package describe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// said checks triples of a name, a text and the wanted text.
func said(t *testing.T, list [][3]string) {
	t.Helper()
	for _, s := range list {
		must.Equal(t, s[1], s[2], s[0])
	}
}

func TestRoundFigures(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", 1999 * time.Millisecond: "1s", 10*time.Minute + 59*time.Second: "10m", 47 * time.Hour: "1d",
		99 * time.Millisecond: "0s", 100 * time.Millisecond: "0.1s", 500 * time.Millisecond: "0.5s", time.Second: "1s", 2 * time.Second: "2s",
		5 * time.Second: "5s", 10 * time.Second: "10s", 30 * time.Second: "30s", time.Minute: "1m", 2 * time.Minute: "2m", 5 * time.Minute: "5m",
		10 * time.Minute: "10m", 20 * time.Minute: "20m", 30 * time.Minute: "30m", time.Hour: "1h", 3 * time.Hour: "3h", 6 * time.Hour: "6h",
		12 * time.Hour: "12h", day: "1d", 2 * day: "2d", 7 * day: "7d", 30 * day: "30d", 90 * day: "90d", 364 * day: "90d", 365 * day: "1y",
	} {
		must.Equal(t, Over(d), want, d)
	}
	said(t, [][3]string{
		{"thousands", Thousands(1234567) + " " + Thousands(999) + " " + Thousands(1000), "1,234,567 999 1,000"},
		{"load", PerSecond(Load(inspect.Cost{PerSecond: 3})), "3.0/s"},
		{"rates", PerSecond(0) + " " + PerSecond(9.94) + " " + PerSecond(10), "0/s 9.9/s 10/s"},
		{"times", Times(1) + " " + Times(2) + " " + Times(3), "once twice 3 times"},
		{"short spans", Span(-time.Second) + " " + Span(812*time.Millisecond) + " " + Span(2190*time.Millisecond) + " " + Span(59900*time.Millisecond), "0ms 812ms 2.1s 59s"},
		{"long spans", Span(14*time.Minute+2*time.Second) + " " + Span(3*time.Hour+5*time.Minute) + " " + Span(102*time.Hour), "14m02s 3h05m 4d06h"},
		{"last", Last(time.Minute) + ", " + Last(time.Hour) + ", " + Last(2*time.Minute), "last minute, last hour, last 2m"},
		{"millis", Millis(1250 * time.Microsecond), "1.2 ms"},
		{"sentences", Sentence("free: it") + Sentence("zookeeper is") + Sentence("worker-1 has") + Sentence("a b"), "free: itZooKeeper isworker-1 hasA b"},
	})
}

func TestSummaries(t *testing.T) {
	worker := inspect.Contender{Name: "a", Owner: inspect.Owner{Label: "worker"}}
	reader := inspect.Contender{Name: "r", Mode: recipe.Shared}
	votes := []inspect.Vote{{Up: true, Present: true, Value: "a", Agrees: true}, {Up: true, Present: true, Value: "a", Agrees: true}, {}}
	for _, test := range []struct {
		lock inspect.Lock
		want string
	}{
		{inspect.Lock{State: inspect.StateFree}, "free, "},
		{inspect.Lock{State: inspect.StateHeld}, "no holder, "},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{worker}}, "worker, "},
		{inspect.Lock{State: "new", Holders: []inspect.Contender{worker}}, "worker, "},
		{inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{worker}, Masters: votes, Quorum: 2}, "worker, 2/3"},
		{inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{worker}, Masters: votes[:1]}, "worker, "},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{reader, reader}}, "2 readers, "},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{worker, worker}, Masters: votes}, "2 holders, "},
		{inspect.Lock{State: inspect.StateHeld, Kind: inspect.KindSemaphore, Limit: 3, Holders: []inspect.Contender{worker}, Masters: votes}, "1 of 3 permits, "},
		{inspect.Lock{State: inspect.StateHeld, Kind: inspect.KindSemaphore, Holders: []inspect.Contender{worker}}, "1 permit, "},
		{inspect.Lock{State: inspect.StateUnknown}, "unknown, "},
		{inspect.Lock{State: inspect.StateUnknown, Masters: votes}, "1 of 3 down, "},
		{inspect.Lock{State: inspect.StateMinority, Masters: votes, Quorum: 3, Margin: -1}, "minority 2/3, "},
		{inspect.Lock{State: inspect.StateSplit, Masters: votes}, "split 2, "},
	} {
		brief, detail := Summary(&test.lock)
		must.Equal(t, brief+", "+detail, test.want, test.lock.State)
	}
	said(t, [][3]string{
		{"a sure kind", KindOf(&inspect.Lock{Kind: inspect.KindRW, KindConfidence: recipe.Certain}), "rw"},
		{"a likely kind", KindOf(&inspect.Lock{Kind: inspect.KindElection, KindConfidence: recipe.Likely}), "election?"},
		{"a possible kind", KindOf(&inspect.Lock{Kind: inspect.KindElection, KindConfidence: recipe.Possible}), "election?"},
	})
}

func TestVerdicts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	value := func(v string, left time.Duration) inspect.Vote {
		return inspect.Vote{Up: true, Present: true, Value: inspect.Untrusted(v), ExpiresAt: now.Add(left), Agrees: v == "a"}
	}
	absent, forever := inspect.Vote{Up: true}, inspect.Vote{Up: true, Present: true, Value: "a", NoExpiry: true}
	holder := []inspect.Contender{{Name: "a", State: inspect.Holding, Owner: inspect.Owner{Label: "w"}, HeldSince: now.Add(-time.Minute)}}
	endless := holder[0]
	endless.NoExpiry = true
	const oneServer = "sidekiq-unique-jobs"
	worker := inspect.Contender{Name: "a", State: inspect.Holding, Owner: inspect.Owner{Label: "worker-1", Client: "10.0.0.1:5"}, HeldSince: now.Add(-time.Minute)}
	waiter := inspect.Contender{Name: "b", State: inspect.Waiting, Owner: inspect.Owner{Label: "worker-2"}, Since: now.Add(-30 * time.Second)}
	gone := inspect.Contender{Name: "c", State: inspect.Waiting, Owner: inspect.Owner{Label: "worker-3"}, Since: now.Add(-time.Hour), Dead: true}
	reader, twice := worker, worker
	reader.Mode, twice.Owner.Session = recipe.Shared, 7
	apart := &inspect.Backend{Name: "apart", Spread: inspect.Spread{Masters: 3, Locks: 5, OnOne: 5, Used: 1}}
	v := View{Snapshot: inspect.NewSnapshot(now, []*inspect.Backend{apart}, nil), Now: now}
	for _, test := range []struct {
		lock inspect.Lock
		want string
	}{
		{inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{worker}, Waiters: []inspect.Contender{waiter}}, "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting · next: worker-2 · longest wait 30s"},
		{inspect.Lock{Confidence: recipe.Possible, State: inspect.StateContended, Holders: []inspect.Contender{worker}, Waiters: []inspect.Contender{waiter}}, "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting · next: worker-2 · longest wait 30s (may not be a lock)"},
		{inspect.Lock{Confidence: recipe.Likely, State: inspect.StateHeld, Holders: []inspect.Contender{worker}}, "worker-1 (10.0.0.1:5) has held it for 1m00s · no waiters"},
		{inspect.Lock{State: inspect.StateFree}, "free: no holder, no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{reader, reader}}, "2 readers hold it · no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{twice, twice}}, "worker-1 holds it with 2 entries · no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{worker, twice}}, "2 hold it · no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{reader}}, "worker-1 (10.0.0.1:5) has held it as a reader for 1m00s · no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{{Name: "r", Mode: recipe.Shared, State: inspect.Holding}}}, "r holds it as a reader (we did not see it begin) · no waiters"},
		{inspect.Lock{State: inspect.StateContended, Waiters: []inspect.Contender{{Name: "p", State: inspect.Pending}}}, "no holder · 1 waiting · next: p (pending)"},
		{inspect.Lock{State: inspect.StateFree, WaitersAtLeast: 1, Waiters: []inspect.Contender{gone}}, "free: no holder, 1 in the queue most likely gone, other waiters unknown"},
		{inspect.Lock{Kind: inspect.KindUnknown, State: inspect.StateFree}, "it has no contender of a known recipe: if it is a lock, it has no holder"},
		{inspect.Lock{State: inspect.StateFree, Waiters: []inspect.Contender{waiter}}, "no holder · 1 waiting · next: worker-2"},
		{inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{worker}, Waiters: []inspect.Contender{gone, waiter}}, "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting (1 more in the queue most likely gone) · next: worker-2 · longest wait 30s"},
		{inspect.Lock{State: inspect.StateFree, Waiters: []inspect.Contender{gone}}, "free: no holder, no waiters (1 in the queue most likely gone)"},
		{inspect.Lock{State: inspect.StateUnknown, Findings: []inspect.Finding{{Rule: "blind", Message: "no read permission"}}}, "unknown: no read permission"},
		{inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{{Addr: "r:1"}}}, "unknown: 1 of 1 master does not answer; too few are left to tell"},
		{inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{{Up: true, Present: true, Held: &recipe.Record{}}}}, "unknown: the key's value does not show who holds the lock"},
		{inspect.Lock{State: inspect.StateFree, Masters: []inspect.Vote{absent}}, "free: no holder"},
		{inspect.Lock{State: inspect.StateHeld, Holders: holder, Masters: []inspect.Vote{value("a", 7*time.Second)}}, "w has held it for 1m00s · expires in 7.0s"},
		{
			inspect.Lock{State: inspect.StateHeld, Holders: holder, Masters: []inspect.Vote{value("a", 1), value("a", 1), absent}, Quorum: 2, ValidUntil: now.Add(5 * time.Second)},
			"w has held it for 1m00s: 2 of 3 votes, one restart away from a double hold · valid 5.0s",
		},
		{
			inspect.Lock{State: inspect.StateHeld, Holders: holder, Masters: []inspect.Vote{value("a", 1), value("a", 1), value("a", 1)}, Quorum: 2, Margin: 1, ValidUntil: now, WaitersAtLeast: 2},
			"w has held it for 1m00s: 3 of 3 votes, can lose 1 · validity expired · at least 2 unseen waiters",
		},
		{
			inspect.Lock{State: inspect.StateSplit, Quorum: 3, Masters: []inspect.Vote{value("a", 4*time.Second), value("b", 9*time.Second), value("c", time.Second)}},
			"split 1·1·1: 3 values, none with the 3 votes it needs; no client holds it or can get it; all expire in 9.0s",
		},
		{
			inspect.Lock{State: inspect.StateMinority, Quorum: 2, Masters: []inspect.Vote{forever, absent, absent}},
			"no holder: one value is on only 1 of 3 masters (quorum 2); at least one copy never expires",
		},
		{inspect.Lock{State: inspect.StateMinority, Masters: []inspect.Vote{absent}}, "no holder: a client has some of the lock's keys, but too few"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{endless}, Masters: []inspect.Vote{forever}}, "w has held it for 1m00s · never expires"},
		{inspect.Lock{State: inspect.StateHeld, Holders: []inspect.Contender{holder[0], holder[0]}, Masters: []inspect.Vote{absent}}, "2 hold it"},
		{
			inspect.Lock{State: inspect.StateContended, Holders: holder, Masters: []inspect.Vote{value("a", 0)}, Waiters: []inspect.Contender{{Name: "b", State: inspect.Pending}}},
			"w has held it for 1m00s · 1 waiting · next: b (pending)",
		},
		{
			inspect.Lock{State: inspect.StateSplit, Recipe: oneServer, Masters: []inspect.Vote{value("a", 4*time.Second), value("b", 9*time.Second)}},
			"unknown: each of its 2 values is on one server, and " + oneServer + " takes a lock on one: most likely each is held",
		},
		{
			inspect.Lock{State: inspect.StateMinority, Recipe: oneServer, Masters: []inspect.Vote{value("a", 1), absent}},
			"unknown: its value is on 1 of 2 servers, but " + oneServer + " takes a lock on one: most likely held",
		},
		{
			inspect.Lock{ID: inspect.ID{Backend: "apart"}, State: inspect.StateMinority, Masters: []inspect.Vote{value("a", 1), absent, {Up: true, Present: true, Foreign: true}}},
			"unknown: its value is on 1 of 3 servers, which are most likely not masters of one lock",
		},
		{inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{{}, {}, absent}}, "unknown: 2 of 3 masters do not answer; too few are left to tell"},
		{inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{absent}}, "unknown: the value under this key is not a lock"},
		{inspect.Lock{State: inspect.StateUnknown}, "unknown: it could not be read; it may be held"},
		{inspect.Lock{State: inspect.StateUnknown, Aliens: []inspect.Untrusted{"x-0000000007"}}, "unknown: its numbered nodes (x-0000000007 …) have no session that shows who holds it"},
		{inspect.Lock{State: inspect.StateUnknown, Aliens: []inspect.Untrusted{"x"}}, "unknown: its children (x …) are not contenders of a known library"},
		{inspect.Lock{State: inspect.StateHeld, Kind: inspect.KindSemaphore, Limit: 3, Holders: holder}, "1 of 3 permits used · no waiters"},
		{inspect.Lock{State: inspect.StateHeld, Kind: inspect.KindSemaphore, Holders: holder, Unseen: []inspect.Unseen{{Aspect: inspect.AspectWaiters, Reason: "no"}}}, "1 permit used, total not recorded · waiters unknown"},
	} {
		must.Equal(t, v.Verdict(&test.lock), test.want)
	}
	held := inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{worker}, Waiters: []inspect.Contender{waiter}}
	must.Equal(t, v.Standing(&held), "worker-1 holds it · 1 waiting · next: worker-2", "without a running age")
	must.True(t, !View{}.Suspect(&held), "without a snapshot, masters are most likely independent")
}

func TestDifferencesInWords(t *testing.T) {
	id := func(path string) inspect.ID { return inspect.ID{Backend: "zk", Path: path} }
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	entry := func(name string, since int) inspect.Contender {
		return inspect.Contender{Name: inspect.Untrusted(name), State: inspect.Holding, Czxid: int64(since), Owner: inspect.Owner{Label: inspect.Untrusted("of-" + name)}}
	}
	backend := func(name string, s inspect.BackendState, found ...inspect.Finding) *inspect.Backend {
		return &inspect.Backend{Name: name, State: s, FirstPass: true, Findings: found}
	}
	wait := entry("b", 2)
	wait.State = inspect.Waiting
	from := inspect.NewSnapshot(at, []*inspect.Backend{backend("zk", inspect.Connected), backend("off", inspect.Down)}, []*inspect.Lock{
		{ID: id("/gone"), State: inspect.StateFree},
		{ID: id("/held"), State: inspect.StateContended, Holders: []inspect.Contender{entry("a", 1)}, Waiters: []inspect.Contender{wait}},
	})
	to := inspect.NewSnapshot(at.Add(time.Minute), []*inspect.Backend{
		backend("zk", inspect.Degraded, inspect.Finding{Rule: "no-spare", Severity: inspect.Warning, Message: "one left"}),
	}, []*inspect.Lock{
		{ID: id("/held"), State: inspect.StateHeld, Holders: []inspect.Contender{entry("b", 2)}},
		{ID: id("/new"), State: inspect.StateFree},
	})
	same := inspect.Difference{Lock: id("/l"), From: &inspect.Lock{State: inspect.StateHeld}, To: &inspect.Lock{State: inspect.StateHeld}}
	said(t, [][3]string{
		{"of one state", headOf(&same), "zk:/l   held"},
		{"brief, a backend", fmt.Sprint(Differences([]inspect.Difference{{Backend: "b", Is: inspect.Down}}, nil, true, nil)), "0 locks changed[ backend b   , now down]"},
		{"a backend", headOf(&inspect.Difference{Backend: "b\a", Was: inspect.Down, Is: inspect.Down}), `backend b\u{7}`},
	})
	list, skipped := inspect.Differences(from, to)
	head, lines := Differences(list, skipped, false, nil)
	want := strings.Split(`3 locks changed

backend off
  not compared: missing from the second snapshot

backend zk   connected, now degraded
  reported         warning: no-spare: one left

zk:/gone   gone, was free

zk:/new   appeared, free

zk:/held   contended, now held
  acquired         of-b (b)
  no longer holds  of-a (a)`, "\n")
	must.NoDiff(t, cmp.Diff(want, append([]string{head}, lines...)))
	to.Lock(id("/held")).State, from.Lock(id("/gone")).State = inspect.StateContended, inspect.StateMinority
	list, _ = inspect.Differences(from, to)
	_, lines = Differences(list, nil, true, func(*inspect.Difference, *inspect.Finding, inspect.EventKind) string { return "03:00" })
	must.Equal(t, lines[len(lines)-1], "  zk:/held")
	must.True(t, slices.Contains(lines, "  reported         03:00  warning: no-spare: one left"), lines)
	must.True(t, slices.Contains(lines, "zk:/gone   gone, was short of a quorum"), lines)
	must.Equal(t, fmt.Sprint(Differences(nil, nil, false, nil)), "nothing changed[]")
}

func TestCommandsAndTargets(t *testing.T) {
	redis := &inspect.Lock{ID: inspect.ID{Backend: "r", Path: "lock:a"}, Masters: []inspect.Vote{{Addr: "h:1"}, {Addr: "/run/r.sock", Foreign: true}}}
	text := ""
	for _, c := range Look(inspect.Redis, redis, nil, "--tls") {
		text += c.Name + ": " + c.Text + "\n"
	}
	b := &inspect.Backend{Kind: inspect.Redis, Topology: inspect.Independent, Servers: []inspect.Server{{Addr: "a:1"}, {Addr: "b:1"}}}
	b.Sought = inspect.Sought{For: []string{"lock*", "b", "c", "d", "e"}, Among: 12, Counted: true, Database: 2, Elsewhere: []inspect.Database{{Index: 5, Keys: 1}}}
	tls, cluster, socket := *b, *b, *b
	tls.Reach.Target, cluster.Topology = "rediss://a:1", inspect.Cluster
	socket.Servers = []inspect.Server{{Addr: "/run/r.sock"}}
	const words = "looked for lock*, b, c, d and 1 more pattern, among 12 keys of database 2; database 5 has 1 key"
	word, ok := Word("-n")
	dashed, joined := Words([]string{"-a", "b c"})
	_, hostile := Words([]string{"\x1b"})
	said(t, [][3]string{
		{"commands", text, "redis-cli: redis-cli -h h -p 1 --tls get lock:a\nredis-cli: redis-cli -h h -p 1 --tls pttl lock:a\nredis-cli: redis-cli -s /run/r.sock --tls type lock:a\n"},
		{"ours", Lockscope("release", redis.ID, "", "--yes"), "lockscope release r:lock:a --yes"},
		{"every letter", Quote("azAZ09_./:@%+=,-"), "azAZ09_./:@%+=,-"},
		{"sought", Sought(b), words + ": try redis://a:1,b:1/5"},
		{"sought by TLS", Sought(&tls), words + ": try rediss://a:1,b:1/5"},
		{"sought in a cluster", Sought(&cluster), strings.Replace(words, " of database 2", "", 1)},
		{"sought by a socket", Sought(&socket), words},
		{"sought in ZooKeeper", Sought(&inspect.Backend{Kind: inspect.ZooKeeper, Sought: inspect.Sought{For: []string{"/"}, Counted: true, Among: 1}}), "looked below /, among 1 node"},
		{"not sought", Sought(&inspect.Backend{}), ""},
		{"words", dashed, "-a 'b c'"},
		{"an option", word, ""},
	})
	if ok || !joined || hostile {
		t.Errorf("Word accepts an option: %v; Words joins words: %v; Words accepts a control character: %v", ok, joined, hostile)
	}
}

func TestTroubleInWords(t *testing.T) {
	down := func(addr, err string) inspect.Server {
		return inspect.Server{Addr: addr, State: inspect.ServerDown, Error: err}
	}
	two := &inspect.Backend{Kind: inspect.Redis, Error: "redissource: a:1: no\nb:1: no", Servers: []inspect.Server{down("a:1", "dial a:1: refused"), down("b:1", ""), {Addr: "c:1", Error: "old"}}}
	one := &inspect.Backend{Kind: inspect.ZooKeeper, Error: "zksource: a:1: connect: refused", Servers: []inspect.Server{down("a:1", "x")}}
	name := inspect.Untrusted("_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602")
	long := &inspect.Contender{Name: name}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	labelled := func(label inspect.Untrusted, client string) *inspect.Contender {
		return &inspect.Contender{Name: "n", Owner: inspect.Owner{Label: label, Client: client}}
	}
	rule := must.Have(inspect.NewHostRule("10.0.0.1", "", "billing"))(t)
	named := View{Snapshot: inspect.NewSnapshot(now, nil, nil).WithHosts(&inspect.Hosts{Rules: []inspect.HostRule{rule}})}
	said(t, [][3]string{
		{"failure", Failure(two), `a:1: no; b:1: no`},
		{"failure of a server", Failure(&inspect.Backend{Servers: two.Servers}), "a:1: refused"},
		{"no reason", Failure(&inspect.Backend{}), "not every server answered"},
		{"two servers", Trouble(two), "a:1: refused; b:1"},
		{"a backend", Trouble(one), "a:1: refused"},
		{"errors", strings.Join(Errors(two), "|"), "a:1: no|b:1: no"},
		{"aspect", Aspect(inspect.AspectHolders) + Aspect("new"), "who holds itnew"},
		{"reason", Reason(inspect.Unseen{Where: "r1"}), "r1: no answer"},
		{"brief name", BriefName(name), "_c_7f3e0c51…00aa-lock-0000000602"},
		{"a name that just fits", BriefName("0123456789ab-0000000000000000007"), "0123456789ab-0000000000000000007"},
		{"a name that does not", BriefName("0123456789abcé0000000000000000007"), "0123456789a…0000000000000000007"},
		{"a newer server", Allow(inspect.NewerRedis), "use " + inspect.NewerRedis},
		{"brief owner", BriefOwner(long), BriefName(name)},
		{"a host in full", BriefOwner(&inspect.Contender{Name: "web-9.prod.acme.net:2400:5d0492b3"}), "web-9.prod.acme.net:2400:5d0492b3"},
		{"a long label", BriefOwner(labelled(inspect.Untrusted(strings.Repeat("l", 70)), "10.0.0.1:5")), strings.Repeat("l", 63) + "…"},
		{"a short label", BriefOwner(labelled("web", "10.0.0.1:5")), "web 10.0.0.1:5"},
		{"a label", Contender(labelled("web", "")), "web (n)"},
		{"a host", Owner(&inspect.Contender{Owner: inspect.Owner{Process: inspect.Process{Host: "h"}, Session: 26}}), "h"},
		{"an address", Client(&inspect.Owner{Client: "10.0.0.1:5\a", Process: inspect.Process{Host: "h"}}), `10.0.0.1:5\u{7}`},
		{"no address", Client(&inspect.Owner{Process: inspect.Process{Host: "h"}}), "h"},
		{"a named host", named.Client(&inspect.Owner{Client: "10.0.0.1:5"}) + " " + named.HostName(&inspect.Owner{Client: "10.0.0.1:5"}), "billing:5 billing"},
		{"a host without a port", named.Client(&inspect.Owner{Client: "10.0.0.1"}), "billing"},
		{"an unnamed host", named.Client(&inspect.Owner{Client: "10.9.0.1:5"}) + named.HostName(&inspect.Owner{}), "10.9.0.1:5"},
		{"reasons", Reasons([]inspect.Unseen{{Aspect: "a", Reason: "no"}, {Aspect: "a", Reason: "no"}, {Aspect: "b", Reason: "down", Read: "GET"}, {Aspect: "c"}}, "a", "b"), "no; GET: down"},
		{"a path that cannot be copied", fmt.Sprint(len(Look(inspect.ZooKeeper, &inspect.Lock{ID: inspect.ID{Path: "/\a"}}, nil, ""))), "0"},
		{"a key that cannot be copied", fmt.Sprint(len(Look(inspect.Redis, &inspect.Lock{ID: inspect.ID{Path: "-n"}, Masters: []inspect.Vote{{Addr: "h:1"}}}, nil, ""))), "0"},
		{"zkCli", ZooKeeperCLI("", "ls", "/a"), "zkCli.sh ls /a"},
		{"contender", Contender(long), string(name.String())},
		{"session", Owner(&inspect.Contender{Name: "n", Owner: inspect.Owner{Session: 26}}), "0x1a"},
		{"silent", Expiry(&inspect.Vote{}, now), "unknown: it does not answer"},
		{"no key", Expiry(&inspect.Vote{Up: true}, now), "no such key"},
		{"forever", Expiry(&inspect.Vote{Up: true, Present: true, NoExpiry: true}, now), "never expires"},
		{"unknown expiry", Expiry(&inspect.Vote{Up: true, Present: true}, now), "its expiry is unknown"},
		{"expiry", Expiry(&inspect.Vote{Up: true, Present: true, ExpiresAt: now.Add(1500 * time.Millisecond)}, now), "expires in 1.5s"},
	})
}
