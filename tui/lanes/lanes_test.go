package lanes

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

var update = flag.Bool("update", false, "write the golden files")

func init() { time.Local = time.UTC } // facts have times of day, which are local

// host is the program around the lanes, at noon.
type host struct {
	screen.Context // nil: the lanes need only the methods below
	snapshot       *inspect.Snapshot
	log            screen.EventLog
}

func hostOf(l *inspect.Lock) *host {
	return &host{snapshot: inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l})}
}

func (h *host) Snapshot() *inspect.Snapshot { return h.snapshot }
func (h *host) Theme() *theme.Theme         { return theme.New(theme.Options{ASCII: true, NoColor: true}) }
func (h *host) Now() time.Time              { return fixture.Noon }
func (h *host) Past() bool                  { return false }
func (h *host) Log() *screen.EventLog       { return &h.log }

// page collects drawn lines, and compares them with testdata/NAME.golden.
type page []string

func (p *page) add(lines ...widget.Line) {
	for _, l := range lines {
		*p = append(*p, strings.TrimRight(l.Text(), " "))
	}
}

func (p *page) compare(t *testing.T, name string) {
	t.Helper()
	path, got := "testdata/"+name+".golden", strings.Join(*p, "\n")+"\n"
	if *update {
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	must.NoDiff(t, cmp.Diff(string(must.Have(os.ReadFile(path))(t)), got), path, "(-update accepts it)")
}

func ago(seconds float64) time.Time {
	return fixture.Ago(time.Duration(seconds * float64(time.Second)))
}

// A lane is a row, and two or more lines of facts below the lanes.
func TestLanesAreDrawn(t *testing.T) {
	s := ago
	entry := func(label inspect.Untrusted, state inspect.ContenderState) *inspect.Contender {
		return &inspect.Contender{Name: label, State: state, Since: s(18), Owner: inspect.Owner{Label: label}}
	}
	holder, waiter := entry("ann", inspect.Holding), entry("bob", inspect.Waiting)
	dead, known := *holder, fixture.Znode(7, "long-name-of-eve", 0, nil, 0)
	dead.Dead = true
	process := inspect.Contender{State: inspect.Holding}
	process.Owner.Process = inspect.Process{Host: "web-1", PID: "42", Thread: "7", LibraryID: "ab"}
	before := Lane{Contender: holder, Queued: s(14), Granted: s(10), Ended: s(6)}
	l := &inspect.Lock{ID: fixture.Id("zk:/a"), Holders: []inspect.Contender{*holder}}
	l.Observed.History = &inspect.History{Overtaken: map[inspect.Untrusted]int{"bob": 1}}
	v := View{Context: hostOf(l), id: l.ID, Looked: s(16), label: 14, times: true}
	v.Window = WindowTo(s(0), 20*time.Second, 20)
	got, all := page(nil), []*Lane(nil)
	for _, test := range []struct {
		name string
		lane Lane
	}{
		{"waited, held and ended", before},
		{"waited and expired", Lane{Contender: holder, Queued: s(9), Granted: s(8), Ended: s(6), how: inspect.EventExpired}},
		{"holds at once", Lane{Contender: holder, Queued: s(10), Granted: s(10), Present: true}},
		{"holds for a moment", Lane{Contender: holder, Queued: s(5), Granted: s(0.9), Present: true}},
		{"waits", Lane{Contender: waiter, Queued: s(5), Present: true}},
		{"waits for longer than is shown", Lane{Contender: waiter, Queued: s(500), Present: true}},
		{"gave up", Lane{Contender: waiter, Queued: s(10), Ended: s(6), Left: true}},
		{"a moment", Lane{Contender: holder, Queued: s(10), Granted: s(10), Ended: s(10)}},
		{"ended as the window began", Lane{Contender: holder, Queued: s(60), Granted: s(50), Ended: s(19)}},
		{"comes later", Lane{Contender: holder, Queued: s(-1), Granted: s(-2), Ended: s(-3)}},
		{"queued after the drawn time", Lane{Contender: waiter, Queued: s(-1), Present: true}},
		{"granted after the drawn time", Lane{Contender: holder, Granted: s(-1), Present: true}},
		{"was gone before", Lane{Contender: holder, Queued: s(60), Granted: s(50), Ended: s(40)}},
		{"held before we looked", Lane{Contender: holder, Queued: s(18), Present: true, early: true}},
		{"long before", Lane{Contender: holder, Queued: s(180), Present: true, early: true}},
		{"first seen when we could look again", Lane{Contender: holder, seen: s(8), Present: true, early: true}},
		{"unknown start", Lane{Contender: holder, Present: true, early: true}},
		{"held before, and released", Lane{Contender: holder, Queued: s(18), Ended: s(10), early: true}},
		{"held for hardly longer than seen", Lane{Contender: holder, Queued: s(9), Granted: s(9), Ended: s(8), near: true}},
		{"has waited since an unknown time", Lane{Contender: waiter, Present: true}},
		{"its end was not seen", Lane{Contender: holder, Queued: s(10), Granted: s(8), Ended: s(4), unseenEnd: true}},
		{"overtaken", Lane{Contender: waiter, Queued: s(10), Present: true, Overtaken: []time.Time{s(7), s(3)}}},
		{"again, once overtaken", Lane{Contender: waiter, Queued: s(4), Present: true, Earlier: []*Lane{&before}}},
		{"its session is gone", Lane{Contender: &dead, Granted: s(4), Present: true}},
		{"the third of its name", Lane{Contender: &known, Granted: s(4), Present: true}},
		{"nameless", Lane{Contender: &inspect.Contender{Name: "9f3a", State: inspect.Holding}, Granted: s(4), Present: true}},
		{"a process", Lane{Contender: &process, Granted: s(4), Present: true}},
	} {
		got = append(got, fmt.Sprintf("# %s, in the window: %v", test.name, v.Window.Shows(&test.lane)))
		all = append(all, &test.lane)
		got.add(v.row(&test.lane, false, map[string]bool{"long-name-of-eve": true}))
		got.add(v.Facts(&test.lane, 100)...)
	}
	v.kind, dead.Mode, v.Looked = inspect.KindRW, recipe.Shared, s(19)
	got = append(got, "# readers and writers, watched from the first cell")
	early := &Lane{Contender: &dead, Queued: s(180), Present: true, early: true}
	unknown := &Lane{Contender: holder, Present: true, early: true}
	list := []*Lane{&before, early, unknown, {Contender: waiter, Present: true}}
	got.add(v.List(list, widget.Scroller{At: Present(list)}, 4)...)
	must.Equal(t, Present(list[1:]), 0, "the lane of a holder that comes first")
	waits, holds := Ended(all, s(0))
	got = append(got, fmt.Sprint("# finished waits: ", waits, ", holds: ", holds))
	got.compare(t, "lanes")
}

// The layout depends on the width, and the time axis on the window's length.
func TestLayouts(t *testing.T) {
	l := fixture.QueueOf("/a", 30*time.Second, fixture.Ann)
	cat := fixture.Person{Name: "cat-at-a-very-long-address", Session: 3}
	long := fixture.QueueOf("/long", time.Minute, fixture.Bob, cat)
	long.Kind = inspect.KindRW
	s := NewSource(hostOf(l))
	s.Context.(*host).snapshot = s.Snapshot().With(long)
	var got page
	for _, width := range []int{40, 75, 99, 100, 109, 110, 149, 150} {
		for _, id := range []inspect.ID{l.ID, long.ID} {
			v := NewView(&s, id, time.Time{}, time.Minute, width)
			got = append(got, fmt.Sprint("# ", width, " wide, a cell has ", v.Window.Step))
			got.add(v.Header(), v.List(v.In(s.Of(id)), widget.Scroller{}, 1)[0], v.Legend(width))
		}
	}
	for _, length := range Lengths() {
		for _, cells := range []int{24, 31, 38, 60} {
			got = append(got, WindowTo(fixture.Noon, length, cells).Axis("|", fixture.Noon))
		}
	}
	v := NewView(&s, l.ID, fixture.Noon, time.Minute, 80)
	got = append(got, "# no longer live, with plots")
	v.Window.From = fixture.Ago(v.Window.Step)
	label, plot := widget.Line{{Text: "label"}}, []float64{-1, -1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 2, 1, 0}
	got.add(v.Header(), v.Strip(label, plot, 4, theme.Style{}))
	got.add(v.Strips(label, plot, 4, 3, theme.Style{})...)
	got = append(got, "# classes of durations")
	for _, most := range []int{0, 3, 10, 20} {
		h := NewHistogram([]time.Duration{0, ms, 9 * ms, 10 * ms, 99 * ms, 1500 * ms, time.Hour}, most)
		got = append(got, fmt.Sprint(h.From, h.Counts))
	}
	got.compare(t, "layouts")
}

// A percentile has the nearest rank, and a window the next length that shows the oldest arrival.
func TestPercentilesAndFittingLengths(t *testing.T) {
	for percent, want := range map[int]time.Duration{0: 1, 50: 2, 51: 3, 99: 4} {
		must.Equal(t, Percentile([]time.Duration{1, 2, 3, 4}, percent), want, "p", percent)
	}
	for oldest, want := range map[time.Duration]time.Duration{
		28500*ms - 1: 30 * time.Second, 28500 * ms: time.Minute, 14 * time.Minute: 15 * time.Minute, time.Hour: time.Hour,
	} {
		l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("a", oldest, oldest), {Name: "unknown"}}}
		must.Equal(t, Fitting(LanesOf(l, PastLock{}, fixture.Noon), fixture.Noon, 30*time.Second), want, oldest)
	}
	var former []Lane
	for i := range 9 {
		former = append(former, *attempt(1, float64(81-9*i), 0))
	}
	must.Equal(t, Fitting(former, fixture.Noon, 30*time.Second), time.Minute, "the last six of them")
}

// Lanes are rebuilt for another moment, and known from the time since which no event was dropped.
func TestSourceKeepsItsLanes(t *testing.T) {
	l, gone := fixture.QueueOf("/a", 30*time.Second, fixture.Ann), fixture.Entry("bob", 20*time.Second, 0)
	h := hostOf(l)
	h.log.Add([]inspect.Event{{Kind: inspect.EventGone, Lock: l.ID, At: fixture.Ago(time.Second), Contender: &gone}})
	s := NewSource(h)
	list := s.Of(l.ID)
	must.Equal(t, len(list), 2, "lanes, with the former waiter's")
	must.Equal(t, &s.Of(l.ID)[0], &list[0], "the lanes of the same moment")
	must.Equal(t, s.Known(l.ID), fixture.Noon, "known from the start of the program")
	l.Observed.History = &inspect.History{Since: fixture.Ago(time.Minute)}
	must.Equal(t, s.Known(l.ID), fixture.Ago(time.Minute), "known since the lock is watched")
	s.memory.from = fixture.Ago(time.Second)
	must.Equal(t, s.Known(l.ID), fixture.Ago(time.Second), "known since events were dropped")
}

// Readers share the lock, so an earlier grant to one does not overtake another.
func TestReadersDoNotOvertakeReaders(t *testing.T) {
	lane := func(queued, granted float64, mode recipe.Mode) Lane {
		c := &inspect.Contender{Mode: mode, State: inspect.Holding}
		return Lane{Contender: c, Queued: ago(queued), Granted: ago(granted), Present: true}
	}
	const read, write = recipe.Shared, recipe.Exclusive
	list := []Lane{lane(59, 51, read), lane(58, 52, write), lane(57, 55, read), lane(60, 50, read)}
	list[3].early = true // it did not wait while we watched
	overtakings(list, fixture.Noon)
	for i, want := range []int{1, 1, 0, 0} { // only the writer overtakes the first
		must.Equal(t, len(list[i].Overtaken), want, "lane", i, "overtaken … times")
	}
}

// Consecutive holders are never drawn as holding together.
func TestHandoffDoesNotOverlap(t *testing.T) {
	w := WindowTo(fixture.Noon, time.Minute, 60)
	c := &inspect.Contender{State: inspect.Holding}
	for at := ago(31); at.Before(ago(30)); at = at.Add(ms) {
		first := Lane{Contender: c, Granted: at.Add(-5 * time.Second), Ended: at}
		second := Lane{Contender: c, Queued: at.Add(-7 * time.Second), Granted: at, Present: true}
		a, b := w.Draw(&first, fixture.Noon, fixture.Noon), w.Draw(&second, fixture.Noon, fixture.Noon)
		for i := range a {
			must.True(t, a[i] != cellHolding || b[i] != cellHolding, "both hold in cell", i, "after a handoff at", at)
		}
	}
}

// The memory is bounded, and reads each event once even if the log forgets some meanwhile.
func TestLaneMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var log screen.EventLog
	var m laneMemory
	lock := fixture.Id("zk:/a")
	for i := range 20_000 {
		c := fixture.Entry(fmt.Sprint(i), time.Second, 0)
		log.Add([]inspect.Event{{Kind: inspect.EventGone, At: fixture.In(time.Duration(i)), Lock: lock, Contender: &c}})
		if i%7 == 0 {
			m.read(&log, lock)
		}
	}
	m.read(&log, lock)
	must.True(t, leftKept <= len(m.ended) && len(m.ended) <= leftKept*3/2, "remembered", len(m.ended))
	must.Equal(t, m.ended[len(m.ended)-1].Contender.Name, "19999", "the newest")
	must.Equal(t, m.from, m.ended[0].At.Add(-1), "known since the last forgotten event") // else it would count as zero
	m.read(&log, fixture.Id("zk:/b"))
	must.Equal(t, len(m.ended), 0, "events remembered of another lock")
}

// Server times are drawn by our clock.
func TestLanesByOurClock(t *testing.T) {
	l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("a", 30*time.Second, 20*time.Second)}}
	n := LanesOf(l, PastLock{offset: time.Hour}, fixture.Noon)[0]
	must.Equal(t, n.Queued, fixture.Ago(time.Hour+30*time.Second), "queued")
	must.Equal(t, n.Granted, fixture.Ago(time.Hour+20*time.Second), "granted")
	l.Holders[0] = fixture.Entry("a", 20*time.Second, 30*time.Second)
	must.Equal(t, LanesOf(l, PastLock{}, fixture.Noon)[0].Granted, ago(20), "granted before it came, by two clocks")
}

func TestLanesInOrderOfArrival(t *testing.T) {
	const s = time.Second
	over := fixture.Entry("b", 50*s, 40*s)
	gone := fixture.Entry("c", 45*s, 0)
	early := inspect.Contender{Name: "a", Since: ago(90), State: inspect.Holding}
	l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("e", 30*s, 10*s)}}
	l.Waiters = []inspect.Contender{fixture.Entry("d", 40*s, 0), fixture.Entry("f", 5*s, 0)}
	l.Waiters[0].Owner.Session = 7
	past := PastLock{
		spans: []inspect.Span{
			{Contender: "a", Queued: early.Since, Ended: ago(40)},
			{Contender: "b", Queued: over.Since, Granted: over.HeldSince, Ended: ago(10)},
			{Contender: "9", Session: 9, Queued: ago(300), Granted: ago(290)}, // its end was not seen
			{Contender: "0", Session: 7, Label: "z", Queued: ago(200), Granted: ago(190), Ended: ago(180)},
		},
		ended: []inspect.Event{
			{Kind: inspect.EventReleased, At: ago(40), Contender: &early},
			{Kind: inspect.EventReleased, At: ago(10), Contender: &over},
			{Kind: inspect.EventGone, At: ago(20), Contender: &gone},
		},
	}
	var got []string
	list := LanesOf(l, past, fixture.Noon)
	for _, n := range list {
		c := n.Contender
		got = append(got, fmt.Sprint(c.Name, c.Owner.Label, c.Owner.Session, n.Present, n.early, n.Left, len(n.Overtaken)))
	}
	must.Same(t, got, []string{ // name, owner, present, early, left, and the number of overtakes
		"99 false false false 0", "0z7 false false false 0", "a0 false true false 0", "b0 false false false 0",
		"c0 false false true 0", "d7 true false false 1", "e0 true false false 0", "f0 true false false 0",
	})
	must.True(t, list[0].unseenEnd && list[0].Ended.Equal(ago(290)), "held at least until its grant")
	must.True(t, !list[1].unseenEnd, "its end was seen")
	folded := Fold((&View{Window: WindowTo(fixture.Noon, time.Hour, 60)}).In(list), "zk")
	must.Equal(t, folded[1].Contender.Name, "d", "at the place of its client's remembered attempt")
}

// Simultaneous arrivals are in the order of their sequence numbers, which wrap around.
func TestSequenceNumbersBreakTies(t *testing.T) {
	entry := func(number int32, sequential bool) Lane {
		return Lane{Contender: &inspect.Contender{Sequence: number, Sequential: sequential}}
	}
	must.Equal(t, inArrival(entry(1, true), entry(2, true)), -1, "1 compared with 2")
	must.Equal(t, inArrival(entry(math.MinInt32, true), entry(math.MaxInt32, true)), 1, "the next compared with the last")
	must.Equal(t, inArrival(entry(2, true), entry(1, false)), 0, "2 compared with an entry without a number")
	must.Equal(t, inArrival(entry(2, false), entry(1, true)), 0, "an entry without a number compared with 1")
}

// If the entry of a Redis waiter has no arrival time, the time of its first sight counts.
func TestWaitWithoutArrivalTimeIsSeen(t *testing.T) {
	var log screen.EventLog
	var m laneMemory
	waited := func(kind inspect.EventKind, at time.Time, c inspect.Contender) time.Duration {
		lock := inspect.Lock{ID: fixture.Id("redis:fair"), Waiters: []inspect.Contender{c}}
		log.Add([]inspect.Event{{Kind: kind, At: at, Lock: lock.ID, Contender: &c}})
		m.read(&log, lock.ID)
		took, _ := LanesOf(&lock, PastLock{joined: m.joined}, fixture.Noon)[0].waited(fixture.Noon)
		return took
	}
	waiter := inspect.Contender{Name: "w", State: inspect.Waiting}
	must.Equal(t, waited(inspect.EventWaiting, ago(30), waiter), 30*time.Second, "waited so far")
	holder := inspect.Contender{Name: "w", State: inspect.Holding, HeldSince: ago(5)}
	must.Equal(t, waited(inspect.EventAcquired, ago(5), holder), 25*time.Second, "waited")
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

// A client's consecutive attempts share a lane. Simultaneous attempts and those of unidentified
// clients have their own.
func TestAttemptsAreFolded(t *testing.T) {
	first, other, again, third := attempt(1, 60, 50), attempt(2, 55, 40), attempt(1, 30, 20), attempt(1, 25, 10)
	unknown, unknownToo := attempt(0, 9, 8), attempt(0, 7, 6)
	list := Fold([]*Lane{first, other, again, third, unknown, unknownToo}, "zk")
	folded := list[0]
	must.Same(t, list, []*Lane{folded, other, third, unknown, unknownToo}, "lanes")
	must.Equal(t, folded.Contender, again.Contender, "the latest attempt")
	must.Equal(t, len(folded.Earlier), 1, "earlier attempts")
	for _, l := range []*Lane{first, again, other} {
		must.Equal(t, folded.Is(KeyOf(l.Contender)), l != other, "the folded lane is that of", l.Contender.Name)
	}
	must.True(t, first.Earlier == nil && again.Earlier == nil, "folding has changed a lane")
	soon := attempt(2, 40.3, 35) // the previous end was seen late
	list = Fold([]*Lane{other, soon}, "zk")
	must.Equal(t, len(list), 1, "lanes of a client that returns at once")
	must.Equal(t, list[0].Contender, soon.Contender, "the latest attempt")
}

// attempt is a hold of a session, from and to some seconds before noon.
func attempt(session int64, from, to float64) *Lane {
	c := inspect.Contender{Name: inspect.Untrusted(fmt.Sprint(session, from)), Since: ago(from)}
	c.Owner.Session = session
	return &Lane{Contender: &c, Queued: c.Since, Granted: c.Since, Ended: ago(to)}
}

// A client's lane keeps its place while its first attempts leave the window. A new client comes last.
func TestLanesKeepTheirPlaces(t *testing.T) {
	first, second, again := attempt(1, 60, 59), attempt(2, 50, 49), attempt(1, 40, 39)
	s := &Source{}
	minute := View{Length: time.Minute, Live: true, Window: WindowTo(fixture.Noon, time.Minute, 60)}
	order := func(v View, lanes ...*Lane) (sessions string) {
		for _, l := range s.Folded(&v, lanes) {
			sessions += fmt.Sprint(l.Contender.Owner.Session, " ")
		}
		return sessions
	}
	must.Equal(t, order(minute, first, second, again), "1 2 ", "in order of arrival")
	must.Equal(t, order(minute, second, again), "1 2 ", "without the first attempt")
	must.Equal(t, order(minute, attempt(3, 55, 54), second, again), "1 2 3 ", "with another client")
	hour, past := minute, minute
	hour.Length, past.Live = time.Hour, false
	earlier := past
	earlier.Window = WindowTo(ago(30), time.Minute, 60)
	must.Equal(t, order(past, second, again), "2 1 ", "in the past, in order of arrival")
	must.Equal(t, order(earlier, first, second, again), "1 2 ", "in an earlier window, in order of arrival")
	must.Equal(t, order(hour, second, again), "2 1 ", "in another window, in order of arrival")
	for range 2 {
		got := order(minute, attempt(0, 60, 59), second, attempt(0, 40, 39))
		must.Equal(t, got, "0 2 0 ", "unidentified clients have their own places")
	}
}

// Each cell has the mean number of waiters and holders over its known time.
func TestContention(t *testing.T) {
	l := &inspect.Lock{
		Holders: []inspect.Contender{fixture.Entry("holds", 8*time.Second, 4*time.Second)},
		Waiters: []inspect.Contender{fixture.Entry("waits", 6*time.Second, 0), fixture.Entry("halfway", 2500*ms, 0)},
	}
	early := fixture.Entry("early", 0, 0)
	early.Since, early.State = time.Time{}, inspect.Holding
	past := PastLock{ended: []inspect.Event{{Kind: inspect.EventReleased, At: ago(4), Contender: &early}}}
	all := (&View{Window: WindowTo(fixture.Noon, time.Hour, 60)}).In(LanesOf(l, past, fixture.Noon))
	w := Window{From: fixture.Ago(10 * time.Second), Step: 2 * time.Second, Cells: 6}
	got := w.Contention(all, fixture.Ago(7*time.Second), fixture.Ago(time.Second))
	// From 10 s ago: 2 s before watching began, then half a cell, two holders in turn, half a cell
	// until now, and the future.
	must.Same(t, got.Waiting, []float64{-1, 1, 2, 1.25, 2, -1}, "waiting")
	must.Same(t, got.Holding, []float64{-1, 1, 1, 1, 1, -1}, "holding")
	most, share := Summary(got.Waiting)
	must.Same(t, []float64{most, share}, []float64{2, 1}, "the most waiting, and the share")
	most, share = Summary([]float64{-1, 0.5})
	must.Same(t, []float64{most, share}, []float64{0.5, 0.5}, "the most waiting in one known cell, and the share")
}
