package inspect_test

import (
	"slices"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/finding"
)

// The beat with the real rules over 100 000 locks of ten contenders each: its share of a core, the longest of 99 in 100
// beats, for which publishing waits, and how long until each lock is looked at again.
func BenchmarkBeatOfAllRules(b *testing.B) {
	for name, stuckAfter := range map[string]time.Duration{"calm": 24 * time.Hour, "all stuck": time.Minute} {
		b.Run(name, func(b *testing.B) {
			o := inspect.ManyLocks(b, 100_000)
			o.Diagnose(finding.Rules(), stuckAfter)
			at, laps := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), 0
			for !o.Beat(at) { // the first time the findings come
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if o.Beat(at) {
					laps++
				}
				took = append(took, time.Since(began))
				at = at.Add(inspect.BeatEvery)
			}
			slices.Sort(took)
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(inspect.BeatEvery)*100, "%core")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "ms/p99")
			b.ReportMetric(float64(b.N)/float64(max(1, laps))*inspect.BeatEvery.Seconds(), "s/lap")
		})
	}
}
