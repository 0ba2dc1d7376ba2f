package zkwire

import (
	"testing"
	"testing/synctest"
	"time"
)

// Fast events are read in batches, slow ones at once. A caller that waits for an answer, or for one
// event, does not wait for others.
func TestFastEventsAreBatched(t *testing.T) {
	t.Parallel()
	const events = 4 * manyFast
	for name, tt := range map[string]struct {
		apart, want time.Duration // want is the time to read all
		pending     bool
	}{
		"fast":                                {apart: gathered / 10, want: manyFast*gathered/10 + (events-manyFast-2)*gathered},
		"fast, while a request is unanswered": {apart: gathered / 10, want: events * gathered / 10, pending: true},
		"slowly":                              {apart: 2 * gathered, want: events * 2 * gathered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withSession(t)
				time.Sleep(time.Second) // since the greeting
				if tt.pending {
					w.request()
				}
				start := time.Now()
				for range events { // each event is read before the next can be written
					time.Sleep(tt.apart)
					w.answer(xidEvent)
				}
				if took := time.Since(start); took < tt.want-gathered || took > tt.want+2*gathered {
					t.Errorf("read within %v, want %v", took, tt.want)
				}
				time.Sleep(gathered)
				w.conn.Close()
				synctest.Wait()
			})
		})
	}
}
