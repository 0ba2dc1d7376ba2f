package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

// inLab is a model that shows the lab, opened for a lock.
func inLab(t *testing.T, o Options, width, height int, lock inspect.ID) *Model {
	t.Helper()
	m := opened(t, o, width, height, lock)
	settle(t, m, press(m, "L"))
	must.Equal(t, m.inFront, screen.Lab, "L shows")
	return m
}

// settle runs commands and their follow-ups until only waiting commands are left.
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
	// Commands that send no message for many turns wait for the end of a hold. One long turn would
	// only show that the machine was busy.
	for turns := 0; started > 0 && turns < 60; {
		select {
		case msg := <-answers:
			started, turns = started-1, 0
			if batch, ok := msg.(tea.BatchMsg); ok {
				for _, c := range batch {
					start(c)
				}
				continue
			}
			if msg != nil {
				start(send(m, msg))
			}
		case <-time.After(3 * time.Millisecond):
			turns++
		}
	}
}

// taken is a model that holds the orders lock.
func taken(t *testing.T, f *fakeLab) *Model {
	t.Helper()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	press(m, "a", "orders")
	wantText(t, m, "Acquire a lock", "zk:/locks/orders", "[curator]", "In use: worker-3", "ephemeral sequential node below zk:/locks/orders")
	settle(t, m, press(m, "up", "enter"))
	return m
}

func TestTakeHoldAndRelease(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	wantText(t, m, "held 0s", "8s", "_c_mine-lock-0000000606", "token 4711", "HOLDING 1", "you hold zk:/locks/orders")
	const usual = 30 * time.Second
	must.Same(t, f.orders, []lab.Order{{Lock: fixture.Orders().ID, Kind: "mutex", Recipe: "curator", TTL: usual, Wait: usual}})
	keysSettle(t, m, "+", "confirmed with the servers, and extended: 8.0s from now")
	keysSettle(t, m, "i", "HOLDING 2", "re-entered")
	must.Equal(t, f.counted("extend"), 1, f.counts)
	must.Equal(t, f.counted("reenter"), 1, f.counts)
	keysSettle(t, m, "r", "one of 2 holds of zk:/locks/orders released; still held", "HOLDING 1")
	keysSettle(t, m, "r", " released zk:/locks/orders")
	wantNoText(t, m, "still held", "HOLDING")
	for range 2 { // in your locks, and in the pane of the runs
		keysShow(t, m, "enter", "lab", "none of your locks is selected")
		press(m, "tab")
	}
	must.Equal(t, f.counted("release"), 2, f.counts)
}

func TestOwnLockIsReleasedFromItsChain(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	l := fixture.Orders()
	l.Holders[0].Name = inspect.Untrusted(f.held.Name())
	l.Holders[0].Owner.Label = inspect.Untrusted(fmt.Sprintf("%s:%d", must.Have(os.Hostname())(t), os.Getpid()))
	deliver(m, snapshotOf(l))
	keysShow(t, m, "enter j r", "r releases a lock of yours")
	keysSettle(t, m, "k r", " released zk:/locks/orders")
	must.Equal(t, f.counted("release"), 1)
	keysSettle(t, m, "esc r", "you do not hold zk:/locks/orders")
}

func TestWaitingShowsThePlace(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	page := m.screens[screen.Lab].(*lab.Screen)
	k := page.Hand.Add(&lab.Take{Order: lab.Order{Lock: fixture.Orders().ID, Kind: "mutex", Recipe: "curator", Wait: time.Minute}, Stop: func() { f.count("stop") }})
	page.Hand.Update(lab.TakeWaitsMsg{Id: k.Id, Name: fixture.Orders().Waiters[1].Name.Raw(), Names: nil})
	wantText(t, m, "waits: 2nd of 3, behind worker-7; gives up in 1m00s", "stop waiting")
	press(m, "r")
	must.Equal(t, f.counted("stop"), 1, "r did not stop the wait")
	send(m, answeredMsg{screen.Lab, lab.TakeDoneMsg{Id: k.Id, Hold: nil, Err: context.Canceled}})
	wantText(t, m, "stopped waiting; nothing is left on reachable servers", "not held")
	keysShow(t, m, "r", "You hold nothing")
	mine := fixture.Id("zk:/locks/mine")
	k = page.Hand.Add(&lab.Take{Order: lab.Order{Lock: mine}, Stop: func() {}})
	send(m, answeredMsg{screen.Lab, lab.TakeDoneMsg{Id: k.Id, Err: context.Canceled}})
	press(m, "r")
	must.Equal(t, page.Selected().Lock, mine, "the top line does not stay with the lock")
	wantText(t, m, "zk:/locks/mine  gone, without a holder")
	m.snapshot.Backend("zk").State = inspect.Down
	wantText(t, m, "zk:/locks/mine  unknown: not read yet")
}

// expire ends the holds, and delivers the messages about it.
func expire(m *Model, f *fakeLab) {
	f.held.end(fmt.Errorf("/locks/orders: %w: %w", lockops.ErrLost, errors.New("zookeeper session has expired")))
	id := m.screens[screen.Lab].(*lab.Screen).Hand.Takes[0].Id
	send(m, answeredMsg{screen.Lab, lab.TakeEndedMsg{Id: id, Cause: context.Cause(f.held.ctx)}})
}

func TestMixedRecipeRefusalNamesBoth(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	keysShow(t, m, "a orders down down right", "[kazoo]", "clients use it: they and kazoo clients would not wait")
	keysSettle(t, m, "tab tab enter", "refused, see above")
	must.Equal(t, len(f.orders), 0, "asked for", f.orders)
}

// None of these keys acquires a lock.
func TestNothingIsTakenByAccident(t *testing.T) {
	for name, keys := range map[string][]string{
		"esc":    {"tab", "esc"},
		"Cancel": {"up", "down", "enter"},
	} {
		f := newFakeLab()
		m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
		press(m, "a", "orders")
		receives(t, m, tea.PasteMsg{Content: "zk:/locks/orders\n\t\n"}, "pasting is off here")
		settle(t, m, press(m, keys...))
		must.Equal(t, len(f.orders), 0, name, "acquired", f.orders)
	}
}

func TestTypedLockNameIsChecked(t *testing.T) {
	f := newFakeLab()
	m := goTo(model(t, Options{Lab: f}, 120, 36, snapshotOf()), screen.Lab, screen.Subject{})
	keysShow(t, m, "a", "Type the lock's name")
	keysShow(t, m, "mine", "Write the backend before the path")
	must.Equal(t, strings.Count(content(m), "rite the backend"), 1, "the error is shown")
	keysShow(t, m, "backspace backspace backspace backspace no:x", "No such backend; choose from: zk, redis")
	press(m, "backspace", "backspace", "backspace", "backspace", "redis:lock:q")
	wantText(t, m, "SET lock:q VALUE NX PX 30000 to 5 masters", "Redis locks have no queue")
	f.err = lockops.ErrHeld
	settle(t, m, press(m, "tab", "tab", "tab", "tab", "enter"))
	must.Same(t, f.orders, []lab.Order{{Lock: fixture.Id("redis:lock:q"), Kind: "redlock", TTL: 30 * time.Second, Wait: 30 * time.Second}})
	wantText(t, m, "another client holds it; nothing was left behind")
}

func TestAcquireFormFollowsTheName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		lock      *inspect.Lock // the form is opened from
		keys      []string
		want, not string
	}{
		{"a directory is proposed", fixture.Orders(), nil, "lock        zk:/locks/", "Write the"},
		{"a whole name replaces the directory", fixture.Orders(), []string{"zk:/mine"}, "below zk:/mine.", "/locks/zk:"},
		{"a bare path is on the selected ensemble", fixture.Orders(), []string{"ctrl+u", "/mine"}, "below zk:/mine.", "Write the"},
		{"Redis has no paths", fixture.Thin(), []string{"ctrl+u", "/mine"}, "Write the backend before the path", "below"},
		{"a new lock gets its neighbour's recipe", fixture.Readers(), []string{"ctrl+u", "zk:/mine"}, "[kazoo]", "[curator]"},
		{"the chosen recipe stays", fixture.Orders(), []string{"orders", "down", "down", "right", "up", "up", "ctrl+u", "zk:/mine"}, "[kazoo]", "[curator]"},
		{"typing on a choice changes nothing", fixture.Orders(), []string{"orders", "tab", "hll"}, "left and right choose here", "hll"},
		{"typing on a choice keeps the name", fixture.Orders(), []string{"orders", "tab", "hll", "up", "ctrl+u", "zk:/mine"}, "[mutex]", "orderszk:"},
	} {
		m := inLab(t, Options{Lab: newFakeLab()}, 120, 36, tt.lock.ID)
		press(m, "a")
		press(m, tt.keys...)
		wantText(t, m, tt.want)
		wantNoText(t, m, tt.not)
	}
	m := taken(t, newFakeLab())
	keysShow(t, m, "a ctrl+u /mine", "below zk:/mine.", "[curator]") // the lock is held, so the form does not propose it
}

// Only a free lock is proposed: to join a queue, the user types the lock's name.
func TestAcquireProposesOnlyFreeLocks(t *testing.T) {
	for want, l := range map[string]*inspect.Lock{
		"Type the lock's name":           fixture.Orders(),
		"sequential node below zk:/free": {ID: fixture.Id("zk:/free"), State: inspect.StateFree, ReadAt: fixture.Noon},
	} {
		m := model(t, Options{Lab: newFakeLab()}, 120, 36, snapshotOf(l))
		keysRun(t, m, "a", "Acquire a lock", want)
	}
}

func TestReadOnlyTakesNothing(t *testing.T) {
	for want, o := range map[string]Options{
		"read-only: start with --write": {},
		`profile "prod" is read_only`:   {ReadOnly: `profile "prod" is read_only`},
		"this is a recording":           {Replay: true},
	} {
		m := inLab(t, o, 120, 36, fixture.Orders().ID)
		wantText(t, m, "Nothing can be acquired here: "+want, "Nothing can be run here: "+want)
		for _, key := range []string{"a", "r", "+", "i"} {
			keysShow(t, m, key, want)
			must.True(t, !m.HasDialog(), key, "opens a form")
		}
		press(m, "n", "tab", "n")
		must.True(t, !m.HasDialog(), "n opens a form")
		keysShow(t, m, "esc x", want)
	}
}

func TestAcquireFromEveryPane(t *testing.T) {
	m := inLab(t, Options{Sandbox: true, Faults: &fakeFaults{}, Lab: newFakeLab()}, 80, 24, fixture.Orders().ID)
	s := m.screens[screen.Lab].(*lab.Screen)
	for _, want := range []lab.LabPane{lab.PaneHand, lab.PaneRuns, lab.PaneFaults} {
		must.Equal(t, s.Pane, want, "in")
		press(m, "n")
		must.True(t, m.HasDialog(), want, "n opens no form")
		press(m, "esc")
		s.Choose(want)
		keysShow(t, m, "a", "Acquire a lock", "zk:/locks/orders")
		press(m, "esc")
		must.Equal(t, s.Pane, lab.PaneHand, "from", want, "to")
		s.Choose(want)
		press(m, "tab")
	}
	press(m, "shift+tab", "shift+tab")
	must.Equal(t, s.Pane, lab.PaneRuns, "shift+tab twice goes to")
}

// Without a run, the upper panes have the height they need. A list that is cut says so.
func TestPanesTakeTheHeightTheyNeed(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{120, 36}, {160, 50}} {
		box := &fakeFaults{masters: []string{"m1", "m2", "m3", "m4", "m5"}}
		m, s := inFaults(t, Options{}, box, size.width, size.height)
		settle(t, m, press(m, "!"))
		m.addEvents([]inspect.Event{{Kind: inspect.EventAppeared, At: fixture.Noon, Lock: fixture.Orders().ID}, {Kind: inspect.EventGone, At: fixture.Noon, Lock: fixture.Orders().ID}}, 0, m.snapshot, m.snapshot)
		wantText(t, m, "stop master m1", "stop master m5", "lock found", "lock gone", "Compare two kinds of lock")
		wantNoText(t, m, "more")
		must.Equal(t, strings.Count(content(m), fixture.Orders().ID.String()+"  worker-3"), 1, "the lock is shown")
		fits(t, m)
		s.Runs.List = []*lab.Side{{Order: lab.RunOptions{Backend: "zk", Target: "mutex"}, Over: true}}
		m.resize()
		if size.height == 36 {
			wantText(t, m, "stop master m1", "↓ 3 more")
			keysShow(t, m, "G", "stop master m5", "↑ 3 more")
		}
		fits(t, m)
	}
}

// A pane's header offers the enabled keys.
func TestPaneHeaderOffersEnabledKeys(t *testing.T) {
	m := contending(t, newFakeLab(), Options{}, 120, 36)
	s := m.screens[screen.Lab].(*lab.Screen)
	title := func() string { return s.PaneTitle(lab.PaneRuns, 120).Text() }
	must.Contain(t, title(), "stop")
	wantNone(t, title(), "new run")
	s.Runs.End()
	for _, b := range s.Runs.List {
		b.Over = true
	}
	must.Contain(t, title(), "new run")
	wantNone(t, title(), "stop")
}

func TestLabGolden(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {160, 50}, {200, 50}} {
		for _, ascii := range []bool{false, true} {
			name := fmt.Sprintf("lab-%dx%d", size.width, size.height)
			if ascii {
				name += "-ascii"
			}
			t.Run(name, func(t *testing.T) {
				f := newFakeLab()
				o := Options{Title: "demo", Sandbox: true, Faults: &fakeFaults{}, Theme: theme.Options{ASCII: ascii}, Release: newFakeReleaser().of}
				m := contending(t, f, o, size.width, size.height)
				s := m.screens[screen.Lab].(*lab.Screen)
				s.Faults.Masters = []lab.Master{{Addr: "10.2.1.1:6379", Stopped: false}, {Addr: "10.2.1.2:6379", Stopped: true}}
				k := s.Hand.Add(&lab.Take{Order: lab.Order{Lock: fixture.Orders().ID, Kind: "mutex", Recipe: "curator", Wait: time.Minute}})
				s.Hand.Update(lab.TakeWaitsMsg{Id: k.Id, Name: fixture.Orders().Waiters[1].Name.Raw(), Names: nil})
				k = s.Hand.Add(&lab.Take{Order: lab.Order{Lock: fixture.FreeLock().ID, Kind: "mutex", Recipe: "kazoo"}, Stop: func() {}})
				s.Hand.Done(lab.TakeDoneMsg{Id: k.Id, Hold: f.held, Err: nil})
				s.Hand.Update(lab.TakeFencedMsg{Id: k.Id, Token: 4711, Ok: true})
				m.flashText = ""
				text := ""
				for i := range s.Panes() {
					fits(t, m)
					text += content(m)
					inLooks(t, fmt.Sprintf("%s%d-%dx%d", "lab", i+1, size.width, size.height), m)
					press(m, "tab")
					if size.width >= lab.LabWide {
						break
					}
				}
				golden(t, name, text)
				must.True(t, !ascii || isASCII(text), "not ASCII:\n", text)
				s.Runs.End()
			})
		}
	}
}

// A waiter in a queue is not warned that a lock is held.
func TestWaitingIsNotHolding(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	m.screens["held"] = heldScreen{n: func() int { return 1 }, waits: 2}
	wantText(t, m, "HOLDING 2", "WAITING 2")
	press(m, "q")
	wantText(t, m, "You hold 2 locks, and wait for 2 here.", "releases what you hold, and stops waiting", "[ Release and quit ]   [ Cancel ]")
	press(m, "esc")
	m = model(t, Options{}, 80, 24, fixture.Everything())
	m.screens["held"] = heldScreen{n: func() int { return 0 }, waits: 1}
	wantText(t, m, "WAITING 1")
	wantNoText(t, m, "HOLDING")
	keysShow(t, m, "q", "You wait for 1 lock here.", "Quitting stops waiting.", "[ Stop waiting and quit ]   [ Cancel ]")
	wantNoText(t, m, "release")
}

// Enter acquires the lock from any row.
func TestEnterPressesTheButton(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	press(m, "a", "orders")
	for range 2 {
		wantText(t, m, "enter ACQUIRE  tab next field")
		press(m, "tab")
	}
	keysSettle(t, m, "enter", "you hold zk:/locks/orders")
	keysShow(t, m, "a", "Type the lock's name")
}

// The line above names the selected lock, and the pane shows how many clients wait for ours.
func TestLabShowsWaitersForHeldLock(t *testing.T) {
	t.Parallel()
	m := taken(t, newFakeLab())
	m.screens[screen.Lab].Open(screen.Place{Screen: screen.Lab, Subject: screen.Subject{Lock: fixture.FreeLock().ID}}, screen.SnapshotMsg{})
	keysShow(t, m, "k", "3 waiting  held", "zk:/locks/orders  worker-3")
	wantNoText(t, m, "/locks/nightly")
	page := m.screens[screen.Lab].(*lab.Screen)
	page.Hand.Add(&lab.Take{Order: lab.Order{Lock: fixture.Id("zk:/other")}})
	page.Open(screen.Place{Screen: screen.Lab, Subject: screen.Subject{Lock: fixture.Orders().ID}}, screen.SnapshotMsg{})
	must.Equal(t, page.Selected().Lock, fixture.Orders().ID, "the selected lock of ours")
}

// The form offers only the recipes of the selected kind of lock.
func TestFormOffersRecipesOfKind(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	d := lab.NewAcquireForm(m.world, m.screens[screen.Lab].(*lab.Screen).Hand, fixture.Id("zk:/x"))
	d.Backends = []lab.Backend{{
		Name: "zk", ZooKeeper: true, Kinds: []string{"mutex", "write"},
		Recipes: map[string][]string{"mutex": {"curator", "go-zookeeper", "kazoo"}, "write": {"kazoo", "curator"}},
	}}
	d.Rows[0].Typed.Set("zk:/x")
	d.Suit()
	for _, test := range []struct{ kind, recipe, want string }{
		{"mutex", "kazoo", "kazoo"}, {"write", "", "kazoo"}, {"mutex", "go-zookeeper", "go-zookeeper"}, {"write", "", "kazoo"}, {"write", "curator", "curator"}, {"mutex", "", "curator"},
	} {
		d.Rows[lab.AcquireKind].Choose(test.kind)
		d.Suit()
		d.Rows[lab.AcquireRecipe].Choose(test.recipe)
		must.Equal(t, d.Rows[lab.AcquireRecipe].Choice(), test.want, test.kind, test.recipe, "is chosen")
	}
}
