package lanes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Readers share the lock, so an earlier grant to one does not overtake another.
func TestReadersDoNotOvertakeReaders(t *testing.T) {
	at := func(d time.Duration) time.Time { return fixture.Ago(time.Minute - d) }
	lane := func(queued, granted time.Duration, mode recipe.Mode) Lane {
		return Lane{Contender: &inspect.Contender{Mode: mode, State: inspect.Holding}, Queued: at(queued), Granted: at(granted), Present: true}
	}
	list := []Lane{lane(1*time.Second, 9*time.Second, recipe.Shared), lane(2*time.Second, 8*time.Second, recipe.Exclusive), lane(3*time.Second, 5*time.Second, recipe.Shared)}
	overtakings(list, fixture.Noon)
	for i, want := range []int{1, 1, 0} { // only the writer overtakes the first
		must.Equal(t, len(list[i].Overtaken), want, "lane", i, "overtaken … times")
	}
}

func TestAxis(t *testing.T) {
	for _, test := range []struct {
		length time.Duration
		want   string
	}{
		{20 * time.Second, "                 |11:59:50       now"},
		{time.Hour, "                 |11:30          now"},
	} {
		must.Equal(t, WindowTo(fixture.Noon, test.length, 36).Axis("|", fixture.Noon), test.want, test.length)
	}
}

// Consecutive holders are never drawn as holding together.
func TestHandoffDoesNotOverlap(t *testing.T) {
	w := WindowTo(fixture.Noon, time.Minute, 60)
	for ms := range 1000 {
		at := fixture.Ago(30*time.Second + time.Duration(ms)*time.Millisecond)
		c := &inspect.Contender{State: inspect.Holding}
		first := Lane{Contender: c, Granted: at.Add(-5 * time.Second), Ended: at}
		second := Lane{Contender: c, Queued: at.Add(-7 * time.Second), Granted: at, Present: true}
		a, b := w.Draw(&first, fixture.Noon, fixture.Noon), w.Draw(&second, fixture.Noon, fixture.Noon)
		for i := range a {
			must.True(t, a[i] != cellHolding || b[i] != cellHolding, "both hold in cell", i, "after a handoff at ms", ms)
		}
	}
}

func TestLaneCells(t *testing.T) {
	w := WindowTo(fixture.Noon, 20*time.Second, 20) // the cell of fixture.Noon is the last one
	looked := fixture.Ago(16 * time.Second)         // in cell 3
	s := func(n int) time.Time { return fixture.Ago(time.Duration(n) * time.Second) }
	holder, waiter := &inspect.Contender{State: inspect.Holding}, &inspect.Contender{State: inspect.Waiting}
	for _, test := range []struct {
		name string
		lane Lane
		want string
	}{
		{"waited, held and released", Lane{Contender: holder, Queued: s(14), Granted: s(10), Ended: s(6)}, "   | ----####       "},
		{"holds at once", Lane{Contender: holder, Queued: s(10), Granted: s(10), Present: true}, "   |     ###########"},
		{"waits", Lane{Contender: waiter, Queued: s(5), Present: true}, "   |          ------"},
		{"waits for longer than is shown", Lane{Contender: waiter, Queued: s(500), Present: true}, strings.Repeat("-", 20)},
		{"gave up", Lane{Contender: waiter, Queued: s(10), Ended: s(6), Left: true}, "   |     ----x      "},
		{"a moment", Lane{Contender: holder, Queued: s(10), Granted: s(10), Ended: s(10)}, "   |     #          "},
		{"was gone before", Lane{Contender: holder, Queued: s(60), Granted: s(50), Ended: s(40)}, "   |                "},
		{"held before we looked", Lane{Contender: holder, Queued: s(18), Present: true, early: true}, " <:#################"},
		{"long before", Lane{Contender: holder, Queued: s(180), Present: true, early: true}, "<::#################"},
		{"first seen when we could look again", Lane{Contender: holder, seen: s(8), Present: true, early: true}, "   |      <#########"},
		{"unknown start", Lane{Contender: holder, Present: true, early: true}, "  <#################"},
		{"held before, and released", Lane{Contender: holder, Queued: s(18), Ended: s(10), early: true}, " <:######           "},
		{"has waited since an unknown time", Lane{Contender: waiter, Present: true}, "   <----------------"},
		{"its end was not seen", Lane{Contender: holder, Queued: s(10), Granted: s(8), Ended: s(4), unseenEnd: true}, "   |     --####:    "},
		{"overtaken", Lane{Contender: waiter, Queued: s(10), Present: true, Overtaken: []time.Time{s(7), s(3)}}, "   |     ---^---^---"},
	} {
		must.Equal(t, drawn(w, &test.lane, looked, fixture.Noon), test.want, test.name)
	}
	far := Lane{Contender: holder, Queued: s(180), Present: true, early: true}
	must.Equal(t, drawn(w, &far, s(100), fixture.Noon), "<###################", "an open end outside the window")
}

// The memory is bounded, and reads each event once even if the log forgets some meanwhile.
func TestLaneMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var log screen.EventLog
	var m laneMemory
	lock := fixture.Id("zk:/a")
	for i := range 20_000 {
		c := fixture.Entry(fmt.Sprint(i), time.Second, 0)
		log.Add([]inspect.Event{{Kind: inspect.EventGone, At: fixture.Noon, Lock: lock, Contender: &c}})
		if i%7 == 0 {
			m.read(&log, lock)
		}
	}
	m.read(&log, lock)
	must.True(t, leftKept <= len(m.ended) && len(m.ended) <= leftKept*3/2, "remembered", len(m.ended))
	must.Equal(t, m.ended[len(m.ended)-1].Contender.Name, "19999", "the newest")
	m.read(&log, fixture.Id("zk:/b"))
	must.Equal(t, len(m.ended), 0, "events remembered of another lock")
}

// Server times are drawn by our clock.
func TestLanesByOurClock(t *testing.T) {
	l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("a", 30*time.Second, 20*time.Second)}}
	n := LanesOf(l, PastLock{offset: time.Hour}, fixture.Noon)[0]
	must.Equal(t, n.Queued, fixture.Ago(time.Hour+30*time.Second), "queued")
	must.Equal(t, n.Granted, fixture.Ago(time.Hour+20*time.Second), "granted")
}

func TestLanesInOrderOfArrival(t *testing.T) {
	const s = time.Second
	over := fixture.Entry("b", 50*s, 40*s)
	gone := fixture.Entry("c", 45*s, 0)
	early := inspect.Contender{Name: "a", Since: fixture.Ago(90 * s), State: inspect.Holding}
	l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("e", 30*s, 10*s)}, Waiters: []inspect.Contender{fixture.Entry("d", 40*s, 0), fixture.Entry("f", 5*s, 0)}}
	past := PastLock{
		spans: []inspect.Span{
			{Contender: "a", Queued: early.Since, Ended: fixture.Ago(40 * s)},
			{Contender: "b", Queued: over.Since, Granted: over.HeldSince, Ended: fixture.Ago(10 * s)},
			{Contender: "0", Queued: fixture.Ago(200 * s), Granted: fixture.Ago(190 * s), Ended: fixture.Ago(180 * s)},
		},
		ended: []inspect.Event{
			{Kind: inspect.EventReleased, At: fixture.Ago(40 * s), Contender: &early},
			{Kind: inspect.EventReleased, At: fixture.Ago(10 * s), Contender: &over},
			{Kind: inspect.EventGone, At: fixture.Ago(20 * s), Contender: &gone},
		},
	}
	var got []string
	for _, n := range LanesOf(l, past, fixture.Noon) {
		got = append(got, fmt.Sprintf("%s present=%v early=%v left=%v overtaken=%d", n.Contender.Name, n.Present, n.early, n.Left, len(n.Overtaken)))
	}
	want := []string{
		"0 present=false early=false left=false overtaken=0", "a present=false early=true left=false overtaken=0",
		"b present=false early=false left=false overtaken=0", "c present=false early=false left=true overtaken=0",
		"d present=true early=false left=false overtaken=1", "e present=true early=false left=false overtaken=0",
		"f present=true early=false left=false overtaken=0",
	}
	must.Same(t, got, want)
}

func TestLanesOfAVeryLongQueue(t *testing.T) {
	t.Parallel()
	must.Equal(t, len(LanesOf(veryLongQueue(), PastLock{}, fixture.Noon)), 10_001, "lanes")
}

// If the entry of a Redis waiter has no arrival time, the time of its first sight counts.
func TestWaitWithoutArrivalTimeIsSeen(t *testing.T) {
	lock := fixture.Id("redis:fair")
	waiter := inspect.Contender{Name: "w", State: inspect.Waiting}
	holder := inspect.Contender{Name: "w", State: inspect.Holding, HeldSince: fixture.Ago(5 * time.Second)}
	var log screen.EventLog
	var m laneMemory
	log.Add([]inspect.Event{{Kind: inspect.EventWaiting, At: fixture.Ago(30 * time.Second), Lock: lock, Contender: &waiter}})
	m.read(&log, lock)
	check := func(l *inspect.Lock, want time.Duration) {
		t.Helper()
		n := LanesOf(l, PastLock{joined: m.joined}, fixture.Noon)[0]
		must.Equal(t, n.Queued, fixture.Ago(30*time.Second), "queued")
		waited, ok := n.waited(fixture.Noon)
		must.True(t, ok, "the wait is unknown")
		must.Equal(t, waited, want, "waited")
	}
	check(&inspect.Lock{Waiters: []inspect.Contender{waiter}}, 30*time.Second)
	log.Add([]inspect.Event{{Kind: inspect.EventAcquired, At: fixture.Ago(5 * time.Second), Lock: lock, Contender: &holder}})
	m.read(&log, lock)
	check(&inspect.Lock{Holders: []inspect.Contender{holder}}, 25*time.Second)
}

// The window moves by whole cells.
func TestWindowMovesByWholeCells(t *testing.T) {
	w := WindowTo(fixture.Noon, 10*time.Minute, 100) // 6 s a cell
	for d := time.Duration(0); d < 6*time.Second; d += 100 * time.Millisecond {
		must.Equal(t, WindowTo(fixture.In(d), 10*time.Minute, 100), w, d, "later")
		must.Equal(t, w.at(fixture.In(d)), 99, d, "later, the end is in cell")
	}
	must.Equal(t, WindowTo(fixture.In(6*time.Second), 10*time.Minute, 100).From.Sub(w.From), w.Step, "the window moved by")
}

// drawn is a lane as text, one letter per cell.
func drawn(w Window, l *Lane, looked, now time.Time) string {
	var b strings.Builder
	for _, c := range w.Draw(l, looked, now) {
		b.WriteByte(" |-:#^x<"[c])
	}
	return b.String()
}

// veryLongQueue has 10,000 waiters.
func veryLongQueue() *inspect.Lock {
	l := fixture.Orders()
	first := l.Waiters[0]
	l.Waiters = nil
	for i := range 10_000 {
		c := first
		c.Name, c.Since = inspect.Untrusted(fmt.Sprint(i)), fixture.Ago(time.Hour-time.Duration(i)*time.Millisecond)
		l.Waiters = append(l.Waiters, c)
	}
	return l
}

// A client's consecutive attempts share a lane. Simultaneous attempts and those of unidentified
// clients have their own.
func TestAttemptsAreFolded(t *testing.T) {
	attempt := func(session int64, from, to time.Duration) *Lane {
		return &Lane{
			Contender: &inspect.Contender{Name: inspect.Untrusted(fmt.Sprint(session, from)), Since: fixture.Noon.Add(-from), Owner: inspect.Owner{Session: session}},
			Queued:    fixture.Noon.Add(-from), Granted: fixture.Noon.Add(-from), Ended: fixture.Noon.Add(-to),
		}
	}
	first, other, again, third := attempt(1, 60*time.Second, 50*time.Second), attempt(2, 55*time.Second, 40*time.Second), attempt(1, 30*time.Second, 20*time.Second), attempt(1, 25*time.Second, 10*time.Second)
	unknown, unknownToo := attempt(0, 9*time.Second, 8*time.Second), attempt(0, 7*time.Second, 6*time.Second)
	list := Fold([]*Lane{first, other, again, third, unknown, unknownToo}, "zk")
	folded := list[0]
	must.Same(t, list, []*Lane{folded, other, third, unknown, unknownToo}, "lanes")
	must.Equal(t, folded.Contender, again.Contender, "the latest attempt")
	must.Equal(t, len(folded.Earlier), 1, "earlier attempts")
	for _, l := range []*Lane{first, again, other} {
		must.Equal(t, folded.Is(KeyOf(l.Contender)), l != other, "the folded lane is that of", l.Contender.Name)
	}
	must.True(t, first.Earlier == nil && again.Earlier == nil, "folding has changed a lane")
	soon := attempt(2, 40*time.Second+300*time.Millisecond, 35*time.Second) // the previous end was seen late
	list = Fold([]*Lane{other, soon}, "zk")
	must.Equal(t, len(list), 1, "lanes of a client that returns at once")
	must.Equal(t, list[0].Contender, soon.Contender, "the latest attempt")
}

// Attempts that only the lock's history remembers are folded like others.
func TestRememberedAttemptsAreFolded(t *testing.T) {
	span := func(name inspect.Untrusted, from int) inspect.Span {
		return inspect.Span{
			Contender: name, Label: "a", Session: 1, Queued: fixture.In(time.Duration(from) * time.Second),
			Granted: fixture.In(time.Duration(from) * time.Second), Ended: fixture.In(time.Duration(from+1) * time.Second),
		}
	}
	lanes := LanesOf(nil, PastLock{spans: []inspect.Span{span("x", 1), span("y", 5)}}, fixture.In(time.Minute))
	must.Equal(t, len(Fold([]*Lane{&lanes[0], &lanes[1]}, "zk")), 1, "lanes")
}

// A client's lane keeps its place while its first attempts leave the window. A new client comes last.
func TestLanesKeepTheirPlaces(t *testing.T) {
	lane := func(session int64, at time.Duration) *Lane {
		return &Lane{
			Contender: &inspect.Contender{Name: inspect.Untrusted(fmt.Sprint(session, at)), Owner: inspect.Owner{Session: session}},
			Queued:    fixture.Noon.Add(at), Granted: fixture.Noon.Add(at), Ended: fixture.Noon.Add(at + time.Second),
		}
	}
	first, second, again := lane(1, 0), lane(2, 10*time.Second), lane(1, 20*time.Second)
	s, minute := &Source{}, View{id: fixture.Id("zk:/a"), Length: time.Minute, Live: true, Window: Window{Cells: 60}}
	order := func(v View, lanes ...*Lane) (sessions []int64) {
		for _, l := range s.Folded(&v, lanes) {
			sessions = append(sessions, l.Contender.Owner.Session)
		}
		return sessions
	}
	hour := minute
	hour.Length = time.Hour
	for _, step := range []struct {
		got, want []int64
	}{
		{order(minute, first, second, again), []int64{1, 2}},
		{order(minute, second, again), []int64{1, 2}},
		{order(minute, lane(3, 5*time.Second), second, again), []int64{1, 2, 3}},
		{order(hour, second, again), []int64{2, 1}},
	} {
		must.Same(t, step.got, step.want, "sessions")
	}
}
