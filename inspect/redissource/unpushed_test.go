package redissource

import (
	"testing"
	"time"

	"lockscope/inspect"
)

// pushed has all masters of the run push, from noon on, with nothing left to read.
func (w *watchedRun) pushed() {
	for i, p := range w.masters {
		w.push(pushState{master: i, armed: true})
		p.server.State = inspect.ServerUp
		p.busy = false
		p.forgetReads()
	}
	w.answer(0, noon, "x")
	w.answer(1, noon, "x")
	w.emitted = nil
}

func (w *watchedRun) gap() *inspect.Gap {
	for _, u := range w.emitted {
		if u.Gap != nil {
			return u.Gap
		}
	}
	return nil
}

// A key that is not there any more was deleted as ever where a push says so, which may come after the count.
func TestAKeyThatIsGoneWasReplacedOnlyWhereNobodyPushedIt(t *testing.T) {
	for name, tt := range map[string]struct {
		pushed, heard, read, busy, lost bool
		want                            bool
	}{
		"nobody pushed it":                       {heard: true, want: true},
		"its push is on its way":                 {},
		"its push came after the count":          {pushed: true, heard: true},
		"it was read since":                      {read: true, heard: true},
		"what was pushed before is being read":   {busy: true, heard: true},
		"nothing is pushed any more: all is new": {lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedRun(t)
			w.pushed()
			p, second := w.masters[0], noon.Add(time.Second)
			w.clock = second
			w.counted(counted{asked: second, answered: second, last: true}) // all are there
			if p.soundAt != second {
				t.Fatalf("sound at %v", p.soundAt)
			}
			asked := noon.Add(1500 * time.Millisecond)
			w.clock = asked.Add(100 * time.Millisecond)
			p.sample = []string{"lock:a"}
			p.busy, p.askedAt = tt.busy, asked.Add(time.Second)
			w.counted(counted{gone: []string{"lock:a"}, asked: asked, answered: w.clock})
			w.counted(counted{asked: asked, answered: w.clock, last: true})
			if p.wanted["lock:a"] {
				t.Error("it is read before it is known how its end is to be dated")
			}
			w.clock = w.clock.Add(time.Second)
			if tt.read {
				w.answer(0, w.clock, "x")
			}
			if tt.pushed {
				p.inbox.add([]string{"lock:a"})
			}
			if tt.heard {
				p.inbox.hear(w.clock.Add(-time.Millisecond))
			}
			w.read()
			if tt.lost {
				w.push(pushState{master: 0, err: errLost})
			}
			switch gap := w.gap(); {
			case (gap != nil) != tt.want:
				t.Errorf("gap %+v", gap)
			case tt.want && (!gap.From.Equal(second) || !gap.Until.Equal(w.clock)):
				t.Errorf("gap %+v, want it from %v", gap, second)
			}
			if judged := tt.heard && !tt.busy || tt.lost; p.wanted["lock:a"] != judged {
				t.Errorf("wanted %v", p.wanted)
			}
			if tt.want && !w.table.entries["lock:a"].unwatched[0] {
				t.Error("what changed is dated as of now")
			}
			if tt.busy {
				w.answer(0, second, "y") // it was released, and had another holder
				if w.gap() != nil || !p.wanted["lock:a"] {
					t.Errorf("gap %+v, wanted %v", w.gap(), p.wanted)
				}
			}
		})
	}
}

// Databases that changed places are counted by the server, and reported once.
func TestSwapsAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second int64
		reported      bool // the second time
		known, polled bool
		another       bool // server
		want          bool
	}{
		"none":                           {first: 3, second: 3, reported: true},
		"one":                            {first: 3, second: 4, reported: true, want: true},
		"one that was noticed":           {first: 3, second: 4, reported: true, known: true},
		"one more than was noticed":      {first: 3, second: 5, reported: true, known: true, want: true},
		"counted from zero":              {first: 3, second: 0, reported: true},
		"one, counted from zero":         {first: 3, second: 1, reported: true, want: true},
		"it does not tell any more":      {first: 3},
		"another server's":               {first: 3, second: 4, reported: true, another: true},
		"what is polled, is read anyway": {first: 3, second: 4, reported: true, polled: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedRun(t)
			w.pushed()
			p := w.masters[0]
			status := func(swaps int64, reported bool, id string) {
				w.clock = w.clock.Add(time.Second)
				st := status{runID: id}
				if reported {
					st.swaps, st.swapsAt = swaps, w.clock
				}
				w.status(statusReport{status: st})
			}
			status(tt.first, true, "a")
			first := w.clock
			if gap := w.gap(); gap != nil {
				t.Fatalf("at the first count: %+v", gap)
			}
			p.pushing = !tt.polled
			if tt.known {
				p.known = 1
			}
			status(tt.second, tt.reported, map[bool]string{false: "a", true: "b"}[tt.another])
			switch gap := w.gap(); {
			case (gap != nil) != tt.want:
				t.Errorf("gap %+v", gap)
			case gap != nil && (!gap.From.Equal(first) || !gap.Until.Equal(w.clock)):
				t.Errorf("gap %+v, want it from %v", gap, first)
			}
		})
	}
}

// A master that does not push is counted every two seconds: it is not asked about itself each time.
func TestACountOfAPolledMasterAsksNothingMore(t *testing.T) {
	for _, pushing := range []bool{false, true} {
		w := newWatchedRun(t)
		w.pushed()
		p := w.masters[0]
		p.pushing = pushing
		for len(p.restart) > 0 {
			<-p.restart
		}
		w.counted(counted{asked: noon, answered: noon, last: true})
		if asked := len(p.restart) > 0; asked != pushing || p.sampleDue != pushing {
			t.Errorf("pushing %v: its status is asked for: %v, a sample is due: %v", pushing, asked, p.sampleDue)
		}
	}
}

// Commands that failed did nothing.
func TestCallsThatFailedDoNotCount(t *testing.T) {
	counts := "# Commandstats\r\ncmdstat_swapdb:calls=5,usec=20,usec_per_call=4.00,rejected_calls=7,failed_calls=2\r\ncmdstat_get:calls=3,usec=1,usec_per_call=0.33\r\n"
	if a, b, c := calls(counts, "swapdb"), calls(counts, "get"), calls(counts, "set"); a != 3 || b != 3 || c != 0 {
		t.Errorf("%d, %d, %d", a, b, c)
	}
}

// A count that was asked for before databases were seen to have changed places may come after that: what is known of it is for the next.
func TestACountThatWasOnItsWayUsesUpNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		onItsWay, next int64
		want           bool
	}{
		"it was without the swap":                  {3, 4, false},
		"it was without it, and there was another": {3, 5, true},
		"it had the swap":                          {4, 4, false},
		"it had it, and there was another":         {4, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedRun(t)
			w.pushed()
			p := w.masters[0]
			status := func(at time.Duration, swaps int64) {
				w.status(statusReport{status: status{runID: "a", swaps: swaps, swapsAt: noon.Add(at)}})
			}
			status(time.Second, 3)
			w.clock = noon.Add(3 * time.Second)
			p.heard = w.clock
			p.missed = &counted{gone: []string{"lock:a"}, asked: noon.Add(2 * time.Second), answered: noon.Add(2 * time.Second)}
			w.judgeMissed(p)
			if w.gap() == nil || p.known != 1 {
				t.Fatalf("known %d, gap %+v", p.known, w.gap())
			}
			w.emitted = nil
			status(1500*time.Millisecond, tt.onItsWay)
			status(4*time.Second, tt.next)
			if gap := w.gap(); (gap != nil) != tt.want {
				t.Errorf("gap %+v", gap)
			}
		})
	}
}

// Two that were noticed by what they did are two in the count.
func TestSwapsThatWereNoticedAddUp(t *testing.T) {
	w := newWatchedRun(t)
	w.pushed()
	p := w.masters[0]
	for i := range 2 {
		asked := noon.Add(time.Duration(i+1) * time.Second)
		w.clock, p.heard = asked.Add(time.Second), asked.Add(time.Second)
		p.missed = &counted{gone: []string{"lock:a"}, asked: asked, answered: asked}
		w.judgeMissed(p)
		p.forgetReads()
	}
	if p.known != 2 {
		t.Errorf("known %d", p.known)
	}
}

// The counts begin anew (CONFIG RESETSTAT), and so many swaps follow that there seem to be none: other counts show it.
func TestCountsThatBeganAnewAreNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		swaps int64
		calls string
		want  bool
	}{
		"as many as before":       {3, "cmdstat_get:calls=1,usec=1\r\ncmdstat_swapdb:calls=3,usec=1\r\n", true},
		"more than before":        {5, "cmdstat_swapdb:calls=5,usec=1\r\n", true},
		"none":                    {0, "cmdstat_get:calls=1,usec=1\r\n", false},
		"they did not begin anew": {3, "cmdstat_get:calls=9,usec=1\r\ncmdstat_swapdb:calls=3,usec=1\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedRun(t)
			w.pushed()
			status := func(at time.Duration, swaps int64, calls string) {
				w.status(statusReport{status: status{runID: "a", swaps: swaps, swapsAt: noon.Add(at), calls: allCalls(calls)}})
			}
			status(time.Second, 3, "cmdstat_get:calls=9,usec=1\r\ncmdstat_swapdb:calls=3,usec=1\r\n")
			status(2*time.Second, tt.swaps, tt.calls)
			if gap := w.gap(); (gap != nil) != tt.want {
				t.Errorf("gap %+v", gap)
			}
		})
	}
}
