package inspect

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A process that stood still reports that before anything that it reads afterwards; one that was only busy does not.
func TestAttendedSourcesTellThatTheyStoodStill(t *testing.T) {
	for name, tt := range map[string]struct {
		stood   time.Duration
		updates bool // afterwards, at once
		gaps    int
	}{
		"stood still for half a minute":           {33 * time.Second, true, 1},
		"stood still, and nothing happened since": {33 * time.Second, false, 1},
		"was slow": {2 * time.Second, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ahead time.Duration // of the machine's clock before ours, which stood still
				a := attended{now: func() time.Time {
					mu.Lock()
					defer mu.Unlock()
					return time.Now().Add(ahead)
				}, every: attentionEvery}
				updates := make(chan Update)
				a.Source = script{updates}
				var got []Update
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() {
					ended <- a.Run(ctx, func(u Update) {
						got = append(got, u)
						mu.Lock()
						ahead += 10 * time.Second // whoever takes it is busy: that is no gap
						mu.Unlock()
					})
				}()
				updates <- Update{Backend: zkUp}
				time.Sleep(11 * time.Second)
				mu.Lock()
				ahead += tt.stood
				mu.Unlock()
				if tt.updates {
					updates <- Update{Gone: []ID{{"zk", "/l"}}}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				stop()
				<-ended
				gaps := 0
				for i, u := range got {
					if u.Gap == nil {
						continue
					}
					gaps++
					if i != 1 || u.Gap.Backend != "zk" || u.Gap.Until.Sub(u.Gap.From) < tt.stood || u.Gap.Until.Sub(u.Gap.From) > tt.stood+time.Second {
						t.Errorf("update %d is %+v", i, u.Gap)
					}
				}
				if gaps != tt.gaps {
					t.Errorf("%d gaps, want %d", gaps, tt.gaps)
				}
			})
		})
	}
}
