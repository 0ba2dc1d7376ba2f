package sandbox

import (
	"context"
	"time"

	"lockscope/lockops"
)

// span is the shortest and longest of a random time.
type span struct{ low, high time.Duration }

// contend takes the lock, works, gives it back and thinks, again and again. A failure is a thing that happens to
// clients: it thinks and tries again.
func (s *Sandbox) contend(ctx context.Context, lock lockops.Locker, work, think span) {
	for pause(ctx, s.between(think.low, think.high)) {
		hold, err := lock.Acquire(ctx)
		if err != nil {
			continue
		}
		workUnder(ctx, hold, s.between(work.low, work.high))
		release(hold)
	}
}

// workUnder works for a time, or until the lock is lost or ctx ends.
func workUnder(ctx context.Context, hold *lockops.Hold, d time.Duration) {
	work, stop := context.WithTimeout(hold.Context(), d)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	<-work.Done()
}

// release gives a lock back, also when the sandbox is ending.
func release(hold *lockops.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = hold.Release(ctx) // lost or unreachable: it runs out by itself
}
