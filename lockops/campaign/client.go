//go:build unix

package campaign

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lockscope/lockscope/lockops"
)

// client is one goroutine of a worker that uses locks.
type client struct {
	*worker
	number  int
	random  *rand.Rand
	lockers [][]lockops.Locker // of each lock in the Config, by kind
}

func (c *client) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.attempt(ctx)
		if c.random.IntN(3) == 0 {
			c.pause(ctx, 4*time.Millisecond)
		}
	}
}

// pause waits for a random time with the given mean.
func (c *client) pause(ctx context.Context, mean time.Duration) {
	select {
	case <-time.After(time.Duration(c.random.ExpFloat64() * float64(mean))):
	case <-ctx.Done():
	}
}

// chance returns true once in n times.
func (c *client) chance(n int) bool { return c.random.IntN(n) == 0 }

// attempt acquires a lock and works under it.
func (c *client) attempt(ctx context.Context) {
	i := c.random.IntN(len(c.cfg.Locks))
	lock := c.cfg.Locks[i]
	kind := c.random.IntN(len(lock.Kinds))
	locker := c.lockers[i][kind]
	r := Record{Op: OpAcquire, Client: c.number, Lock: lock.Name, Kind: lock.Kinds[kind], Hold: c.holds.Add(1)}
	ask := locker.Acquire
	wait := 3 * time.Second
	switch c.random.IntN(10) {
	case 0, 1:
		r.Op, ask = OpTry, locker.TryAcquire
	case 2, 3: // give up soon, at any step
		wait = time.Duration(c.random.Int64N(int64(20 * time.Millisecond)))
	case 4: // a long wait, which shows lost wake-ups
		wait = time.Minute
	}
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errIdle)
	defer cancel()
	c.report.Add(r)
	h, err := ask(waiting)
	if err != nil {
		r.Op, r.Err = OpRefused, err.Error()
		c.report.Add(r)
		return
	}
	c.hold(r, h, lock, locker)
}

// hold works under a lock.
func (c *client) hold(r Record, h *lockops.Hold, lock Lock, locker lockops.Locker) {
	granted := Now()
	if err := context.Cause(h.Context()); err != nil { // lost before this call
		r.Op, r.Err = OpRefused, err.Error()
		c.report.Add(r)
		return
	}
	r.Op, r.Name = OpGranted, h.Name()
	if !c.cfg.Deaf {
		ended := r
		ended.Op, ended.Name = OpEnded, ""
		c.reporting.Add(1)
		context.AfterFunc(h.Context(), func() {
			defer c.reporting.Done()
			if err := context.Cause(h.Context()); !errors.Is(err, lockops.ErrReleased) {
				ended.Err = err.Error()
				c.report.Add(ended)
			}
		})
	}
	token, fenced := h.Token()
	r.At, r.Token = granted, token
	c.report.Add(r)
	r.At, r.Name, r.Token = 0, "", 0
	read := int64(-1)
	store := c.cfg.store(r.Lock)
	if fenced && lock.Rule.Permits == 1 && r.Kind != lock.Rule.Readers {
		read = c.read(r, store, token)
	}
	c.use(r, h, locker)
	if read >= 0 {
		c.write(r, store, token, read+1)
	}
	r.Op, r.Err = OpRelease, ""
	c.report.Add(r)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r.Op, r.Err = OpReleased, errText(h.Release(ctx))
	c.report.Add(r)
}

// use keeps the lock for a while, sometimes longer than the lease, and extends or re-enters it.
func (c *client) use(r Record, h *lockops.Hold, locker lockops.Locker) {
	inside := h.Context()
	if c.cfg.Deaf {
		inside = context.WithoutCancel(inside)
	}
	mean := cmp.Or(c.cfg.Mean, 2*time.Millisecond)
	if c.chance(100) {
		mean = c.cfg.TTL
	}
	c.pause(inside, mean)
	if c.chance(8) {
		ctx, cancel := context.WithTimeout(inside, time.Second)
		r.Op = OpExtend
		c.report.Add(r)
		r.Op, r.Err = OpExtended, errText(h.Extend(ctx))
		c.report.Add(r)
		cancel()
	}
	if c.chance(8) {
		ctx, cancel := context.WithTimeout(h.Context(), time.Second)
		defer cancel()
		inner, err := locker.Acquire(ctx)
		if err == nil {
			c.pause(inner.Context(), time.Millisecond)
			err = inner.Release(ctx)
		}
		r.Op, r.Err = OpEntered, errText(err)
		c.report.Add(r)
	}
}

func (c *client) read(r Record, s Store, token uint64) int64 {
	value, seq, err := s.Read(token)
	r.Op, r.Token, r.Value, r.Seq, r.Err = OpRead, token, value, seq, errText(err)
	c.report.Add(r)
	if err != nil {
		return -1
	}
	return value
}

func (c *client) write(r Record, s Store, token uint64, value int64) {
	seq, err := s.Write(token, value)
	r.Op, r.Token, r.Value, r.Seq, r.Err = OpWrote, token, value, seq, errText(err)
	c.report.Add(r)
}
