package zksource

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

const guid = "0123456789abcdef0123456789abcdef"

// testRun is a run that is not connected: the test gives it its results.
func testRun(t *testing.T, cfg Config) *run {
	cfg.Backend, cfg.Servers = "zk", []string{"127.0.0.1:1"}
	r := New(cfg).newRun(t.Context(), func(inspect.Update) {})
	for _, root := range r.cfg.Roots {
		r.root(root)
	}
	return r
}

// answer gives the run a result at a time of our clock.
func (r *run) answer(kind jobKind, p, name string, at time.Time, stat *zk.Stat, err error, names ...string) {
	r.flying++
	r.result(result{
		job: job{kind: kind, dir: r.dirs[p], name: name}, link: r.link, sent: at, at: at, names: names, stat: stat, err: err,
	})
}

func TestAContenderThatLeavesBeforeItIsReadIsNone(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		r := testRun(t, Config{Roots: []string{"/l"}, Once: once})
		first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
		r.answer(jobStat, "/l", "", noon, &zk.Stat{NumChildren: 2}, nil)
		r.answer(jobList, "/l", "", noon, &zk.Stat{Czxid: 1, NumChildren: 2}, nil, first, second)
		r.answer(jobGet, "/l", first, noon, nil, zk.ErrNoNode)
		r.answer(jobGet, "/l", second, noon, &zk.Stat{EphemeralOwner: 7}, nil)
		l := r.puts["/l"]
		if l == nil || l.Contention() != 1 || l.Holders[0].Owner.Session != 7 {
			t.Errorf("once %v: %+v", once, l)
		}
	}
}

// TestALoneNodeIsOneInEveryOrderOfAnswers: a node beside another ephemeral one is no lock by itself, and one
// beside a node that was gone when it was read is, whichever of the two is answered first.
func TestALoneNodeIsOneInEveryOrderOfAnswers(t *testing.T) {
	t.Parallel()
	const plain, numbered = "host-a", "host-1234567890"
	member := &zk.Stat{Czxid: 5, EphemeralOwner: 7}
	for _, once := range []bool{true, false} {
		for _, plainFirst := range []bool{true, false} {
			for _, gone := range []bool{true, false} {
				t.Run(fmt.Sprintf("once %v, plain first %v, gone %v", once, plainFirst, gone), func(t *testing.T) {
					r := testRun(t, Config{Roots: []string{"/web"}, Once: once})
					r.answer(jobStat, "/web", "", noon, &zk.Stat{NumChildren: 2}, nil)
					r.answer(jobList, "/web", "", noon, &zk.Stat{Czxid: 1, NumChildren: 2}, nil, numbered, plain)
					answers := []func(){
						func() { r.answer(jobStat, "/web/"+plain, "", noon, member, nil) },
						func() {
							if gone {
								r.answer(jobGet, "/web", numbered, noon, nil, zk.ErrNoNode)
							} else {
								r.answer(jobGet, "/web", numbered, noon, member, nil)
							}
						},
					}
					if !plainFirst {
						slices.Reverse(answers)
					}
					for _, answer := range answers {
						answer()
					}
					if d := r.dirs["/web/"+plain]; d == nil || d.single != gone {
						t.Errorf("%+v", d)
					}
				})
			}
		}
	}
}

// tableServer is an AdminServer that tells of no watches; meanwhile is called while the table is read.
func tableServer(t *testing.T, meanwhile func()) *httptest.Server {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/commands/watch_summary":
			fmt.Fprint(w, `{"num_total_watches": 0, "error": null}`)
		case "/commands/watches_by_path":
			meanwhile()
			fmt.Fprint(w, `{"path_to_session_ids": {}, "error": null}`)
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(admin.Close)
	return admin
}

// running runs a source until the test ends, and returns its updates.
func running(t *testing.T, s *Source) <-chan inspect.Update {
	updates := make(chan inspect.Update, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.Run(ctx, func(u inspect.Update) { updates <- u })
		close(updates)
	}()
	t.Cleanup(func() {
		cancel()
		for range updates { // until it has ended
		}
	})
	return updates
}

func TestLocksAreListedAgainAfterTheWatchTable(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once %v", once), func(t *testing.T) {
			zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
			c, _, err := zk.Connect([]string{zks.Addr}, 10*time.Second, zk.WithLogInfo(false))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			create := func(p string, flags int32) string {
				made, err := c.Create(p, nil, flags, zk.WorldACL(zk.PermAll))
				if err != nil {
					t.Fatal(err)
				}
				return made
			}
			create("/l", 0)
			holder := create("/l/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/l/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/same", 0)
			create("/same/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/same/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			admin := tableServer(t, func() { c.Delete(holder, -1) }) // leaves while the table is read
			s := New(Config{Backend: "zk", Servers: []string{zks.Addr}, Admin: []string{admin.URL}, Once: once})
			updates := running(t, s)
			before, after := map[string]*inspect.Lock{}, map[string]*inspect.Lock{}
			var table *inspect.WatchTable
			timeout := time.After(60 * time.Second)
			left := func(l *inspect.Lock) bool { return l != nil && l.Contention() == 1 }
			// A watch may report the leaver before the table comes: then nobody is left whose watch could be missing.
			for after["/same"] == nil || !left(after["/l"]) && (once || !left(before["/l"])) {
				select {
				case u, ok := <-updates:
					if !ok {
						t.Fatalf("ended; table %+v, locks before %v and after it %v", table, before, after)
					}
					for _, l := range u.Put {
						if table == nil {
							before[l.ID.Path] = l
						} else {
							after[l.ID.Path] = l
						}
					}
					if u.Watches != nil {
						table = u.Watches
					}
					if wholeQueue(before["/l"]) && wholeQueue(before["/same"]) { // the table is asked for when both are known
						s.Focus([]inspect.ID{{Backend: "zk", Path: "/l"}, {Backend: "zk", Path: "/same"}})
					}
				case <-timeout:
					t.Fatalf("not in time; table %+v, locks before %v and after it %v", table, before, after)
				}
			}
			for p, l := range after {
				early := before[p] != nil && before[p].ReadAt.Before(table.ReadAt)
				if once && !early || !l.ReadAt.After(table.ReadAt) {
					t.Errorf("%s: read at %v, the table at %v, then %v", p, before[p], table.ReadAt, l.ReadAt)
				}
			}
		})
	}
}

// wholeQueue reports whether it is known who waits.
func wholeQueue(l *inspect.Lock) bool {
	return l != nil && len(l.Waiters) == 1 && l.Waiters[0].Owner.Session != 0
}

func TestWhatMayNotBeReadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/"}})
	r.ready = true
	first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, "gone", "shut", first, second)
	for _, p := range []string{"/gone", "/shut"} {
		r.answer(jobStat, p, "", noon, &zk.Stat{NumChildren: 1}, nil)
		r.answer(jobList, p, "", noon, nil, zk.ErrNoAuth)
	}
	r.answer(jobGet, "/", first, noon, nil, zk.ErrNoAuth)
	r.answer(jobGet, "/", second, noon, nil, zk.ErrNoAuth)
	if len(r.refused) != 4 {
		t.Fatalf("denied: %v", r.refused)
	}
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, "shut", second)
	if len(r.refused) != 2 {
		t.Errorf("what is gone is not denied: %v", r.refused)
	}
	r.queue.clear()
	r.below = []string{"/"}
	r.poll(noon.Add(time.Second))
	if !r.queue.empty() {
		t.Errorf("asked again at once: %+v", r.queue.polls)
	}
	asked := map[string]bool{}
	for beat := range 2 { // one at a time
		r.poll(noon.Add(time.Minute + time.Duration(beat)*r.beats.focused))
		for _, j := range slices.Concat(r.queue.polls, r.queue.urgent) {
			asked[j.dir.path+" "+j.name] = true
		}
		if len(asked) != beat+1 {
			t.Errorf("asked again: %v", asked)
		}
	}
	if !asked["/shut "] || !asked["/ "+second] {
		t.Errorf("asked again: %v", asked)
	}
	r.answer(jobList, "/shut", "", noon, &zk.Stat{Czxid: 2}, nil)
	r.answer(jobGet, "/", second, noon, &zk.Stat{EphemeralOwner: 7}, nil)
	if len(r.refused) != 0 || r.dirs["/shut"].phase != listable {
		t.Errorf("denied although read: %v", r.refused)
	}
	if l := r.puts["/"]; l == nil || l.Holders[0].Owner.Session != 7 {
		t.Errorf("%+v", l)
	}
}

func TestALoginThatEndsLateHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := New(Config{Backend: "zk", Servers: []string{"127.0.0.1:1"}}).newRun(ctx, func(inspect.Update) {})
	for range cap(r.results) + 1 { // requests on a link that is gone, and the login on the next
		r.tasks.Go(func() { r.deliver(result{}) })
	}
	cancel()
	ended := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		t.Error("Run would not return")
	}
}

func TestTheClockIsReadFromListsSentAtOnce(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/l"}})
	stat := &zk.Stat{Czxid: 1}
	made := func(at time.Time) *zk.Stat { return &zk.Stat{EphemeralOwner: 7, Ctime: at.UnixMilli()} }
	names := func(upTo int) (list []string) {
		for i := range upTo {
			list = append(list, fmt.Sprintf("%s__lock__%010d", guid, i))
		}
		return list
	}
	get := func(i int, stat *zk.Stat) {
		for _, list := range []*[]job{&r.queue.reads, &r.queue.urgent} {
			for _, j := range *list {
				if j.kind == jobGet && j.name == names(i + 1)[i] {
					r.flying++
					r.result(result{job: j, link: r.link, at: noon, stat: stat})
				}
			}
			*list = nil
		}
	}
	comes := func(i int, at time.Time) { r.changedBelow("/l/"+names(i + 1)[i], zk.EventNodeCreated, at) }
	r.answer(jobList, "/l", "", noon, stat, nil)
	comes(0, noon.Add(time.Second)) // the budget, or a lost connection, holds the list up
	r.answer(jobList, "/l", "", noon.Add(11*time.Second), stat, nil, names(1)...)
	get(0, made(noon.Add(time.Second)))
	comes(1, noon.Add(20*time.Second))
	r.lost(linkEvent{link: &link{tap: &connect.Tap{}}, at: noon.Add(20 * time.Second), kind: linkLost})
	r.answer(jobList, "/l", "", noon.Add(20*time.Second), stat, nil, names(2)...)
	get(1, made(noon.Add(-time.Hour)))
	if k := r.ensemble.Clock(); k.Known {
		t.Errorf("offset %v", k.Offset)
	}
	comes(2, noon.Add(30*time.Second))
	r.answer(jobList, "/l", "", noon.Add(30*time.Second+time.Millisecond), stat, nil, names(3)...)
	get(2, made(noon.Add(30*time.Second)))
	if k := r.ensemble.Clock(); !k.Known || k.Offset.Abs() > 2*time.Millisecond {
		t.Errorf("offset %v, known %v", k.Offset, k.Known)
	}
}

// TestARootMadeWhileItWasAskedFor: that it was made may be heard before the answer that it is not there.
func TestARootMadeWhileItWasAskedFor(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/l"}})
	r.link, r.below = &link{}, []string{"/l"}
	d := &dir{path: "/l", root: true, busy: true}
	r.dirs["/l"] = d
	r.changedBelow("/l", zk.EventNodeCreated, noon)
	r.apply(result{job: job{kind: jobStat, dir: d}, link: r.link, at: noon, err: zk.ErrNoNode})
	if q := r.queue.urgent; len(q) != 1 || q[0].dir != r.dirs["/l"] {
		t.Errorf("asked for is %+v", q)
	}
}

// TestAnAbsentRootIsAskedForAgain: newer servers report nothing of a node that we may not read (CVE-2024-23944).
func TestAnAbsentRootIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/l"}})
	r.link, r.below, r.ready = &link{}, []string{"/l"}, true
	r.answer(jobStat, "/l", "", noon, nil, zk.ErrNoNode)
	r.poll(noon.Add(time.Minute))
	if q := r.queue.polls; len(q) != 1 || q[0].kind != jobStat || q[0].dir != r.dirs["/l"] {
		t.Errorf("asked for is %+v", q)
	}
}
