package contend

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// spread is a histogram of times from a microsecond to an hour, with an error of one percent, in 30 KB.
type spread struct {
	histogram *hdrhistogram.Histogram // µs
	max       time.Duration
}

func newSpread() spread { return spread{histogram: hdrhistogram.New(1, time.Hour.Microseconds(), 2)} }

func (s *spread) add(d time.Duration) {
	s.max = max(s.max, d)
	_ = s.histogram.RecordValue(min(max(d, 0), time.Hour).Microseconds()) // fails only outside of its range
}

// copy is made under a lock, so that the quantiles can be computed after it.
func (s *spread) copy() spread { return spread{hdrhistogram.Import(s.histogram.Export()), s.max} }

func (s *spread) quantiles() Quantiles {
	at := func(percent float64) time.Duration {
		return min(time.Duration(s.histogram.ValueAtPercentile(percent))*time.Microsecond, s.max)
	}
	return Quantiles{Count: uint64(s.histogram.TotalCount()), P50: at(50), P99: at(99), Max: s.max}
}
