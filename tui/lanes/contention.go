package lanes

import (
	"slices"
	"time"
)

// Contention holds the mean number of waiters and holders in each cell of a window; negative if
// unknown.
type Contention struct{ Waiting, Holding []float64 }

// Contention of the lanes of a lock. Times before known and after now are unknown.
func (w Window) Contention(lanes []*Lane, known, now time.Time) Contention {
	c := Contention{make([]float64, w.Cells), make([]float64, w.Cells)}
	for _, l := range lanes {
		end := l.Ended
		if l.Present {
			end = now
		}
		granted, queued := l.Granted, l.Queued
		if l.early || queued.IsZero() {
			queued = l.since(known) // all the time that we saw it
		}
		switch {
		case l.Waits() || l.Left:
			w.spread(c.Waiting, queued, end, known)
			continue
		case l.early:
			granted = queued
		case !l.Queued.IsZero():
			w.spread(c.Waiting, queued, granted, known)
		}
		if !l.unseenEnd && !granted.IsZero() {
			w.spread(c.Holding, granted, end, known)
		}
	}
	for i := range w.Cells {
		from, to := w.From.Add(w.Step*time.Duration(i)), w.From.Add(w.Step*time.Duration(i+1))
		if from.Before(known) {
			from = known
		}
		if to.After(now) {
			to = now
		}
		if part := float64(to.Sub(from)) / float64(w.Step); part > 0 {
			c.Waiting[i], c.Holding[i] = c.Waiting[i]/part, c.Holding[i]/part
		} else {
			c.Waiting[i], c.Holding[i] = -1, -1
		}
	}
	return c
}

// spread adds to each cell the fraction of it between two instants, but not before least.
func (w Window) spread(cells []float64, from, to, least time.Time) {
	if least.Before(w.From) {
		least = w.From
	}
	if from.Before(least) {
		from = least
	}
	if end := w.End(); to.After(end) {
		to = end
	}
	for at := from; at.Before(to); {
		i := w.at(at)
		next := w.From.Add(w.Step * time.Duration(i+1))
		if next.After(to) {
			next = to
		}
		cells[i] += float64(next.Sub(at)) / float64(w.Step)
		at = next
	}
}

// Summary is the largest mean, and the fraction of the known time with any waiters; 0 if nothing
// is known.
func Summary(cells []float64) (most, share float64) {
	known := 0
	for _, v := range cells {
		if v >= 0 {
			known++
			most, share = max(most, v), share+min(1, v)
		}
	}
	return most, share / float64(max(1, known))
}

// Ended returns the lengths of waits that ended with a grant, and of finished holds, the shortest
// first. It only includes those with two known ends, as the lock's history does.
func Ended(lanes []*Lane, now time.Time) (waits, holds []time.Duration) {
	for _, l := range lanes {
		if d, ok := l.waited(now); ok && !l.Waits() && !l.Left {
			waits = append(waits, d)
		}
		if d, ok := l.held(now); ok && !l.Present && !l.near {
			holds = append(holds, d)
		}
	}
	slices.Sort(waits)
	slices.Sort(holds)
	return waits, holds
}

// Histogram counts durations in classes of growing width.
type Histogram struct {
	// From is the minimum duration of each class, Counts the number of durations in it.
	From   []time.Duration
	Counts []int
}

// NewHistogram counts durations in at most that many fixed classes. The last has no upper bound.
func NewHistogram(sorted []time.Duration, most int) Histogram {
	from := fineClasses
	if most < len(from) {
		from = coarseClasses[:min(max(1, most), len(coarseClasses))]
	}
	h := Histogram{from, make([]int, len(from))}
	for _, d := range sorted {
		at, found := slices.BinarySearch(from, d)
		if !found {
			at--
		}
		h.Counts[at]++
	}
	return h
}

const ms = time.Millisecond

var coarseClasses = []time.Duration{
	0, ms, 10 * ms, 100 * ms, 500 * ms, 2 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute,
}

var fineClasses = []time.Duration{
	0, ms, 3 * ms, 10 * ms, 30 * ms, 100 * ms, 300 * ms, time.Second, 3 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute,
}

// Percentile of sorted durations, by the nearest rank.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
