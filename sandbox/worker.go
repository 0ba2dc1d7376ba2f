package sandbox

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/lockscope/lockscope/lockops"
)

// span is the shortest and longest value of a random time.
type span struct{ low, high time.Duration }

// worker is a scripted client. Its times come from the seed and its name alone, so that they are the same in every run.
type worker struct {
	*Sandbox
	name   string
	random *rand.Rand
}

func (s *Sandbox) worker(name string) *worker {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &worker{s, name, rand.New(rand.NewPCG(s.seed, h.Sum64()))}
}

// between returns a random time.
func (w *worker) between(t span) time.Duration {
	if t.high <= t.low {
		return t.low
	}
	return t.low + time.Duration(w.random.Int64N(int64(t.high-t.low)))
}

// pauseFor waits for a random time, and reports whether the sandbox continues.
func (w *worker) pauseFor(ctx context.Context, t span) bool { return pause(ctx, w.between(t)) }

// job is a lock that workers take and release repeatedly.
type job struct {
	// lock is the id of the lock, as the screen shows it.
	lock        string
	work, think span
}

// contend takes the lock, works, releases it and thinks, repeatedly. After a failure it thinks and
// tries again, as clients do.
func (w *worker) contend(ctx context.Context, lock lockops.Locker, j job) {
	for w.pauseFor(ctx, j.think) {
		hold, err := lock.Acquire(ctx)
		if err != nil {
			continue
		}
		w.workUnder(ctx, hold, j.lock, j.work)
		release(hold)
	}
}

// workUnder works for a time, and for as long as the lock's holder is frozen; it ends when the lock is lost.
func (w *worker) workUnder(ctx context.Context, hold *lockops.Hold, lock string, t span) {
	work, stop := context.WithCancel(hold.Context())
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	if !pause(work, w.between(t)) {
		return
	}
	select {
	case <-w.thawed(lock):
	case <-work.Done():
		w.Thaw(lock) // the next holder is another process
	}
}

// takeBoth repeatedly takes one lock, works, and waits for a second lock while it holds the first.
// It gives up when the first is lost.
func (w *worker) takeBoth(ctx context.Context, first, then lockops.Locker, j job) {
	for {
		if one, err := first.Acquire(ctx); err == nil {
			own, stop := context.WithCancel(one.Context())
			end := context.AfterFunc(ctx, stop)
			if w.pauseFor(own, j.work) {
				if two, err := then.Acquire(own); err == nil {
					pause(own, 3*time.Second)
					release(two)
				}
			}
			end()
			stop()
			release(one)
		}
		if !w.pauseFor(ctx, j.think) {
			return
		}
	}
}

// redsync writes locks the way redsync does, by raw commands: the same random base64 value on every master, no renewal,
// released before it runs out.
func (w *worker) redsync(ctx context.Context, key string, ttl time.Duration, j job) {
	for n := 0; ctx.Err() == nil; n++ {
		w.vote(&rawVote{Lock: j.lock, Owner: fmt.Sprint(w.name, n), TTL: ttl})
		held := w.pauseFor(ctx, j.work)
		for _, m := range w.masters {
			m.Del(key)
		}
		if !held || !w.pauseFor(ctx, j.think) {
			return
		}
	}
}

// release frees a lock, even while the sandbox is ending.
func release(hold *lockops.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = hold.Release(ctx) // if it is lost or unreachable, it expires
}
