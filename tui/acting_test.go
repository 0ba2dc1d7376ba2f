package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// manyReleasers previews and releases locks, and fails for the paths in refused and changed.
type manyReleasers struct {
	mu       sync.Mutex
	executed []string
	refused  string // previewed as gone
	changed  string // refused at the release
}

func (f *manyReleasers) of(string) (act.Releaser, bool) { return f, true }

func (f *manyReleasers) Preview(_ context.Context, r act.Request) (act.Preview, error) {
	p := act.Preview{Request: r, Warnings: []string{"its client goes on"}, Sends: []string{"delete " + r.ID.Path}}
	if c, ok := r.Lock.Contender(r.Owner); ok {
		p.Seen = &c
	}
	if r.ID.Path == f.refused {
		p.Refused = act.Gone
	}
	return p, nil
}

func (f *manyReleasers) Execute(_ context.Context, p act.Preview, confirmed string) (act.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.executed = append(f.executed, p.Request.ID.Path+" "+confirmed)
	if p.Request.ID.Path == f.changed {
		return act.Result{Reason: act.Changed}, nil
	}
	return act.Result{Released: !p.Request.Ask && p.Request.TTL == 0, Set: p.Request.TTL > 0, Asked: p.Request.Ask, LetGo: p.Request.Ask}, nil
}

// heldLocks returns locks with a finding, each held by one client.
func heldLocks(names ...string) *inspect.Snapshot {
	var list []*inspect.Lock
	for _, name := range names {
		l := fixture.Sick("zk:/locks/"+name, fixture.Trouble("stuck-holder", inspect.Warning, ""))
		l.State, l.Holders = inspect.StateHeld, []inspect.Contender{fixture.Znode(7, "worker-"+name, time.Minute, nil, 0)}
		list = append(list, l)
	}
	return snapshotOf(list...)
}

// Several marked locks are released one after the other, each with a preview. Refused ones are
// left out, and the first that deviates from its preview ends it.
func TestBulkStopsAtTheFirstSurprise(t *testing.T) {
	t.Parallel()
	f := &manyReleasers{refused: "/locks/b", changed: "/locks/c"}
	m := model(t, Options{Release: f.of}, 120, 36, heldLocks("a", "b", "c", "d"))
	keysShow(t, m, "V", "4 marked", "▲+zk:/locks/a")
	settle(t, m, press(m, "x"))
	wantText(t, m, "Force-release  3 locks", "zk:/locks/a", "worker-a", "left out:", "zk:/locks/b: it is no longer in the queue", "Its client goes on", "Type the number 3 to confirm")
	must.Equal(t, len(f.executed), 0, "released without consent")
	keysShow(t, m, "4 tab enter", "number does not match")
	keysShow(t, m, "backspace 3 enter", "enter RELEASE ALL")
	keysSettle(t, m, "enter", "done; no holder now", "it has changed", "1 of 3 done: stopped at the first")
	must.Same(t, f.executed, []string{"/locks/a typed", "/locks/c typed"}, "executed")
	keysHide(t, m, "enter V", "marked:")
}

// Marked locks can be asked to release or given a TTL. Without permission to write, only the
// preview works.
func TestMarkedLocksAllowBulkActions(t *testing.T) {
	t.Parallel()
	f := &manyReleasers{}
	m := model(t, Options{Release: f.of}, 120, 36, heldLocks("a", "b", "c"))
	keysShow(t, m, "v down v", "2 marked")
	settle(t, m, press(m, "A"))
	keysSettle(t, m, "2 tab enter", "2 of 2 done")
	keysSettle(t, m, "enter X", "How long should the key last")
	settle(t, m, press(m, "10m", "tab", "enter"))
	keysSettle(t, m, "2 tab enter", "2 of 2 done")
	press(m, "enter")
	must.Equal(t, strings.Join(f.executed, ", "), "/locks/a typed, /locks/c typed, /locks/a typed, /locks/c typed")
	reading := model(t, Options{Release: f.of, ReadOnly: "profile is read_only"}, 120, 36, heldLocks("a", "b"))
	keysSettle(t, reading, "V x", "Force-release  2 locks", "Preview only (profile is read_only")
}

// Curator's holders can be asked to let go from the list and the chain; refusals are reported.
func TestAskFromTheScreen(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	f.result = act.Result{Asked: true, LetGo: true, HoldersAfter: f.result.HoldersAfter}
	m := model(t, Options{Release: f.of}, 120, 36, fixture.Everything())
	goTo(m, screen.Chain, screen.Subject{Lock: fixture.Orders().ID})
	keysRun(t, m, "A", "Ask to release  zk:/locks/orders", "Next     ○ worker-7")
	must.True(t, f.only(t).Ask, "not asked")
	must.Equal(t, f.only(t).Wait, act.DefaultAskWait)
	cmd := press(m, "/locks/orders", "tab", "enter")
	wantText(t, m, "Asking, and watching whether it releases", "within 30 s")
	run(t, m, cmd)
	wantText(t, m, "Released by its holder: worker-3", "Now      ● worker-7")
	press(m, "enter")
	f.result = act.Result{Asked: true, Reason: act.Ignored, Detail: "it was asked, and still holds the lock after 10s"}
	run(t, m, press(m, "A"))
	keysRun(t, m, "/locks/orders tab enter", "Not released (ignored)", "still holds the lock after 10s")
	press(m, "enter")
	goTo(m, screen.Chain, screen.Subject{Lock: fixture.Thin().ID})
	press(m, "A")
	must.True(t, !m.HasDialog(), "a Redis holder can be asked")
	wantText(t, m, "only Curator's locks have a way to ask")
}

// fakeEnder ends the requested connections.
type fakeEnder struct {
	preview act.ClientPreview
	result  act.ClientResult
	err     error
	asked   []act.ClientRequest
	ended   int
}

func (f *fakeEnder) of(context.Context, string) (act.Ender, error) { return f, nil }

func (f *fakeEnder) PreviewEnd(_ context.Context, r act.ClientRequest) (act.ClientPreview, error) {
	f.asked = append(f.asked, r)
	p := f.preview
	p.Request = r
	return p, f.err
}

func (f *fakeEnder) EndClient(context.Context, act.ClientPreview, string) (act.ClientResult, error) {
	f.ended++
	return f.result, nil
}

// ofClient returns a snapshot with a key of Redis whose holder's connection is known.
func ofClient(client string) *inspect.Snapshot {
	l := fixture.Sick("redis:lock:job")
	l.State, l.Kind = inspect.StateHeld, inspect.KindMutex
	l.Masters = []inspect.Vote{fixture.Vote(1, "job-1", time.Minute)}
	l.Holders = []inspect.Contender{{Name: "job-1", State: inspect.Holding, Owner: inspect.Owner{Label: "job-1", Client: client}}}
	b := fixture.Backends()
	b[1].Name = "redis"
	return inspect.NewSnapshot(fixture.Noon, b, []*inspect.Lock{l})
}

// A client's connection is ended after the user typed its address, and the preview shows its
// other holds. Unknown connections and ZooKeeper sessions are refused with the reason.
func TestClientIsEndedFromTheScreen(t *testing.T) {
	t.Parallel()
	seen := act.Connection{Server: "10.0.0.1:6379", ID: 7, Addr: "10.0.0.7:50312", Name: "job-1"}
	f := &fakeEnder{
		preview: act.ClientPreview{Seen: []act.Connection{seen}, Sends: []string{"client kill id 7"}, Warnings: []string{"this frees no lock"}},
		result:  act.ClientResult{Ended: []act.Connection{seen}, Again: []act.Connection{{Addr: "10.0.0.7:50400"}}},
	}
	o := Options{Release: newFakeReleaser().of, End: f.of}
	m := model(t, o, 120, 36, ofClient("10.0.0.7:50312"))
	run(t, m, press(m, "K"))
	wantText(t, m, "End a client  job-1", "id 7, named job-1", "it holds redis:lock:job", "This frees no lock", "client kill id 7", "Type the address 10.0.0.7:50312")
	keysRun(t, m, "10.0.0.7:50312 tab enter", "Ended: 1 connection of job-1", "connected again, from 10.0.0.7:50400")
	must.Equal(t, f.ended, 1, "ended")
	must.Equal(t, f.asked[0].Client, "10.0.0.7:50312", "asked for")
	press(m, "enter")

	for client, want := range map[string]string{"": "its connection is unknown", "10.0.0.7": "several connections from 10.0.0.7"} {
		m := model(t, o, 120, 36, ofClient(client), "K")
		must.True(t, !m.HasDialog(), client, "can be ended")
		wantText(t, m, want)
	}

	f.preview = act.ClientPreview{Refused: act.Unsupported, Detail: "only a client can close its ZooKeeper session"}
	m = opened(t, o, 120, 36, fixture.Orders().ID)
	keysRun(t, m, "K", "Nothing was done (unsupported)", "only a client can close its ZooKeeper session")
	must.True(t, strings.HasPrefix(f.asked[len(f.asked)-1].Client, "0x"), "asked for", f.asked)
	press(m, "enter")
	f.preview, f.err = act.ClientPreview{}, errors.New("no answer")
	keysRun(t, m, "K", "No preview, nothing was sent", "no answer")
}

// K on a finding ends the client that the finding is about. If that is gone or there is none, K
// does not end the lock's holder, who may be healthy.
func TestOnlyTheFindingsClientIsEnded(t *testing.T) {
	for about, opens := range map[inspect.Untrusted]bool{"job-1": true, "gone": false, "": false} {
		s := ofClient("10.0.0.7:50312")
		for l := range s.Locks() {
			l.Findings = []inspect.Finding{{Rule: "ghost-owner", Severity: inspect.Warning, Message: "a waiter is dead", Subject: inspect.Subject{Contender: about}}}
		}
		m := model(t, Options{Release: newFakeReleaser().of, End: (&fakeEnder{}).of}, 120, 36, s, "f", "j")
		press(m, "K")
		must.Equal(t, m.HasDialog(), opens, "about", about, "K opens a dialog")
		if !opens {
			wantText(t, m, "the finding's contender is gone")
		}
	}
}

// fakeMutes keeps mutes in memory.
type fakeMutes struct {
	kept []inspect.Mute
	err  error
}

func (f *fakeMutes) Mute(_ context.Context, list []inspect.Mute) error {
	f.kept = append(f.kept, list...)
	return f.err
}

func (f *fakeMutes) Unmute(_ context.Context, list []inspect.Mute) error {
	f.kept = slices.DeleteFunc(f.kept, func(m inspect.Mute) bool {
		return slices.ContainsFunc(list, func(o inspect.Mute) bool { return o.Lock == m.Lock && o.Rule == m.Rule })
	})
	return f.err
}

// A finding is muted for a time and with a reason, from the list, the chain and the findings. M
// unmutes it.
func TestMuteFromTheScreen(t *testing.T) {
	t.Parallel()
	f := &fakeMutes{}
	for _, way := range [][]string{{"m"}, {"enter", "m"}, {"f", "m"}, {"v", "m"}} {
		f.kept = nil
		m := model(t, Options{Mutes: f}, 120, 36, heldLocks("a"), way...)
		wantText(t, m, "Mute  stuck-holder on zk:/locks/a", "does not set the lock's severity", "enter MUTE")
		run(t, m, press(m, "OPS-7", "enter"))
		want := inspect.Mute{Lock: fixture.Id("zk:/locks/a"), Rule: "stuck-holder", Muted: inspect.Muted{Until: fixture.In(time.Hour), Reason: "OPS-7"}}
		must.Same(t, f.kept, []inspect.Mute{want}, way)
		must.True(t, !m.HasDialog(), way, "still open")
		wantText(t, m, "muted for 1h")
	}
	two := heldLocks("a")
	for l := range two.Locks() {
		l.Findings = append(l.Findings, fixture.Trouble("slow-queue", inspect.Warning, ""))
	}
	m := model(t, Options{Mutes: f}, 120, 36, two)
	keysShow(t, m, "m", "Mute  stuck-holder, slow-queue on zk:/locks/a", "30m  [1h]  8h   1d   7d")
	m = model(t, Options{Mutes: f}, 120, 36, heldLocks("a"))
	keysShow(t, m, "L m", "the Lab is about your own locks") // the Lab is not about the lock that was selected
	press(m, "x")
	must.True(t, !m.HasDialog(), "x acts in the Lab")
	keysShow(t, m, "esc m up right", "[8h]")
	run(t, m, press(m, "enter"))
	must.Equal(t, f.kept[len(f.kept)-1].Until, fixture.In(8*time.Hour), "without a reason, until")
	f.kept = nil
	s := heldLocks("a")
	for l := range s.Locks() {
		l.Findings[0].Muted = &inspect.Muted{Until: fixture.In(time.Hour)}
	}
	m = model(t, Options{Mutes: f}, 120, 36, s)
	keysShow(t, m, "m", "already muted")
	keysShow(t, m, "enter", "M unmute")
	keysRun(t, m, "esc M", "unmuted: stuck-holder")
	must.Equal(t, len(f.kept), 0, "kept", f.kept)
	for l := range two.Locks() {
		l.Findings[0].Muted = &inspect.Muted{Until: fixture.In(time.Hour)}
		l.Findings[1].Muted = l.Findings[0].Muted
	}
	m = model(t, Options{Mutes: f}, 120, 36, two)
	keysRun(t, m, "f M", "unmuted: slow-queue on zk:/locks/a, not stuck-holder")
	f.err = errors.New("mutes: disk full")
	keysRun(t, m, "M", "disk full")
	wantText(t, model(t, Options{Sandbox: true}, 120, 36, heldLocks("a"), "m"), "the demo does not save mutes")
}

// Locks are left out, with the reason, if they are free, have unknown or several holders, or are only
// possible.
func TestBulkLeavesOutUnsureLocks(t *testing.T) {
	free, split, readers, possible := fixture.FreeLock(), fixture.Split(), fixture.Readers(), fixture.Orders()
	possible.Confidence = recipe.Possible
	f := &manyReleasers{}
	m := model(t, Options{Release: f.of}, 120, 36, snapshotOf(split, free, possible, readers))
	settle(t, m, press(m, "V", "x"))
	wantText(t, m, "None of them can be done: nothing was sent", "it has no holder", "its holder is unknown", "holders: choose on its chain", "it may not be a lock")
}
