package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
)

// BenchmarkLanesOfAVeryLongQueue would take seconds if each waiter were compared with each.
func BenchmarkLanesOfAVeryLongQueue(b *testing.B) {
	l := veryLongQueue()
	for b.Loop() {
		lanesOf(l, pastLock{}, noon)
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
		if got := windowTo(noon, test.length, 36).axis("|", "now"); got != test.want {
			t.Errorf("%v\ngot  %q\nwant %q", test.length, got, test.want)
		}
	}
}

// Two that hold one after the other never look as if they held together.
func TestHandoverDoesNotOverlap(t *testing.T) {
	w := windowTo(noon, time.Minute, 60)
	for ms := range 1000 {
		at := ago(30*time.Second + time.Duration(ms)*time.Millisecond)
		c := &inspect.Contender{State: inspect.Holding}
		first := lane{contender: c, granted: at.Add(-5 * time.Second), ended: at}
		second := lane{contender: c, queued: at.Add(-7 * time.Second), granted: at, present: true}
		a, b := w.draw(&first, noon, noon), w.draw(&second, noon, noon)
		for i := range a {
			if a[i] == cellHolding && b[i] == cellHolding {
				t.Fatalf("both hold in cell %d when handed over %d ms past", i, ms)
			}
		}
	}
}

func TestLaneCells(t *testing.T) {
	w := windowTo(noon, 20*time.Second, 20) // the cell of noon is the last one
	looked := ago(16 * time.Second)         // in cell 3
	s := func(n int) time.Time { return ago(time.Duration(n) * time.Second) }
	holder, waiter := &inspect.Contender{State: inspect.Holding}, &inspect.Contender{State: inspect.Waiting}
	for _, test := range []struct {
		name string
		lane lane
		want string
	}{
		{"waited, held and gone", lane{contender: holder, queued: s(14), granted: s(10), ended: s(6)}, "   | ----####       "},
		{"holds at once", lane{contender: holder, queued: s(10), granted: s(10), present: true}, "   |     ###########"},
		{"waits", lane{contender: waiter, queued: s(5), present: true}, "   |          ------"},
		{"waits for longer than is shown", lane{contender: waiter, queued: s(500), present: true}, strings.Repeat("-", 20)},
		{"gave up", lane{contender: waiter, queued: s(10), ended: s(6), left: true}, "   |     ----x      "},
		{"a moment", lane{contender: holder, queued: s(10), granted: s(10), ended: s(10)}, "   |     #          "},
		{"was gone before", lane{contender: holder, queued: s(60), granted: s(50), ended: s(40)}, "   |                "},
		{"held before we looked", lane{contender: holder, queued: s(18), present: true, early: true}, " <:#################"},
		{"long before", lane{contender: holder, queued: s(180), present: true, early: true}, "<::#################"},
		{"seen first when we could look again", lane{contender: holder, seen: s(8), present: true, early: true}, "   |      <#########"},
		{"nobody knows since when", lane{contender: holder, present: true, early: true}, "  <#################"},
		{"held before, and gone", lane{contender: holder, queued: s(18), ended: s(10), early: true}, " <:######           "},
		{"waits since before, and does not tell since when", lane{contender: waiter, present: true}, "   <----------------"},
		{"its end was not seen", lane{contender: holder, queued: s(10), granted: s(8), ended: s(4), unseenEnd: true}, "   |     --####:    "},
		{"overtaken", lane{contender: waiter, queued: s(10), present: true, overtaken: []time.Time{s(7), s(3)}}, "   |     ---^---^---"},
	} {
		if got := drawn(w, &test.lane, looked, noon); got != test.want {
			t.Errorf("%s\ngot  %q\nwant %q", test.name, got, test.want)
		}
	}
	far := lane{contender: holder, queued: s(180), present: true, early: true}
	if got := drawn(w, &far, s(100), noon); got != "<###################" {
		t.Errorf("the open end is lost when it is out of sight: %q", got)
	}
}

// The memory reads each event once, whatever the log forgets meanwhile, and is bounded.
func TestLaneMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var log eventLog
	var m laneMemory
	lock := id("zk:/a")
	for i := range 20_000 {
		c := entry(fmt.Sprint(i), time.Second, 0)
		log.add([]inspect.Event{{Kind: inspect.EventGone, At: noon, Lock: lock, Contender: &c}})
		if i%7 == 0 {
			m.read(&log, lock)
		}
	}
	m.read(&log, lock)
	if n := len(m.ended); n < leftKept || n > leftKept*3/2 {
		t.Errorf("%d are remembered", n)
	}
	if last := m.ended[len(m.ended)-1]; last.Contender.Name != "19999" {
		t.Errorf("the last one is %s", last.Contender.Name)
	}
	m.read(&log, id("zk:/b"))
	if len(m.ended) > 0 {
		t.Error("another lock has the same past")
	}
}

// Times of the server are drawn by our clock.
func TestLanesByOurClock(t *testing.T) {
	l := &inspect.Lock{Holders: []inspect.Contender{entry("a", 30*time.Second, 20*time.Second)}}
	n := lanesOf(l, pastLock{offset: time.Hour}, noon)[0]
	if !n.queued.Equal(ago(time.Hour+30*time.Second)) || !n.granted.Equal(ago(time.Hour+20*time.Second)) {
		t.Errorf("queued %v, granted %v", n.queued, n.granted)
	}
}

func TestLanesInOrderOfArrival(t *testing.T) {
	const s = time.Second
	over := entry("b", 50*s, 40*s)
	gone := entry("c", 45*s, 0)
	early := inspect.Contender{Name: "a", Since: ago(90 * s), State: inspect.Holding}
	l := &inspect.Lock{Holders: []inspect.Contender{entry("e", 30*s, 10*s)}, Waiters: []inspect.Contender{entry("d", 40*s, 0), entry("f", 5*s, 0)}}
	past := pastLock{
		spans: []inspect.Span{
			{Contender: "a", Queued: early.Since, Ended: ago(40 * s)},
			{Contender: "b", Queued: over.Since, Granted: over.HeldSince, Ended: ago(10 * s)},
			{Contender: "0", Queued: ago(200 * s), Granted: ago(190 * s), Ended: ago(180 * s)},
		},
		ended: []inspect.Event{
			{Kind: inspect.EventReleased, At: ago(40 * s), Contender: &early},
			{Kind: inspect.EventReleased, At: ago(10 * s), Contender: &over},
			{Kind: inspect.EventGone, At: ago(20 * s), Contender: &gone},
		},
	}
	var got []string
	for _, n := range lanesOf(l, past, noon) {
		got = append(got, fmt.Sprintf("%s present=%v early=%v left=%v overtaken=%d", n.contender.Name, n.present, n.early, n.left, len(n.overtaken)))
	}
	want := []string{
		"0 present=false early=false left=false overtaken=0", "a present=false early=true left=false overtaken=0",
		"b present=false early=false left=false overtaken=0", "c present=false early=false left=true overtaken=0",
		"d present=true early=false left=false overtaken=1", "e present=true early=false left=false overtaken=0",
		"f present=true early=false left=false overtaken=0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLanesOfAVeryLongQueue(t *testing.T) {
	t.Parallel()
	if n := len(lanesOf(veryLongQueue(), pastLock{}, noon)); n != 10_001 {
		t.Errorf("%d lanes", n)
	}
}

// The entry of a waiter on Redis may not tell since when it waits; when it was seen to come does.
func TestWaitWithoutAnEntryIsSeen(t *testing.T) {
	lock := id("redis:fair")
	waiter := inspect.Contender{Name: "w", State: inspect.Waiting}
	holder := inspect.Contender{Name: "w", State: inspect.Holding, HeldSince: ago(5 * time.Second)}
	var log eventLog
	var m laneMemory
	log.add([]inspect.Event{{Kind: inspect.EventWaiting, At: ago(30 * time.Second), Lock: lock, Contender: &waiter}})
	m.read(&log, lock)
	check := func(l *inspect.Lock, want time.Duration) {
		t.Helper()
		if n := lanesOf(l, pastLock{joined: m.joined}, noon)[0]; !n.queued.Equal(ago(30 * time.Second)) {
			t.Errorf("queued %v", n.queued)
		} else if d, ok := n.waited(noon); !ok || d != want {
			t.Errorf("waited %v %v, want %v", d, ok, want)
		}
	}
	check(&inspect.Lock{Waiters: []inspect.Contender{waiter}}, 30*time.Second)
	log.add([]inspect.Event{{Kind: inspect.EventAcquired, At: ago(5 * time.Second), Lock: lock, Contender: &holder}})
	m.read(&log, lock)
	check(&inspect.Lock{Holders: []inspect.Contender{holder}}, 25*time.Second)
}

// The picture moves by whole cells: between two of them nothing changes.
func TestWindowStandsStillWithinACell(t *testing.T) {
	w := windowTo(noon, 10*time.Minute, 100) // 6 s a cell
	for d := time.Duration(0); d < 6*time.Second; d += 100 * time.Millisecond {
		if got := windowTo(in(d), 10*time.Minute, 100); got != w {
			t.Fatalf("%v later: %v instead of %v", d, got, w)
		}
	}
	if got := windowTo(in(6*time.Second), 10*time.Minute, 100); got.from.Sub(w.from) != w.step {
		t.Errorf("it moved by %v", got.from.Sub(w.from))
	}
}

// drawn is a lane as text: a letter a cell.
func drawn(w window, l *lane, looked, now time.Time) string {
	var b strings.Builder
	for _, c := range w.draw(l, looked, now) {
		b.WriteByte(" |-:#^x<"[c])
	}
	return b.String()
}

// veryLongQueue has 10,000 waiters.
func veryLongQueue() *inspect.Lock {
	l := orders()
	first := l.Waiters[0]
	l.Waiters = nil
	for i := range 10_000 {
		c := first
		c.Name, c.Since = inspect.Untrusted(fmt.Sprint(i)), ago(time.Hour-time.Duration(i)*time.Millisecond)
		l.Waiters = append(l.Waiters, c)
	}
	return l
}
