package tui

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
)

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
