package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestFaultsAndTheirEffects(t *testing.T) {
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{}, box, 120, 36)
	settle(t, m, press(m, "enter"))
	m.now = m.now.Add(time.Minute)
	wantText(t, m, "thaw the holder of /locks/orders", "nothing has happened to the lock since")
	keysShow(t, m, "down w", "expire the session of worker-7")
	settle(t, m, press(m, "!"))
	expired := fmt.Sprintf("expire %x", fixture.Orders().Waiters[0].Owner.Session)
	must.Same(t, box.calls, []string{"freeze zk:/locks/orders", expired})
	next := fixture.Orders().Waiters[1]
	m.addEvents([]inspect.Event{
		{Kind: inspect.EventWaiting, At: fixture.Noon, Lock: fixture.Orders().ID, Contender: &next}, {Kind: inspect.EventAppeared, At: fixture.Noon, Lock: fixture.Thin().ID},
	}, 0, m.snapshot, m.snapshot)
	wantText(t, m, "12:00:00 expire the session of worker-7", "waits")
	wantNoText(t, m, "lock found")
}

// inFaults is a model with the focus in the faults pane.
func inFaults(t *testing.T, o Options, box *fakeFaults, width, height int) (*Model, *lab.Screen) {
	t.Helper()
	o.Sandbox, o.Faults, o.Lab = true, box, newFakeLab()
	m := inLab(t, o, width, height, fixture.Orders().ID)
	press(m, "shift+tab")
	s := m.screens[screen.Lab].(*lab.Screen)
	settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	return m, s
}

// A fault hits the contender that was on the screen, even if the lock has changed hands. Another key
// selects the next contender.
func TestAFaultHitsTheNamedContender(t *testing.T) {
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{}, box, 120, 36)
	keysShow(t, m, "down", "expire the session of worker-3", "worker-7, next in the queue, gets")
	l := fixture.Orders()
	old := l.Holders[0]
	l.Holders, l.Waiters = l.Waiters[:1], l.Waiters[1:]
	l.Holders[0].State = inspect.Holding
	show := func() {
		deliver(m, snapshotOf(l))
	}
	show()
	wantText(t, m, "expire the session of worker-3", "worker-3 left the lock; press w for the next")
	settle(t, m, press(m, "!"))
	must.Equal(t, len(box.calls), 0, "hit", box.calls)
	old.Name, old.State = "_c_again-lock-0000000700", inspect.Waiting // it asks again, with the same session
	l = fixture.Orders()
	l.Holders, l.Waiters = l.Waiters[:1], append(l.Waiters[1:], old)
	show()
	settle(t, m, press(m, "!"))
	must.Same(t, box.calls, []string{fmt.Sprintf("expire %x", old.Owner.Session)})
	l.Waiters = l.Waiters[:2]
	show()
	keysShow(t, m, "down", "cut the connection of worker-7")
}

// A fault whose label just changed is not injected until the user has had time to read it.
func TestJustChangedFaultIsNotInjected(t *testing.T) {
	clock := fixture.Noon
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{Now: func() time.Time { return clock }}, box, 120, 36)
	look := func() {
		clock = clock.Add(screen.SlowBeat)
		settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	}
	box.frozen = fixture.Orders().ID.String() // by the scenario, not the user
	look()
	settle(t, m, press(m, "!"))
	wantText(t, m, "thaw the holder of /locks/orders", `just changed to "thaw the holder of /locks/orders": press again`)
	must.Equal(t, len(box.calls), 0, "did", box.calls)
	look()
	settle(t, m, press(m, "enter"))
	must.Same(t, box.calls, []string{"thaw zk:/locks/orders"})
}

// halfway is an incomplete report of a run.
func halfway(contenders int, inversions uint64) contend.Report {
	r := contend.Report{
		Duration: 6 * time.Second, Grants: 40, Inversions: inversions, LongestWait: 2100 * time.Millisecond, LongestWaiter: 1,
		Handoff: contend.Quantiles{Count: 39, P50: 843 * time.Microsecond, P99: 25100 * time.Microsecond}, Wait: contend.Quantiles{Count: 40, P50: 655 * time.Millisecond},
	}
	for i := range contenders {
		r.Contenders = append(r.Contenders, contend.Contender{State: contend.State(i % 3), Grants: uint64(5 + i%2)})
	}
	return r
}

// contending is a model with two active runs.
func contending(t *testing.T, f *fakeLab, o Options, width, height int) *Model {
	t.Helper()
	o.Lab = f
	m := inLab(t, o, width, height, fixture.Orders().ID)
	press(m, "tab", "n")
	c := m.screens[screen.Lab].(*lab.Screen).Runs
	cmd := press(m, "up", "enter")
	for _, start := range cmd().(tea.BatchMsg) {
		send(m, start()) // do not wait for the tick that it returns
	}
	for side, r := range f.runs {
		for i := range 6 {
			r.events <- fixture.Event(contend.Queued, i, float64(i)/4-4)
			r.events <- fixture.Event(contend.Granted, i, float64(i)/2-3.5)
			r.events <- fixture.Event(contend.Released, i, float64(i)/2-3.2)
		}
		r.report = halfway(6, uint64(side*15))
		send(m, answeredMsg{screen.Lab, lab.RunTickMsg{Generation: c.Generation, Side: side, At: fixture.Noon, Report: r.report, Events: lab.Drain(r.events)}})
	}
	return m
}

func TestQueueIsFairerThanRace(t *testing.T) {
	f := newFakeLab()
	m := contending(t, f, Options{}, 120, 36)
	queue, race := f.runs[0].order, f.runs[1].order
	must.Equal(t, len(f.runs), 2, "runs")
	must.Same(t, []string{queue.Target, race.Target}, []string{"mutex", "mutex on one master"})
	must.Equal(t, queue.Seed, race.Seed, "seed")
	press(m, "n")
	must.True(t, !m.HasDialog(), "n opened a form during a run")
	c := m.screens[screen.Lab].(*lab.Screen).Runs
	press(m, ".")
	for side, b := range c.List {
		send(m, c.Beat(side, b)())
	}
	must.True(t, !c.Running(), ". does not stop the runs")
	wantText(t, m, "finished after 6.0s", "a race", "zk mutex is fairer: no overtakes, against 38%")
	keysShow(t, m, "n esc", "a race") // the figures stay until the next run
	send(m, answeredMsg{screen.Lab, lab.RunTickMsg{Generation: c.Generation - 1, Report: halfway(6, 40)}})
	wantNoText(t, m, "a race: 100%")
}

func TestOverlapsAreLoud(t *testing.T) {
	f := newFakeLab()
	m := contending(t, f, Options{}, 120, 36)
	c := m.screens[screen.Lab].(*lab.Screen).Runs
	r := halfway(6, 0)
	r.Overlaps = 2
	send(m, answeredMsg{screen.Lab, lab.RunTickMsg{Generation: c.Generation, Side: 1, At: fixture.Noon, Report: r}})
	wantText(t, m, "overlaps 2: HELD BY TWO AT ONCE", "broken: two held it at once")
	c.End()
}

func TestFailedRunShowsReason(t *testing.T) {
	f := newFakeLab()
	f.err = errors.New("no session with zookeeper 10.1.0.1:2181")
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	keysSettle(t, m, "tab n up enter", "not run", "no session with zookeeper")
}

// The lanes of a run use the lines that the pane above does not need, and have a time axis.
func TestARunGetsTheFreeLines(t *testing.T) {
	m := contending(t, newFakeLab(), Options{}, 200, 50)
	must.True(t, lineAt(m, "contention")-lineAt(m, "your locks") <= 8, "unused lines:\n", content(m))
	must.Contain(t, lineWith(t, m, "ACQUIRED"), "│11:59:5", "axis without times")
}

// fakeHeld is a hold that ends when a test says so.
type fakeHeld struct {
	ctx      context.Context
	end      context.CancelCauseFunc
	lab      *fakeLab
	deadline time.Time
}

func (h *fakeHeld) Context() context.Context    { return h.ctx }
func (h *fakeHeld) Deadline() (time.Time, bool) { return h.deadline, h.ctx.Err() == nil }
func (h *fakeHeld) Token() (uint64, bool)       { return 4711, true }
func (h *fakeHeld) Name() string                { return "_c_mine-lock-0000000606" }

func (h *fakeHeld) Extend(context.Context) error {
	h.lab.count("extend")
	return context.Cause(h.ctx)
}

func (h *fakeHeld) Release(context.Context) error {
	h.lab.count("release")
	if cause := context.Cause(h.ctx); cause != nil {
		return cause
	}
	h.end(lockops.ErrReleased)
	return nil
}

func (h *fakeHeld) Reenter(context.Context) (lab.Held, error) {
	h.lab.count("reenter")
	inner := *h
	inner.ctx, inner.end = context.WithCancelCause(h.ctx)
	return &inner, nil
}

// fakeLab grants or fails as the test asks, and counts the calls.
type fakeLab struct {
	mu     sync.Mutex
	orders []lab.Order
	counts map[string]int
	held   *fakeHeld
	err    error
	runs   []*fakeRun
}

// newFakeLab is a lab whose hold a test can end.
func newFakeLab() *fakeLab {
	f := &fakeLab{counts: make(map[string]int)}
	f.held = &fakeHeld{lab: f, deadline: fixture.In(8 * time.Second)}
	f.held.ctx, f.held.end = context.WithCancelCause(context.Background())
	return f
}

func (f *fakeLab) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

func (f *fakeLab) counted(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[what]
}

func (f *fakeLab) Backends() []lab.Backend { return []lab.Backend{zkLab, redisLab} }

func (f *fakeLab) Acquire(_ context.Context, o lab.Order, waiting func(string)) (lab.Held, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, o)
	waiting(fixture.Orders().Waiters[1].Name.Raw())
	if f.err != nil {
		return nil, f.err
	}
	return f.held, nil
}

func (f *fakeLab) Contend(_ context.Context, c lab.RunOptions) (lab.Run, error) {
	if f.err != nil {
		return nil, f.err
	}
	r := &fakeRun{order: c, events: make(chan contend.Event, 100), done: make(chan struct{})}
	f.runs = append(f.runs, r)
	return r, nil
}

// fakeRun is a contention run whose state the test sets.
type fakeRun struct {
	order  lab.RunOptions
	report contend.Report
	events chan contend.Event
	done   chan struct{}
	once   sync.Once
}

func (r *fakeRun) Snapshot() contend.Report     { return r.report }
func (r *fakeRun) Events() <-chan contend.Event { return r.events }
func (r *fakeRun) Done() <-chan struct{}        { return r.done }
func (r *fakeRun) Stop()                        { r.once.Do(func() { close(r.events); close(r.done) }) }

func (r *fakeRun) Wait() (contend.Report, error) {
	<-r.done
	r.report.Ended = true
	return r.report, nil
}

// fakeFaults counts the calls of each fault.
type fakeFaults struct {
	mu      sync.Mutex
	calls   []string
	frozen  string
	stopped string
	masters []string // nil means two masters
	err     error
}

func (f *fakeFaults) record(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fakeFaults) ExpireSession(id int64) error { return f.record("expire %x", id) }
func (f *fakeFaults) Cut(id int64) error           { return f.record("cut %x", id) }
func (f *fakeFaults) Freeze(lock string)           { f.frozen = lock; _ = f.record("freeze %s", lock) }
func (f *fakeFaults) Thaw(lock string)             { f.frozen = ""; _ = f.record("thaw %s", lock) }
func (f *fakeFaults) Frozen(lock string) bool      { return f.frozen == lock }
func (f *fakeFaults) Stopped(addr string) bool     { return f.stopped == addr }
func (f *fakeFaults) StopMaster(addr string) error {
	f.stopped = addr
	return f.record("stop %s", addr)
}

func (f *fakeFaults) Masters() []string {
	if f.masters != nil {
		return f.masters
	}
	return []string{"10.2.1.1:6379", "10.2.1.2:6379"}
}

func (f *fakeFaults) StartMaster(addr string) error {
	f.stopped = ""
	return f.record("start %s", addr)
}

var (
	zkLab = lab.Backend{
		Name: "zk", ZooKeeper: true, Kinds: []string{"mutex"}, Targets: []string{"mutex"},
		Recipes: map[string][]string{"mutex": {"curator", "kazoo", "sequential"}},
	}
	redisLab = lab.Backend{Name: "redis", Masters: 5, Kinds: []string{"redlock"}, Targets: []string{"mutex on one master", "redlock"}}
)
