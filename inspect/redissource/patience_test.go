package redissource

import (
	"testing"
	"time"
)

// A connection is lost where its server answers elsewhere and nothing comes here; one of a server that answers nowhere is waited for.
func TestPatienceTellsALateServerFromALostConnection(t *testing.T) {
	type beat struct {
		at, oldest, answered time.Duration // answered: when what was answered elsewhere was sent; oldest: -1 for none
		ask, lost            bool
	}
	const ms = time.Millisecond
	for name, beats := range map[string][]beat{
		"every ping is answered":       {{at: 500 * ms, oldest: -1}, {at: 1000 * ms, oldest: 500 * ms}, {at: 1500 * ms, oldest: -1}},
		"the server stands still":      {{at: 1000 * ms, oldest: 100 * ms}, {at: 1500 * ms, oldest: 100 * ms, ask: true}, {at: 2000 * ms, oldest: 100 * ms}, {at: 9000 * ms, oldest: 100 * ms, answered: 90 * ms}},
		"it goes on, and answers both": {{at: 1500 * ms, ask: true}, {at: 2000 * ms, answered: 1600 * ms}, {at: 2500 * ms, oldest: -1, answered: 1600 * ms}, {at: 3900 * ms, oldest: 3000 * ms, answered: 1600 * ms}},
		"the connection is lost":       {{at: 1500 * ms, ask: true}, {at: 2000 * ms, answered: 1600 * ms}, {at: 2500 * ms, answered: 1600 * ms}, {at: 3000 * ms, answered: 1600 * ms, lost: true}},
		"late once more":               {{at: 1500 * ms, ask: true}, {at: 2000 * ms, answered: 1600 * ms}, {at: 3100 * ms, oldest: 2000 * ms, answered: 1600 * ms, ask: true}, {at: 3600 * ms, oldest: 2000 * ms, answered: 1600 * ms}},
		"we stood still: what was answered since is what was asked before": {{at: 40_000 * ms, oldest: 500 * ms, answered: 600 * ms, ask: true}, {at: 40_100 * ms, oldest: 500 * ms, answered: 40_050 * ms}, {at: 40_600 * ms, oldest: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			w := patience{limit: time.Second}
			for _, b := range beats {
				var oldest time.Time
				if b.oldest >= 0 {
					oldest = start.Add(b.oldest)
				}
				if ask, lost := w.beat(start.Add(b.at), oldest, start.Add(b.answered)); ask != b.ask || lost != b.lost {
					t.Errorf("at %v: ask %v, lost %v", b.at, ask, lost)
				}
			}
		})
	}
}
