package redissource

import (
	"slices"
	"testing"
	"time"

	"lockscope/inspect"
)

// After a flush, of whichever database, a key that is gone went by that where nothing else was reported of it; else it was deleted, and
// how is unknown.
func TestAFlushIsToldFromADelete(t *testing.T) {
	const ms = time.Millisecond
	type step = func(w *watchedRun)
	at := func(after time.Duration, do step) step {
		return func(w *watchedRun) {
			for ; w.clock.Before(noon.Add(after)); w.attend() { // as its heartbeat does, all the time
				w.clock = w.clock.Add(min(time.Second, noon.Add(after).Sub(w.clock)))
			}
			do(w)
		}
	}
	pushed := func(w *watchedRun) { w.masters[0].inbox.add([]string{"lock:a"}); w.read() }
	flushed := func(w *watchedRun) { w.masters[0].inbox.addFlush(); w.read() }
	both := func(w *watchedRun) { w.masters[0].inbox.addFlush(); pushed(w) }
	asked := func(ago time.Duration, value inspect.Untrusted) step {
		return func(w *watchedRun) { w.answer(0, w.clock.Add(-ago), value) }
	}
	heard := func(w *watchedRun) { w.masters[0].inbox.hear(w.clock); w.read() }
	gone := func(ago time.Duration) step { return asked(ago, "") }
	rearmed := func(w *watchedRun) { w.push(pushState{armed: true}) }
	for name, tt := range map[string]struct {
		steps            []step
		flushed, unknown bool
	}{
		"deleted":                           {steps: []step{at(ms, pushed), at(3*ms, gone(ms))}},
		"flushed":                           {steps: []step{at(ms, flushed), at(3*ms, gone(ms))}, flushed: true},
		"taken in before that it was there": {steps: []step{at(ms, gone(0)), at(3*ms, flushed), asked(ms, "x"), at(5*ms, gone(ms))}, flushed: true},
		"waits beside the answer":           {steps: []step{at(3*ms, func(w *watchedRun) { w.masters[0].inbox.addFlush(); gone(ms)(w) })}, flushed: true},
		"told with it":                      {steps: []step{at(ms, both), at(3*ms, gone(ms))}, unknown: true},
		"told before":                       {steps: []step{at(ms, pushed), at(2*ms, flushed), at(4*ms, gone(ms))}, unknown: true},
		"told after it":                     {steps: []step{at(ms, flushed), at(2*ms, pushed), at(4*ms, gone(ms))}, unknown: true},
		"told before, and read since":       {steps: []step{at(ms, pushed), at(3*ms, asked(ms, "x")), at(4*ms, flushed), at(6*ms, gone(ms))}, flushed: true},
		"told while it was read":            {steps: []step{at(ms, pushed), at(4*ms, pushed), at(5*ms, asked(3*ms, "x")), at(6*ms, flushed), at(8*ms, gone(ms))}, unknown: true},
		"it stood, and was deleted":         {steps: []step{at(ms, flushed), at(3*ms, asked(ms, "x")), at(4*ms, pushed), at(6*ms, gone(ms))}},
		"answered just before it was told":  {steps: []step{at(3*ms, func(w *watchedRun) { flushed(w); w.clock = noon.Add(2 * ms); gone(ms)(w) })}, flushed: true},
		"answered, and taken in late":       {steps: []step{at(time.Second, func(w *watchedRun) { flushed(w); w.clock = noon.Add(2 * ms); gone(ms)(w) })}, flushed: true},
		"answered before a ping was":        {steps: []step{at(500*ms, heard), at(time.Second, func(w *watchedRun) { flushed(w); w.clock = noon.Add(2 * ms); gone(ms)(w) })}},
		"nobody told of it":                 {steps: []step{at(ms, rearmed), at(2*ms, flushed), at(4*ms, gone(ms))}, unknown: true},
		"nobody told of it since":           {steps: []step{at(ms, flushed), at(2*ms, rearmed), at(4*ms, gone(ms))}, unknown: true},
		"long ago":                          {steps: []step{at(ms, flushed), at(2*ms+flushedFor, gone(ms))}, unknown: true},
	} {
		w := newWatchedRun(t)
		for _, do := range slices.Concat(tt.steps, []step{gone(0)}) { // it is told for as long as the key is not there
			do(w)
		}
		if v := w.table.entries["lock:a"].votes[0]; v.Present || v.Flushed != tt.flushed || v.Evicted != tt.unknown {
			t.Errorf("%s: %+v", name, v)
		}
		w.clock = w.clock.Add(time.Second)
		w.flush(w.attend())
		w.answer(0, w.clock, "y")
		if v := w.table.entries["lock:a"].votes; v[0].Flushed || v[0].Evicted || v[1].Flushed || v[1].Evicted {
			t.Errorf("%s: it is there again: %+v", name, v)
		}
	}
}

// A flush of some database was pushed, and then a key is missed before all that was pushed is in: it may have been deleted by its name.
func TestAFlushIsNotToldForSureOfAKeyWhosePushesAreBehind(t *testing.T) {
	for name, unsure := range map[string][]int{"all is in": nil, "behind": {0}} {
		w := newWatchedRun(t)
		const ms = time.Millisecond
		w.clock = noon.Add(ms)
		w.masters[0].inbox.addFlush()
		w.read()
		w.clock = noon.Add(3 * ms)
		w.masters[0].busy = true
		w.report(report{master: 0, keys: []string{"lock:a"}, votes: []inspect.Vote{absent(0)}, asked: noon.Add(2 * ms), answered: w.clock, unsure: unsure})
		if v := w.table.entries["lock:a"].votes[0]; v.Flushed != (unsure == nil) || v.Evicted != (unsure != nil) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
