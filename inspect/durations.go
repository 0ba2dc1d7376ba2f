package inspect

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// durations counts how long something took: exactly while there are few, and then, from 1 ms to a day, with one
// significant figure.
type durations struct {
	few  []uint32 // milliseconds
	many *hdrhistogram.Histogram
	max  time.Duration
}

const (
	fewDurations = 32
	longestSpan  = 24 * time.Hour
)

func (d *durations) add(took time.Duration) {
	took = max(0, took)
	d.max = max(d.max, took)
	ms := min(took, longestSpan).Milliseconds()
	if d.many == nil && len(d.few) < fewDurations {
		d.few = append(d.few, uint32(ms))
		return
	}
	if d.many == nil {
		d.many = hdrhistogram.New(1, longestSpan.Milliseconds(), 1)
		for _, v := range d.few {
			_ = d.many.RecordValue(int64(v)) // within the range
		}
		d.few = nil
	}
	_ = d.many.RecordValue(ms)
}

func (d *durations) spans() Spans {
	s := Spans{Max: d.max}
	if d.many != nil {
		s.Count = int(d.many.TotalCount())
		s.P50 = time.Duration(d.many.ValueAtQuantile(50)) * time.Millisecond
		s.P99 = time.Duration(d.many.ValueAtQuantile(99)) * time.Millisecond
	} else if s.Count = len(d.few); s.Count > 0 {
		sorted := slices.Sorted(slices.Values(d.few))
		at := func(percent int) time.Duration { // nearest rank
			return time.Duration(sorted[(len(sorted)*percent+99)/100-1]) * time.Millisecond
		}
		s.P50, s.P99 = at(50), at(99)
	}
	s.P50, s.P99 = min(s.P50, s.Max), min(s.P99, s.Max) // a histogram gives the end of a value's class
	return s
}
