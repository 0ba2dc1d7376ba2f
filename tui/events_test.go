package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/events"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// happening is a full snapshot with events.
func happening(events ...inspect.Event) snapshotArrivedMsg {
	s := fixture.Everything()
	s.Changed, s.Events = []inspect.ID{}, events
	return snapshotArrivedMsg{snapshot: s}
}

// handoffs returns n handoffs of /locks/orders between workers, the last one just now: a release and a handover each.
func handoffs(n int) []inspect.Event {
	var list []inspect.Event
	for i := range n {
		at := fixture.Ago(time.Duration(n-i) * 700 * time.Millisecond)
		was, is := fixture.Znode(int32(i), fmt.Sprintf("worker-%d", i), time.Minute, nil, 0), fixture.Znode(int32(i+1), fmt.Sprintf("worker-%d", i+1), time.Minute, nil, 0)
		was.HeldSince, is.HeldSince = at.Add(-600*time.Millisecond), at
		is.Since = at.Add(-3200 * time.Millisecond)
		list = append(list,
			inspect.Event{Kind: inspect.EventReleased, At: at, Lock: fixture.Orders().ID, Contender: &was},
			inspect.Event{Kind: inspect.EventHandover, At: at, Lock: fixture.Orders().ID, Contender: &is, Previous: &was})
	}
	return list
}

// allKinds has an event of every kind.
func allKinds() []inspect.Event {
	a, b := fixture.Znode(7, "worker-7", 90*time.Second, nil, 0), fixture.Znode(8, "worker-8", 20*time.Second, nil, 0)
	a.HeldSince = fixture.Ago(80 * time.Second)
	old := fixture.Znode(6, "", 3*time.Hour, nil, 0)
	f := fixture.Orders().Findings[0]
	evil := fixture.Hostile()
	redis := fixture.Backends()[1]
	zk := fixture.Orders().ID
	at := func(d time.Duration, e inspect.Event) inspect.Event {
		e.At = fixture.Ago(d)
		return e
	}
	return []inspect.Event{
		at(26*time.Hour, inspect.Event{Kind: inspect.EventAppeared, Lock: fixture.FreeLock().ID}),
		at(70*time.Second, inspect.Event{Kind: inspect.EventBackend, Backend: redis}),
		at(60*time.Second, inspect.Event{Kind: inspect.EventWaiting, Lock: zk, Contender: &b}),
		at(50*time.Second, inspect.Event{Kind: inspect.EventFinding, Lock: zk, Finding: &f}),
		at(40*time.Second, inspect.Event{Kind: inspect.EventReleased, Lock: zk, Contender: &a}),
		at(40*time.Second, inspect.Event{Kind: inspect.EventHandover, Lock: zk, Contender: &b, Previous: &a}),
		at(39500*time.Millisecond, inspect.Event{Kind: inspect.EventCleared, Lock: zk, Finding: &f}),
		at(30*time.Second, inspect.Event{Kind: inspect.EventExpired, Lock: fixture.Thin().ID, Contender: &fixture.Thin().Holders[0]}),
		at(20*time.Second, inspect.Event{Kind: inspect.EventEnded, Lock: evil.ID, Contender: &evil.Holders[0]}),
		at(19*time.Second, inspect.Event{Kind: inspect.EventForced, Lock: zk, Contender: &old}),
		at(10*time.Second, inspect.Event{Kind: inspect.EventGone, Lock: zk, Contender: &b}),
		at(9*time.Second, inspect.Event{Kind: inspect.EventAcquired, Lock: fixture.Readers().ID, Contender: &fixture.Readers().Holders[1]}),
		at(2*time.Second, inspect.Event{Kind: inspect.EventGone, Lock: fixture.Minority().ID}),
	}
}

func eventsOf(m *Model) *events.Screen { return m.screens[screen.Events].(*events.Screen) }

// withEvents is a model that shows the events screen.
func withEvents(t *testing.T, o Options, width, height int, list ...inspect.Event) *Model {
	t.Helper()
	m := model(t, o, width, height, fixture.Everything(), "e")
	send(m, happening(list...))
	return m
}

// Names get the room of less useful columns, and a lock's name before two long ones of clients.
func TestEventNamesGetTheRoom(t *testing.T) {
	t.Parallel()
	client := func(name string) *inspect.Contender {
		return &inspect.Contender{Name: "n", Owner: inspect.Owner{Label: inspect.Untrusted(name)}}
	}
	handoff := func(lock, from, to string) inspect.Event {
		return inspect.Event{Kind: inspect.EventHandover, Lock: fixture.Id(lock), Contender: client(to), Previous: client(from)}
	}
	waiting := func(lock, name string) inspect.Event {
		return inspect.Event{Kind: inspect.EventWaiting, Lock: fixture.Id(lock), Contender: client(name)}
	}
	long := "zk:/locks/" + strings.Repeat("customer-", 10) + "ledgers"
	for _, tt := range []struct {
		name          string
		width, height int
		event         inspect.Event
		want          []string
	}{
		{
			"both clients, by leaving out tenths of seconds", 80, 24, handoff("zk:/locks/orders", "app-001:4000", "app-002:4000"),
			[]string{"12:00:00  ", "app-001:4000 → app-002:4000"},
		},
		{
			"into the column of an unknown duration", 80, 24, waiting("zk:/locks/orders", "app-1.prod.example.net:40000"),
			[]string{"app-1.prod.example.net:40000"},
		},
		{
			"the lock before its clients", 120, 36, handoff("redis:lock:order:104", strings.Repeat("a", 32), strings.Repeat("b", 32)),
			[]string{"redis:lock:order:104"},
		},
		{"a long lock in a wide window", 300, 80, waiting(long, "worker-8"), []string{long}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.event.At = fixture.Noon
			m := withEvents(t, Options{}, tt.width, tt.height, tt.event)
			wantText(t, m, tt.want...)
			keysShow(t, m, "p", tt.want[len(tt.want)-1])
		})
	}
}

func TestUnseenEventsShowLatestTime(t *testing.T) {
	e := handoffs(1)[0]
	e.Between = inspect.Interval{From: e.At.Add(-10 * time.Second), To: e.At}
	m := withEvents(t, Options{}, 120, 40, e)
	wantText(t, m, "≤"+describe.Clock(e.At)+" ")
	wantNoText(t, m, e.At.Format("05.000"))
}

func TestEventsFollow(t *testing.T) {
	m := withEvents(t, Options{}, 80, 24, handoffs(30)...)
	wantText(t, m, "60 events", "newest below", "→ worker-30")
	press(m, "k", "k")
	last := *eventsOf(m).Current()
	send(m, happening(handoffs(31)[60:]...))
	wantText(t, m, "↓ 2 new", "G to follow")
	wantNoText(t, m, "worker-31")
	must.Equal(t, eventsOf(m).Current().At, last.At, "the cursor left its event")
	must.Equal(t, eventsOf(m).Current().Kind, last.Kind)
	press(m, "/", "kind=released,handoff,expired,ended,forced,left,gone", "enter", "k")
	send(m, happening(handoffs(31)[60:]...))
	wantText(t, m, "↓ 4 new · G to follow / …", "forced,left,gone")
	keysShow(t, m, "esc G", "newest below", "worker-31")
	send(m, happening(handoffs(32)[62:]...))
	wantText(t, m, "worker-32")
	receives(t, m, tea.MouseWheelMsg{Button: tea.MouseWheelUp}, "G to follow")
	keysShow(t, m, "g", "worker-0 → worker-1")
	keysShow(t, m, "pgdown pgdown pgdown pgdown pgdown", "newest below")
}

func TestEventsFilter(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]int{
		"":                    13,
		"worker-8":            3,
		"handoff":             1,
		"kind=expired,ended":  2,
		"kind=trouble":        5,
		"kind=handoff":        1,
		"kind=gone":           2,
		"kind=left":           1,
		"kind=gone worker-8":  1,
		"STUCK":               2,
		"degraded":            1,
		"kind=":               13,
		"kind=nothing":        0,
		"kind=gone !worker-8": 1,
		"worker-8 billing":    0,
	} {
		m := withEvents(t, Options{}, 120, 40, allKinds()...)
		press(m, "/", filter, "enter")
		must.Equal(t, len(eventsOf(m).Shown), want, filter, "shows … events")
		if want == 0 {
			wantText(t, m, "No events match the filter.")
		}
		if filter == "kind=nothing" {
			wantText(t, m, `no kind "nothing"; choose from: trouble acquired handoff released`, "cleared backend blind changed")
		}
		// later events are filtered too
		send(m, happening(allKinds()...))
		must.Equal(t, len(eventsOf(m).Shown), 2*want, filter, "shows … events after twice as many")
		if filter != "" {
			keysShow(t, m, "esc", "26 events", "locks ▸ events")
		}
		keysHide(t, m, "esc", "▸ events")
	}
}

func TestEventsOfOneLock(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	send(m, happening(allKinds()...))
	keysShow(t, m, "e", "13 events")
	keysShow(t, m, "g j j o", "7 of 13 events", "only zk:/locks/orders", "o all locks")
	keysHide(t, m, "o", "only zk:")
	press(m, "esc")
	goTo(m, screen.Events, screen.Subject{Lock: fixture.Readers().ID})
	keysShow(t, m, "o", "only zk:/locks/billing") // the newest is of another lock
	press(m, "o", "esc")
	goTo(m, screen.Chain, screen.Subject{Lock: fixture.Readers().ID})
	keysShow(t, m, "e", "1 of 13 events", "only zk:/locks/billing", "reader-2")
	press(m, "o", "g")
	at := *eventsOf(m).Current()
	keysShow(t, m, "G k k enter", "locks ▸ chain", "zk:/locks/orders")
	press(m, "esc")
	must.Equal(t, eventsOf(m).Only, inspect.ID{}, "restricted while hidden")
	must.True(t, !eventsOf(m).Follow && *eventsOf(m).Current() != at, "the cursor moved while hidden")
	press(m, "G", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k") // the backend's
	keysShow(t, m, "o", "this event has no lock")
	keysShow(t, m, "enter", "▸ backends", "10.2.1.1:6379")
}

// Forgotten events are mentioned, and the cursor moves from one to an event that is left.
func TestForgottenEventsAreMentioned(t *testing.T) {
	t.Parallel()
	const perUpdate, updates = 200, 161
	m := withEvents(t, Options{}, 80, 24, handoffs(perUpdate/2)...)
	press(m, "k", "k") // the cursor stays on an old event
	s := eventsOf(m)
	old := s.Cursor
	for range updates - 1 {
		send(m, happening(handoffs(perUpdate/2)...))
	}
	must.True(t, len(m.events.List) <= screen.EventsKept*3/2, "too many are kept")
	must.Equal(t, len(s.Shown), len(m.events.List), "shown")
	must.Equal(t, m.events.End(), updates*perUpdate, "seen")
	forgotten, _ := m.events.At(old)
	must.Equal(t, forgotten, nil, "the old event")
	wantText(t, m, " older not kept", "new · G to follow")
	e, _ := m.events.At(s.Cursor)
	must.True(t, e != nil, "the cursor is on a forgotten event")
	lossy := happening(handoffs(1)...)
	lossy.snapshot.Dropped = 1204
	send(m, lossy)
	press(m, "G")
	send(m, tea.WindowSizeMsg{Width: 120, Height: 24})
	wantText(t, m, "1,204 missed, too many at once")
}

// While the screen is paused, events wait with everything else.
func TestEventsWhilePaused(t *testing.T) {
	m := withEvents(t, Options{}, 80, 24, handoffs(2)...)
	press(m, "space")
	send(m, happening(handoffs(3)[4:]...))
	wantText(t, m, "4 events")
	keysShow(t, m, "space", "6 events")
}

// Until the cursor moves, keys go to the previously selected lock, not the newest event's. None acts
// on a lock while the cursor follows the newest event.
func TestFollowingKeepsSelectedLock(t *testing.T) {
	m := withEvents(t, Options{Release: newFakeReleaser().of, Mutes: &fakeMutes{}}, 120, 36)
	before := m.front().Selected().Lock
	send(m, happening(inspect.Event{Kind: inspect.EventAppeared, At: fixture.Noon, Lock: fixture.FreeLock().ID}))
	must.Equal(t, m.front().Selected().Lock, before)
	press(m, "/", "appeared", "enter")
	must.Equal(t, m.front().Selected().Lock, fixture.FreeLock().ID, "filtered")
	for _, key := range []string{"x", "m"} {
		keysShow(t, m, key, "the newest event changes by itself")
	}
	press(m, "esc", "k")
	must.Equal(t, m.front().Selected().Lock, fixture.FreeLock().ID)
}

func TestEmptyEventsSayWhy(t *testing.T) {
	m := withEvents(t, Options{}, 80, 24)
	wantText(t, m, "No events since watching began.", "0 events")
	press(m, "enter", "k", "G", "o", "y", "pgdown")
	fits(t, m)
	press(m, "esc")
	goTo(m, screen.Chain, screen.Subject{Lock: fixture.Orders().ID})
	press(m, "e")
	send(m, happening(inspect.Event{Kind: inspect.EventAppeared, At: fixture.Noon, Lock: fixture.FreeLock().ID}))
	wantText(t, m, "No events of zk:/locks/orders since watching began.", "o shows the events of all locks.")
	m.events.Add([]inspect.Event{{Lock: fixture.Orders().ID, At: m.now.Add(-5 * time.Minute)}})
	keysShow(t, m, "w", "No events of zk:/locks/orders in the last 2m.", "w shows older ones.")
}

func TestEventsMouse(t *testing.T) {
	m := withEvents(t, Options{}, 120, 36, allKinds()...)
	top := len(frame{m}.head())
	click := tea.MouseClickMsg{Button: tea.MouseLeft, X: 9, Y: top + 2 + 4}
	send(m, click)
	must.Equal(t, eventsOf(m).Current().Kind, inspect.EventReleased, "a click selects")
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: 9, Y: top + 30})
	receives(t, m, click, "locks ▸ chain", "/locks/orders")
}

func TestEventsDoNotKeepWholeQueues(t *testing.T) {
	for _, paused := range []bool{false, true} {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		if paused {
			press(m, "space")
		}
		l := fixture.Orders()
		s := snapshotOf(l)
		s.Events = []inspect.Event{{Kind: inspect.EventWaiting, At: fixture.Noon, Lock: l.ID, Contender: &l.Waiters[1]}}
		deliver(m, s)
		if paused {
			press(m, "space")
		}
		e, _ := m.events.At(m.events.End() - 1)
		must.Equal(t, e.Contender.Name, l.Waiters[1].Name, "remembers")
		must.True(t, e.Contender != &l.Waiters[1], "paused", paused, "it keeps the whole queue in memory")
	}
}

func TestLocksWithMissedEndAreForgotten(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	l := fixture.Orders()
	s := snapshotOf(l)
	s.Events = []inspect.Event{{Kind: inspect.EventAcquired, At: fixture.Noon, Lock: l.ID, Contender: &l.Holders[0]}}
	deliver(m, s)
	must.Equal(t, len(m.history.Of(l.ID)), 1, "remembered grants")
	gone := snapshotOf(fixture.FreeLock())
	gone.Changed, gone.Dropped = []inspect.ID{l.ID}, 3
	deliver(m, gone)
	must.Equal(t, len(m.history.Of(l.ID)), 0, "the grants of a deleted lock are kept")
}

// w shows only the events of the last two minutes. p groups similar events of a lock in one row.
func TestEventsHaveAWindowAndGroups(t *testing.T) {
	t.Parallel()
	now := fixture.Noon
	m := withEvents(t, Options{Now: func() time.Time { return now }}, 160, 40, append(allKinds(), handoffs(30)...)...)
	keysShow(t, m, "w", "72 of 73 events", "last 2m", "w 2m/10m/all")
	wantNoText(t, m, "lock found")
	now = now.Add(100 * time.Second)
	receives(t, m, tickedMsg{m.ticking}, "61 of 73 events")
	keysShow(t, m, "w w p", "73 events", "grouped", "COUNT", "  31", "worker-30")
	must.Equal(t, len(eventsOf(m).Shown), 13, "rows")
	press(m, "p")
	must.Equal(t, len(eventsOf(m).Shown), 73, "p does not end the grouping")
	wantNoText(t, m, "not kept")
	wantText(t, m, "type /kind=trouble to see only trouble")
	m.events.Keep = 10
	m.events.Add(handoffs(30))
	keysShow(t, m, "w", "last 2m", "older than 11:59:57 not kept")
}

// A client has the same name in all rows, without its domain if two full names do not fit a handoff.
func TestEventsNameClientsConsistently(t *testing.T) {
	l := fixture.QueueOf("/locks/orders", time.Minute,
		fixture.Person{Name: "web-3.prod.acme.net:2211:5d0492b3", Session: 7}, fixture.Person{Name: "web-4.prod.acme.net:2212:5d0492b4", Session: 8})
	a, b := l.Holders[0], l.Waiters[0]
	m := model(t, Options{}, 120, 36, fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: []*inspect.Lock{l}}))
	press(m, "e")
	s := *m.snapshot
	s.Changed, s.Events = []inspect.ID{}, []inspect.Event{
		{Kind: inspect.EventReleased, At: fixture.Noon, Lock: l.ID, Contender: &a},
		{Kind: inspect.EventHandover, At: fixture.Noon, Lock: l.ID, Contender: &b, Previous: &a},
		{Kind: inspect.EventWaiting, At: fixture.Noon, Lock: fixture.Id("zk:/" + strings.Repeat("long/", 10)), Contender: &b},
	}
	receives(t, m, snapshotArrivedMsg{snapshot: &s}, "web-3:2211:5d0492b3 → web-4:2212:5d0492b4")
	wantNoText(t, m, "web-3.prod", "web-4.prod")
}

// An empty list of events names the key for each of its restrictions.
func TestEmptyEventsNameBothKeys(t *testing.T) {
	m := withEvents(t, Options{}, 80, 24, handoffs(3)...)
	keysShow(t, m, "k o / zzz", "esc clears the filter.") // which takes the other keys
	press(m, "enter")
	wantText(t, m, "No events of zk:/locks/orders match the filter", "esc clears the filter, o shows the events of all locks")
	keysShow(t, m, "esc", "only zk:/locks/orders")
}
