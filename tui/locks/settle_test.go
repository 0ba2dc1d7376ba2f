package locks

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// arranged are four free locks, and their rows.
type arranged struct {
	*testing.T
	locks map[string]*inspect.Lock
	rows  *Index
}

func newArranged(t *testing.T) *arranged {
	a := &arranged{T: t, locks: make(map[string]*inspect.Lock)}
	for i, name := range []string{"a", "b", "c", "d"} {
		l := fixture.SomeLock(inspect.ID{Backend: "zk", Path: name}, i)
		l.Holders, l.Waiters, l.Findings, l.State = nil, nil, nil, inspect.StateFree
		a.locks[name] = l
	}
	a.rows = NewIndex(t.Context(), a.snapshot(), arrangement{Order: order{by: byWorst}}, fixture.Noon)
	return a
}

func (a *arranged) snapshot() *inspect.Snapshot {
	return inspect.NewSnapshot(fixture.Noon, nil, slices.Collect(maps.Values(a.locks)))
}

// put updates a lock's row; nil means that the lock is gone.
func (a *arranged) put(name string, l *inspect.Lock) {
	if a.locks[name] = l; l == nil {
		delete(a.locks, name)
	}
	a.rows.update(a.snapshot(), []inspect.ID{{Backend: "zk", Path: name}}, fixture.Noon)
}

// pin puts the cursor on a row, at a line.
func (a *arranged) pin(name string, at int) { a.rows.pin(inspect.ID{Backend: "zk", Path: name}, at) }

// find gives a lock a finding.
func (a *arranged) find(name string, s inspect.Severity) {
	l := *a.locks[name]
	l.Findings = []inspect.Finding{{Rule: "deadlock", Severity: s}}
	a.put(name, &l)
}

func (a *arranged) warn(name string) { a.find(name, inspect.Warning) }

// settled expects an order after the rows were allowed to move.
func (a *arranged) settled(now time.Time, what string, want ...string) {
	a.Helper()
	a.rows.settle(now)
	a.expect(what, want...)
}

func (a *arranged) expect(what string, want ...string) {
	a.Helper()
	var got []string
	for _, e := range a.rows.Slice(nil, 0, 100) {
		got = append(got, e.Row.ID.Path)
	}
	must.Same(a, got, want, what)
	for at, path := range want {
		id := inspect.ID{Backend: "zk", Path: path}
		must.Equal(a, a.rows.Line(nil, Selection{Lock: id}), at, what, path, "is at line")
		part := a.rows.Slice(nil, at, 1)
		must.True(a, len(part) == 1 && part[0].Row.ID == id, what, "the slice from", at, "is", part)
	}
	must.Equal(a, a.rows.Lines(nil), len(want), what, "lines")
}

// Locks that change hands all the time keep their lines: the wait of the oldest waiter is new each time.
func TestBusyLocksKeepTheirOrder(t *testing.T) {
	a := newArranged(t)
	busy := func(name string, since time.Duration) {
		l := *a.locks[name]
		l.State = inspect.StateContended
		l.Holders = []inspect.Contender{{State: inspect.Holding, HeldSince: fixture.Ago(since)}}
		l.Waiters = []inspect.Contender{{State: inspect.Waiting, Since: fixture.Ago(since)}}
		a.put(name, &l)
	}
	for _, hours := range []time.Duration{1, 5, 1} {
		busy("b", hours*time.Hour)
		busy("d", 2*time.Hour)
		a.settled(fixture.Noon.Add(lineKeptAgain*3), "busy", "b", "d", "a", "c")
	}
}

// Changed rows stay in place until they are settled. A pinned row stays at its line, even if its lock
// goes and comes back.
func TestRowsStayUntilSettled(t *testing.T) {
	a := newArranged(t)
	a.expect("at first", "a", "b", "c", "d")
	a.warn("d")
	a.expect("a warning, unsettled", "a", "b", "c", "d")
	a.settled(fixture.Noon, "settled", "d", "a", "b", "c")
	a.warn("c")
	a.rows.settle(fixture.Noon)
	a.pin("a", 1)
	a.expect("pinned", "c", "a", "d", "b")
	gone := a.locks["a"]
	a.put("a", nil)
	a.expect("pinned and gone", "c", "a", "d", "b")
	a.put("a", gone)
	a.expect("pinned and back", "c", "a", "d", "b")
	must.Equal(t, a.rows.Shown, 4, "shown")
	a.rows.unpin()
	a.settled(fixture.Noon, "unpinned", "c", "d", "a", "b")
	a.pin("b", 0)
	a.put("b", nil)
	a.expect("gone at the top", "b", "c", "d", "a")
	a.rows.unpin()
	a.settled(fixture.In(lineKept), "unpinned and gone for good", "c", "d", "a")
}

// A row that changed under the cursor does not jump when the cursor leaves it.
func TestRowStaysWhenCursorLeaves(t *testing.T) {
	a := newArranged(t)
	calm := a.locks["b"]
	a.warn("b")
	a.rows.settle(fixture.Noon)
	a.pin("b", 0)
	a.put("b", calm)
	a.rows.settle(fixture.In(lineKept))
	a.pin("a", 1)
	a.expect("the cursor has left", "b", "a", "c", "d")
	a.settled(fixture.In(lineKept), "settled", "a", "b", "c", "d")
}

// A lock that comes and goes keeps its line for a while.
func TestAGoneLockKeepsItsLine(t *testing.T) {
	a := newArranged(t)
	gone := a.locks["b"]
	a.put("b", nil)
	a.settled(fixture.In(lineKept-1), "gone a moment ago", "a", "b", "c", "d")
	a.put("b", gone)
	a.settled(fixture.In(2*lineKept), "back", "a", "b", "c", "d")
	a.put("b", nil)
	a.settled(fixture.In(lineKept), "gone for good", "a", "c", "d")
}

// A lock whose trouble comes and goes keeps its line for a while.
func TestASinkingRowKeepsItsLine(t *testing.T) {
	a := newArranged(t)
	calm := a.locks["c"]
	a.warn("c")
	a.settled(fixture.Noon, "in trouble", "c", "a", "b", "d")
	a.put("c", calm)
	a.settled(fixture.In(lineKept-1), "well for a moment", "c", "a", "b", "d")
	a.warn("c")
	a.settled(fixture.In(2*lineKept), "in trouble again", "c", "a", "b", "d")
	a.put("c", calm)
	a.settled(fixture.In(lineKept), "well", "a", "b", "c", "d")
	a.warn("c")
	a.rows.settle(fixture.In(lineKept))
	a.put("c", calm)
	a.settled(fixture.In(lineKeptAgain-1), "recovered, for a moment", "c", "a", "b", "d")
	a.settled(fixture.In(lineKeptAgain), "well again", "a", "b", "c", "d")
}

// A lock whose findings are muted is below others with waiters, and above those without.
func TestMutedRowsAreBelowOtherQueues(t *testing.T) {
	a := newArranged(t)
	queue := func(name string, muted *inspect.Muted) {
		l := *a.locks[name]
		l.State, l.Waiters = inspect.StateContended, fixture.Orders().Waiters
		l.Findings = []inspect.Finding{{Rule: "herd", Severity: inspect.Warning, Muted: muted}}
		if muted == nil {
			l.Findings = nil
		}
		a.put(name, &l)
	}
	queue("b", &inspect.Muted{})
	queue("d", nil)
	a.settled(fixture.Noon, "muted and not", "d", "b", "a", "c")
}

// A lock that becomes critical moves up at once, unless it is under the cursor.
func TestACriticalRowRisesAtOnce(t *testing.T) {
	a := newArranged(t)
	a.pin("a", 0)
	a.warn("b")
	a.find("c", inspect.Critical)
	a.expect("another row is critical", "a", "c", "b", "d")
	a.pin("d", 3)
	a.find("d", inspect.Critical)
	a.expect("the cursor's row is critical", "c", "a", "b", "d")
	a.rows.unpin()
	a.settled(fixture.Noon, "settled", "c", "d", "b", "a")
}

// The second sort comes early, since the first findings arrive just after the first sort.
func TestTheSecondOrderComesSooner(t *testing.T) {
	a := &arranger{}
	must.Equal(t, a.patience(), settleStart, "after no order")
	a.settles = 1
	must.Equal(t, a.patience(), settleStart, "after the first")
	a.settles = 2
	must.Equal(t, a.patience(), settleEvery, "after the second")
}

// A list does not change its order between looking and pressing a key.
func TestTheOrderWaitsForTheCursor(t *testing.T) {
	p := open(t, some(), 80, 12)
	sick := *fixture.Thin()
	sick.Findings = fixture.Orders().Findings[:1]
	sick.Findings[0].Severity = inspect.Warning
	p.settles, p.now = 2, p.now.Add(settleEvery)
	p.press("down")
	list := slices.DeleteFunc(slices.Collect(some().Locks()), func(l *inspect.Lock) bool { return l.ID == sick.ID })
	p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), append(list, &sick)), sick.ID)
	before := p.Index.Line(nil, Selection{Lock: sick.ID})
	for range 2 {
		p.press("down")
		p.now = p.now.Add(settleEvery - 1)
		p.Screen.Update(screen.TickMsg{})
		must.Equal(t, p.Index.Line(nil, Selection{Lock: sick.ID}), before, "moved too soon")
	}
	p.now = p.now.Add(1)
	p.Screen.Update(screen.TickMsg{})
	must.True(t, p.Index.Line(nil, Selection{Lock: sick.ID}) < before, "never moved")
}

// Once no row has a finding, the room of the FINDING column goes to the names.
func TestAnEmptyFindingColumnIsDropped(t *testing.T) {
	long := fixture.Orders()
	long.ID = fixture.Id("zk:/locks/" + strings.Repeat("name-", 12))
	calm := *long
	calm.Findings = nil
	p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{long}), 100, 12)
	must.True(t, strings.Contains(p.drawn(100), "FINDING"), p.drawn(100))
	p.settledAt = p.now
	p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{&calm}), calm.ID)
	must.True(t, strings.Contains(p.drawn(100), "FINDING"), "before rows move", p.drawn(100))
	p.now = p.now.Add(2 * lineKept)
	p.Screen.Update(screen.TickMsg{})
	p.SetSize(100, 12)
	must.True(t, !strings.Contains(p.drawn(100), "FINDING"), p.drawn(100))
}
