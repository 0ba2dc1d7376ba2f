package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/lockops"
	"lockscope/lockops/contend"
	"lockscope/theme"
)

var asciiTheme = theme.Options{NoColor: true, ASCII: true}

// fakeHeld is a hold that ends when it is told to.
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

func (h *fakeHeld) Reenter(context.Context) (Held, error) {
	h.lab.count("reenter")
	inner := *h
	inner.ctx, inner.end = context.WithCancelCause(h.ctx)
	return &inner, nil
}

// fakeLab grants, or fails, as it is told, and counts what it was asked.
type fakeLab struct {
	mu     sync.Mutex
	orders []Taking
	counts map[string]int
	held   *fakeHeld
	err    error
	runs   []*fakeRun
}

func newFakeLab() *fakeLab {
	f := &fakeLab{counts: make(map[string]int)}
	f.held = &fakeHeld{lab: f, deadline: in(8 * time.Second)}
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

func (f *fakeLab) Backends() []LabBackend { return []LabBackend{zkBackend, redisBackend} }

func (f *fakeLab) Acquire(_ context.Context, o Taking, waiting func(string)) (Held, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, o)
	waiting(orders().Waiters[1].Name.Raw())
	if f.err != nil {
		return nil, f.err
	}
	return f.held, nil
}

func (f *fakeLab) Contend(_ context.Context, c Contest) (Contention, error) {
	if f.err != nil {
		return nil, f.err
	}
	r := &fakeRun{order: c, events: make(chan contend.Event, 100), done: make(chan struct{})}
	f.runs = append(f.runs, r)
	return r, nil
}

// fakeRun is a contention run of which the test says how it stands.
type fakeRun struct {
	order  Contest
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

// fakeFaults counts what it was asked to do.
type fakeFaults struct {
	mu      sync.Mutex
	calls   []string
	frozen  string
	stopped string
	masters []string // two where none are named
	err     error
}

func (f *fakeFaults) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fakeFaults) ExpireSession(id int64) error { return f.note("expire %x", id) }
func (f *fakeFaults) Cut(id int64) error           { return f.note("cut %x", id) }
func (f *fakeFaults) Freeze(lock string)           { f.frozen = lock; _ = f.note("freeze %s", lock) }
func (f *fakeFaults) Thaw(lock string)             { f.frozen = ""; _ = f.note("thaw %s", lock) }
func (f *fakeFaults) Frozen(lock string) bool      { return f.frozen == lock }
func (f *fakeFaults) Stopped(addr string) bool     { return f.stopped == addr }
func (f *fakeFaults) StopMaster(addr string) error { f.stopped = addr; return f.note("stop %s", addr) }

func (f *fakeFaults) Masters() []string {
	if f.masters != nil {
		return f.masters
	}
	return []string{"10.2.1.1:6379", "10.2.1.2:6379"}
}

func (f *fakeFaults) StartMaster(addr string) error { f.stopped = ""; return f.note("start %s", addr) }

// inLab is a model with the lab in front, opened at a lock.
func inLab(t *testing.T, o Options, width, height int, lock inspect.ID) *Model {
	t.Helper()
	m := opened(t, o, width, height, lock)
	settle(t, m, press(m, "L"))
	if m.inFront != labScreen {
		t.Fatalf("L shows %s", m.inFront)
	}
	return m
}

// settle does what commands do, and what comes of that, until only those are left that wait for something. It returns how
// to end those.
func settle(t *testing.T, m *Model, cmd tea.Cmd) {
	t.Helper()
	answers := make(chan tea.Msg)
	var start func(cmd tea.Cmd)
	started := 0
	start = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		started++
		go func() {
			select {
			case answers <- cmd():
			case <-m.ctx.Done():
			}
		}()
	}
	start(cmd)
	for started > 0 {
		select {
		case msg := <-answers:
			started--
			if batch, ok := msg.(tea.BatchMsg); ok {
				for _, c := range batch {
					start(c)
				}
				continue
			}
			if msg != nil {
				start(send(m, msg))
			}
		case <-time.After(300 * time.Millisecond):
			return // the rest waits for the end of a hold
		}
	}
}

// taken is a model that holds the lock of orders.
func taken(t *testing.T, f *fakeLab) *Model {
	t.Helper()
	m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
	press(m, "a")
	wantText(t, m, "Acquire a lock", "zk:/locks/orders", "[curator]", "ephemeral sequential node below /locks/orders")
	settle(t, m, press(m, "tab", "enter"))
	return m
}

func TestTakeHoldAndRelease(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	wantText(t, m, "held 0s", "8s", "_c_mine-lock-0000000606", "token 4711", "IN HAND 1", "you hold zk:/locks/orders")
	if o := f.orders[0]; o.Lock != orders().ID || o.Recipe != "curator" || o.Try || o.Wait != 30*time.Second {
		t.Errorf("asked for %+v", o)
	}
	settle(t, m, press(m, "+"))
	wantText(t, m, "proved to the servers, and extended: 8.0s from now")
	settle(t, m, press(m, "i"))
	wantText(t, m, "IN HAND 2", "entered again")
	if f.counted("extend") != 1 || f.counted("reenter") != 1 {
		t.Errorf("%v", f.counts)
	}
	settle(t, m, press(m, "r"))
	wantText(t, m, "one of 2 holds of zk:/locks/orders released; still held", "IN HAND 1")
	settle(t, m, press(m, "r"))
	wantText(t, m, " released zk:/locks/orders")
	wantNoText(t, m, "still held", "IN HAND")
	if f.counted("release") != 2 {
		t.Errorf("%v", f.counts)
	}
}

// What was said of a lock does not stand below the news that it is lost.
func TestALossEndsWhatWasSaidOfTheLock(t *testing.T) {
	f := newFakeLab()
	m := taken(t, f)
	settle(t, m, press(m, "i"))
	settle(t, m, press(m, "r"))
	wantText(t, m, "still held")
	expire(m, f)
	wantText(t, m, "LOST  zk:/locks/orders")
	wantNoText(t, m, "still held")
}

func TestWaitingShowsThePlace(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
	lab := m.screens[labScreen].(*lab)
	k := lab.hand.add(&take{order: Taking{Lock: orders().ID, Kind: "mutex", Recipe: "curator", Wait: time.Minute}, stop: func() { f.count("stop") }})
	lab.hand.Update(takeWaitsMsg{k.id, orders().Waiters[1].Name.Raw(), nil})
	wantText(t, m, "waits: 2nd of 3, behind worker-7; for 1m00s yet", "stop waiting")
	press(m, "r")
	if f.counted("stop") != 1 {
		t.Error("r does not end the waiting")
	}
	send(m, answeredMsg{labScreen, takeDoneMsg{k.id, nil, context.Canceled}})
	wantText(t, m, "stopped waiting; nothing is left on servers that answer", "not held")
	press(m, "r")
	wantText(t, m, "You hold nothing")
}

// expire ends what was taken, and tells it.
func expire(m *Model, f *fakeLab) {
	f.held.end(fmt.Errorf("lockops: /locks/orders: %w: %w", lockops.ErrLost, errors.New("zookeeper session has expired")))
	id := m.screens[labScreen].(*lab).hand.takes[0].id
	send(m, answeredMsg{labScreen, takeEndedMsg{id, context.Cause(f.held.ctx)}})
}

// sink lets a loss be long enough on the screen to be acknowledged.
func sink(m *Model) {
	now := m.options.now().Add(sinking)
	m.options.Now = func() time.Time { return now }
}

func TestLossIsLoudOnEveryScreen(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	press(m, "esc")
	expire(m, f)
	wantText(t, m, "LOST  zk:/locks/orders", "session has expired", "must stop at once")
	press(m, "enter", "q", "esc") // typed before it could be read
	wantText(t, m, "LOST  zk:/locks/orders")
	sink(m)
	press(m, "enter", "L")
	wantText(t, m, "LOST: zookeeper session has expired; r takes it off this list")
	wantNoText(t, m, "IN HAND", "must stop at once")
	press(m, "r")
	if f.counted("release") != 0 {
		t.Error("what is lost was released")
	}
}

// A loss that comes while a dialog is open stands at the foot until that is closed, and then in a box of its own.
func TestALossWaitsForItsTurnInSight(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"help": {"?"}, "acquire": {"a"}, "palette": {":"}, "quit": {"q"}, "quit over help": {"?", "ctrl+c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeLab()
			m := taken(t, f)
			send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
			press(m, keys...)
			expire(m, f)
			for range 3 {
				sink(m) // and no flash goes by
				send(m, tickedMsg{m.ticking})
				wantText(t, m, " LOST  zk:/locks/orders: zookeeper session has expired")
				fits(t, m)
			}
			for range keys {
				press(m, "esc")
			}
			wantText(t, m, "LOST  zk:/locks/orders", "must stop at once", "Close")
			press(m, "esc")
			wantNoText(t, m, "LOST  zk:", "must stop")
		})
	}
}

// A session takes all its locks with it: one box tells of all.
func TestManyLossesAreOneBox(t *testing.T) {
	m := model(t, Options{Lab: newFakeLab()}, 80, 24, everything())
	for i := range 9 {
		m.losses = append(m.losses, loss{inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/%d", i)}, "zookeeper session has expired", noon})
	}
	press(m, "j")
	wantText(t, m, "LOST  zk:/locks/0", "LOST  zk:/locks/2", "more: the Lab lists them", "must stop at once", "Close")
	fits(t, m)
	m.options.Now = func() time.Time { return in(sinking) }
	press(m, "?", "esc")
	wantNoText(t, m, "LOST")
	send(m, tea.WindowSizeMsg{Width: 60, Height: 10})
	m.losses = []loss{{orders().ID, "why", noon}}
	wantText(t, m, "LOST: zk:/locks/orders")
}

func TestAMixedRecipeIsRefusedWithBothNamed(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
	press(m, "a", "up", "l")
	wantText(t, m, "[kazoo]", "Curator clients use it: those of kazoo would not wait")
	settle(t, m, press(m, "tab", "tab", "enter"))
	wantText(t, m, "refused, see above")
	if len(f.orders) != 0 {
		t.Errorf("asked for %+v", f.orders)
	}
}

// None of these takes anything.
func TestNothingIsTakenByAccident(t *testing.T) {
	for name, keys := range map[string][]string{
		"enter alone":          {"enter", "enter", "enter", "enter", "enter", "enter"},
		"esc":                  {"tab", "esc"},
		"the button, and back": {"tab", "up", "enter"},
	} {
		f := newFakeLab()
		m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
		press(m, "a")
		send(m, tea.PasteMsg{Content: "zk:/locks/orders\n\t\n"})
		wantText(t, m, "pasting is off here")
		settle(t, m, press(m, keys...))
		if len(f.orders) != 0 {
			t.Errorf("%s takes %+v", name, f.orders)
		}
	}
}

func TestATypedLock(t *testing.T) {
	f := newFakeLab()
	m := model(t, Options{Lab: f}, 120, 36, inspect.NewSnapshot(noon, backends(), nil))
	m.open(labScreen, subject{})
	m.navigate()
	press(m, "a")
	wantText(t, m, "Type a lock first", "after the lock")
	typeText(m, "no:x")
	wantText(t, m, "no such backend; there are: zk, redis")
	press(m, "backspace", "backspace", "backspace", "backspace")
	typeText(m, "redis:lock:q")
	wantText(t, m, "SET lock:q VALUE NX PX 30000 on 5 masters", "Redis locks have no queue")
	f.err = lockops.ErrHeld
	settle(t, m, press(m, "tab", "tab", "tab", "tab", "enter"))
	if len(f.orders) != 1 || f.orders[0].Lock != id("redis:lock:q") || f.orders[0].Kind != "redlock" || f.orders[0].TTL != 30*time.Second {
		t.Errorf("asked for %+v", f.orders)
	}
	wantText(t, m, "somebody else has it; nothing was left there")
}

func TestAcquireFromAnotherScreen(t *testing.T) {
	f := newFakeLab()
	m := opened(t, Options{Lab: f}, 120, 36, orders().ID)
	run(t, m, press(m, "a"))
	wantText(t, m, "Acquire a lock", "zk:/locks/orders")
}

func TestReadOnlyTakesNothing(t *testing.T) {
	for want, o := range map[string]Options{
		"read-only: start with --write": {},
		`profile "prod" is read_only`:   {ReadOnly: `profile "prod" is read_only`},
		"this is a recording":           {Replay: true},
	} {
		m := inLab(t, o, 120, 36, orders().ID)
		wantText(t, m, "Nothing can be taken here: "+want, "Nothing can be run here: "+want)
		for _, key := range []string{"a", "r", "+", "i"} {
			press(m, key)
			wantText(t, m, want)
			if m.modal != nil {
				t.Errorf("%s opens a form", key)
			}
		}
		press(m, "tab", "n")
		if m.modal != nil {
			t.Error("n opens a form")
		}
		press(m, "esc", "x")
		wantText(t, m, want)
	}
}

func TestQuitAsksWhenSomethingIsHeld(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	press(m, "q")
	wantText(t, m, "You hold 1 lock here", "Quitting releases what you hold")
	if cmd := press(m, "enter"); cmd != nil || m.modal != nil {
		t.Error("enter quits")
	}
	if cmd := press(m, "q", "y"); cmd == nil || cmd() != (tea.QuitMsg{}) {
		t.Error("q and y does not quit")
	}
	for _, key := range []string{"q", "ctrl+c"} {
		m = inLab(t, Options{Lab: newFakeLab()}, 120, 36, orders().ID)
		if cmd := press(m, key); cmd == nil || cmd() != (tea.QuitMsg{}) {
			t.Errorf("%s asks although nothing is held", key)
		}
	}
}

// ctrl+c asks once, over any dialog, which is there again when one stays; the second one quits.
func TestInterruptAsksOnce(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"a screen": nil, "the help": {"?"}, "a form": {"a"}} {
		m := taken(t, newFakeLab())
		press(m, keys...)
		before := m.modal
		if cmd := press(m, "ctrl+c"); cmd != nil {
			t.Errorf("over %s it quits unasked", name)
		}
		wantText(t, m, "You hold 1 lock here")
		if cmd := press(m, "esc"); cmd != nil || m.modal != before {
			t.Errorf("after staying %T is open instead of %s", m.modal, name)
		}
		press(m, "ctrl+c")
		if cmd := press(m, "ctrl+c"); cmd == nil || cmd() != (tea.QuitMsg{}) {
			t.Errorf("over %s the second one does not quit", name)
		}
	}
}

// What a dialog waits for reaches it although the question lies over it.
func TestInterruptKeepsTheDialogBelowAlive(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, orders().ID)
	m.holding = func() int { return 1 }
	asked := press(m, "x")
	press(m, "ctrl+c")
	settle(t, m, asked)
	wantText(t, m, "You hold 1 lock here")
	press(m, "esc")
	wantText(t, m, "Type the path")
}

// run of contenders, as far as a fake one is.
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

// contesting is a model with two runs under way.
func contesting(t *testing.T, f *fakeLab, o Options, width, height int) *Model {
	t.Helper()
	o.Lab = f
	m := inLab(t, o, width, height, orders().ID)
	press(m, "tab", "n")
	c := m.screens[labScreen].(*lab).contest
	cmd := press(m, "tab", "enter")
	for _, start := range cmd().(tea.BatchMsg) {
		send(m, start()) // the beat that it returns is not waited for
	}
	for side, r := range f.runs {
		for i := range 6 {
			r.events <- event(contend.Queued, i, float64(i)/4-4)
			r.events <- event(contend.Granted, i, float64(i)/2-3.5)
			r.events <- event(contend.Released, i, float64(i)/2-3.2)
		}
		r.report = halfway(6, uint64(side*15))
		send(m, answeredMsg{labScreen, contestBeatMsg{generation: c.generation, side: side, at: noon, report: r.report, events: drain(r.events)}})
	}
	return m
}

func TestAQueueBesideARace(t *testing.T) {
	f := newFakeLab()
	m := contesting(t, f, Options{}, 120, 36)
	if len(f.runs) != 2 || f.runs[0].order.Arena != "mutex" || f.runs[1].order.Arena != "mutex on one master" || f.runs[0].order.Seed != f.runs[1].order.Seed {
		t.Fatalf("%+v", f.runs)
	}
	wantText(t, m, "6 workers, hold about 150ms", "first come, first served", "a race: 38 % overtook", "p50 0.84ms, p99 25.1ms", "never two at once", "longest 2.1s by 2")
	if press(m, "n"); m.modal != nil {
		t.Error("n starts another run beside one that is under way")
	}
	c := m.screens[labScreen].(*lab).contest
	press(m, ".")
	for side, b := range c.bouts {
		send(m, c.beat(side, b)())
	}
	if c.running() {
		t.Error(". does not stop the runs")
	}
	wantText(t, m, "over, in 6.0s", "a race")
	press(m, "n", "esc")
	wantText(t, m, "a race") // the figures stay until the next run
	send(m, answeredMsg{labScreen, contestBeatMsg{generation: c.generation - 1, report: halfway(6, 40)}})
	wantNoText(t, m, "a race: 100 %")
}

func TestOverlapsAreLoud(t *testing.T) {
	f := newFakeLab()
	m := contesting(t, f, Options{}, 120, 36)
	c := m.screens[labScreen].(*lab).contest
	r := halfway(6, 0)
	r.Overlaps = 2
	send(m, answeredMsg{labScreen, contestBeatMsg{generation: c.generation, side: 1, at: noon, report: r}})
	wantText(t, m, "overlaps 2: GRANTED TO TWO AT ONCE", "no lock at all")
	c.end()
}

func TestARunThatCannotBeHad(t *testing.T) {
	f := newFakeLab()
	f.err = errors.New("lockops: no session with zookeeper 10.1.0.1:2181")
	m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
	press(m, "tab", "n")
	settle(t, m, press(m, "tab", "enter"))
	wantText(t, m, "not run", "no session with zookeeper")
}

func TestFaultsAndWhatComesOfThem(t *testing.T) {
	box := &fakeFaults{}
	m := inLab(t, Options{Sandbox: true, Faults: box, Lab: newFakeLab()}, 120, 36, orders().ID)
	press(m, "tab", "tab")
	settle(t, m, func() tea.Cmd { send(m, snapshotArrivedMsg{snapshot: m.snapshot}); return nil }())
	wantText(t, m, "freeze whoever holds /locks/orders", "now worker-3: it lives", "the queue grows until you thaw it", "stop master 10.2.1.1:6379")
	settle(t, m, press(m, "enter"))
	m.now = m.now.Add(time.Minute)
	wantText(t, m, "thaw the holder of /locks/orders", "nothing has happened to the lock since")
	press(m, "down", "w")
	wantText(t, m, "expire the session of worker-7")
	settle(t, m, press(m, "!"))
	if want := fmt.Sprintf("expire %x", orders().Waiters[0].Owner.Session); len(box.calls) != 2 || box.calls[0] != "freeze zk:/locks/orders" || box.calls[1] != want {
		t.Errorf("%q", box.calls)
	}
	next := orders().Waiters[1]
	m.note([]inspect.Event{
		{Kind: inspect.EventWaiting, At: noon, Lock: orders().ID, Contender: &next}, {Kind: inspect.EventAppeared, At: noon, Lock: thin().ID},
	}, 0)
	wantText(t, m, "12:00:00 expire the session of worker-7", "waits")
	wantNoText(t, m, "lock found")
}

// inFaults is a model with the keys in the pane of the faults.
func inFaults(t *testing.T, o Options, box *fakeFaults, width, height int) (*Model, *lab) {
	t.Helper()
	o.Sandbox, o.Faults, o.Lab = true, box, newFakeLab()
	m := inLab(t, o, width, height, orders().ID)
	press(m, "shift+tab")
	s := m.screens[labScreen].(*lab)
	settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	return m, s
}

// Who a fault hits is who was read: it stays the same when the lock changes hands, and goes on with the next key.
func TestAFaultHitsWhomItNamed(t *testing.T) {
	t.Parallel()
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{}, box, 120, 36)
	press(m, "down")
	wantText(t, m, "expire the session of worker-3", "worker-7, the next in the queue, gets")
	l := orders()
	old := l.Holders[0]
	l.Holders, l.Waiters = l.Waiters[:1], l.Waiters[1:]
	l.Holders[0].State = inspect.Holding
	show := func() {
		send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(noon, backends(), []*inspect.Lock{l})})
	}
	show()
	wantText(t, m, "expire the session of worker-3", "worker-3 is not in the lock now: w takes another")
	settle(t, m, press(m, "!"))
	if len(box.calls) != 0 {
		t.Errorf("hit %q", box.calls)
	}
	old.Name, old.State = "_c_again-lock-0000000700", inspect.Waiting // it asks again, with the same session
	l = orders()
	l.Holders, l.Waiters = l.Waiters[:1], append(l.Waiters[1:], old)
	show()
	settle(t, m, press(m, "!"))
	if want := fmt.Sprintf("expire %x", old.Owner.Session); len(box.calls) != 1 || box.calls[0] != want {
		t.Errorf("did %q, want %s", box.calls, want)
	}
	l.Waiters = l.Waiters[:2]
	show()
	press(m, "down")
	wantText(t, m, "cut the connection of worker-7")
}

// A fault that has become another one by itself is not done before somebody can have read it.
func TestAFaultThatJustChangedIsNotDone(t *testing.T) {
	t.Parallel()
	clock := noon
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{Now: func() time.Time { return clock }}, box, 120, 36)
	look := func() {
		clock = clock.Add(slowBeat)
		settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	}
	box.frozen = orders().ID.String() // the scenario does that itself
	look()
	settle(t, m, press(m, "!"))
	wantText(t, m, "thaw the holder of /locks/orders", `this has become "thaw the holder of /locks/orders" only just now: press it again`)
	if len(box.calls) != 0 {
		t.Fatalf("did %q", box.calls)
	}
	look()
	settle(t, m, press(m, "enter"))
	if len(box.calls) != 1 || box.calls[0] != "thaw zk:/locks/orders" {
		t.Errorf("did %q", box.calls)
	}
}

func TestAcquireFromEveryPane(t *testing.T) {
	t.Parallel()
	m := inLab(t, Options{Sandbox: true, Faults: &fakeFaults{}, Lab: newFakeLab()}, 80, 24, orders().ID)
	s := m.screens[labScreen].(*lab)
	for _, want := range []labPane{paneHand, paneContest, paneFaults} {
		if s.pane != want {
			t.Fatalf("in %s, not %s", s.pane, want)
		}
		press(m, "a")
		wantText(t, m, "Acquire a lock", "zk:/locks/orders")
		press(m, "esc")
		if s.pane != paneHand {
			t.Errorf("from %s to %s", want, s.pane)
		}
		s.choose(want)
		press(m, "tab")
	}
	press(m, "shift+tab", "shift+tab")
	if s.pane != paneContest {
		t.Errorf("shift+tab twice goes to %s", s.pane)
	}
}

// The panes at the top have the height that they need while no run is shown; a list that is cut says so.
func TestPanesTakeTheHeightTheyNeed(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{120, 36}, {160, 50}} {
		box := &fakeFaults{masters: []string{"m1", "m2", "m3", "m4", "m5"}}
		m, s := inFaults(t, Options{}, box, size.width, size.height)
		settle(t, m, press(m, "!"))
		m.note([]inspect.Event{{Kind: inspect.EventAppeared, At: noon, Lock: orders().ID}, {Kind: inspect.EventGone, At: noon, Lock: orders().ID}}, 0)
		wantText(t, m, "stop master m1", "stop master m5", "lock found", "lock gone", "Let the same workers fight")
		wantNoText(t, m, "more")
		if n := strings.Count(content(m), orders().ID.String()+"  worker-3"); n != 1 {
			t.Errorf("the lock stands there %d times", n)
		}
		fits(t, m)
		s.contest.bouts = []*bout{{order: Contest{Backend: "zk", Arena: "mutex"}, over: true}}
		if size.height == 36 {
			wantText(t, m, "stop master m1", "↓ 3 more")
			press(m, "G")
			wantText(t, m, "stop master m5", "↑ 3 more")
		}
		fits(t, m)
	}
}

// The header of a pane offers what can be done now.
func TestThePanesHeaderOffersWhatCanBeDone(t *testing.T) {
	m := contesting(t, newFakeLab(), Options{}, 120, 36)
	s := m.screens[labScreen].(*lab)
	if text := s.paneTitle(paneContest, 120).text(); strings.Contains(text, "new run") || !strings.Contains(text, "stop") {
		t.Error(text)
	}
	s.contest.end()
	for _, b := range s.contest.bouts {
		b.over = true
	}
	if text := s.paneTitle(paneContest, 120).text(); !strings.Contains(text, "new run") || strings.Contains(text, "stop") {
		t.Error(text)
	}
}

func TestEventsSinceAreTheFirstAndTheNewest(t *testing.T) {
	var log eventLog
	for range 20 {
		log.add([]inspect.Event{{Kind: inspect.EventGone, Lock: orders().ID}, {Kind: inspect.EventGone, Lock: thin().ID}})
	}
	got := fmt.Sprint(eventsSince(&log, 10, orders().ID, 3))
	if got != "[10 12 38]" {
		t.Error(got)
	}
}

func TestLabGolden(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {160, 50}} {
		for _, ascii := range []bool{false, true} {
			name := fmt.Sprintf("lab-%dx%d", size.width, size.height)
			if ascii {
				name += "-ascii"
			}
			t.Run(name, func(t *testing.T) {
				f := newFakeLab()
				o := Options{Title: "demo", Sandbox: true, Faults: &fakeFaults{}, Theme: theme.Options{ASCII: ascii}, Release: newFakeReleaser().of}
				m := contesting(t, f, o, size.width, size.height)
				s := m.screens[labScreen].(*lab)
				s.faults.masters = []master{{"10.2.1.1:6379", false}, {"10.2.1.2:6379", true}}
				k := s.hand.add(&take{order: Taking{Lock: orders().ID, Kind: "mutex", Recipe: "curator", Wait: time.Minute}})
				s.hand.Update(takeWaitsMsg{k.id, orders().Waiters[1].Name.Raw(), nil})
				k = s.hand.add(&take{order: Taking{Lock: freeLock().ID, Kind: "mutex", Recipe: "kazoo"}, stop: func() {}})
				s.hand.done(takeDoneMsg{k.id, f.held, nil})
				s.hand.Update(takeFencedMsg{k.id, 4711, true})
				m.flashText = ""
				text := ""
				for range s.panes() {
					fits(t, m)
					text += content(m)
					press(m, "tab")
					if size.width >= labWide {
						break
					}
				}
				golden(t, name, text)
				if ascii && !isASCII(text) {
					t.Errorf("not ASCII:\n%s", text)
				}
				s.contest.end()
			})
		}
	}
}

func TestEveryFrameOfTheLabFits(t *testing.T) {
	t.Parallel()
	for width := minWidth; width <= 200; width += 13 {
		f := newFakeLab()
		m := contesting(t, f, Options{Sandbox: true, Faults: &fakeFaults{}, Caption: func(time.Time) string { return strings.Repeat("caption ", 30) }}, width, 24+width%17)
		for range 3 {
			fits(t, m)
			press(m, "tab")
		}
		press(m, "a", "n")
		fits(t, m)
		m.screens[labScreen].(*lab).contest.end()
	}
}

func TestASmallWindowDoesNotQuitWithALockInHand(t *testing.T) {
	t.Parallel()
	m := taken(t, newFakeLab())
	send(m, tea.WindowSizeMsg{Width: 40, Height: 10})
	if cmd := press(m, "q"); cmd != nil {
		t.Error("q quits unasked where the question cannot be seen")
	}
	wantText(t, m, "You have 1 lock in hand", "ctrl+c releases and quits")
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	if press(m, "q"); m.modal == nil {
		t.Error("q does not ask in a large window")
	}
}
