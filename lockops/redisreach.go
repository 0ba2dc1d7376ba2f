package lockops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// reach is the context of one request to a master. The request's limit counts from when it is connected.
// Connecting has its own limit (WithRequestLimit).
type reach struct {
	context.Context
	master *master
	limit  time.Duration
	began  time.Time

	mu    sync.Mutex
	since time.Time // the limit counts from here
	until time.Time
}

func (m *master) reach(ctx context.Context, limit time.Duration) *reach {
	now := time.Now()
	r := &reach{Context: ctx, master: m, limit: limit, began: now, since: now, until: now.Add(limit)}
	if m.session.lent && m.unanswered() > 0 { // whether an adopted client has to connect is not seen
		r.until = r.until.Add(m.session.opts.limit)
	}
	return r
}

// Deadline implements context.Context. It moves on while a connection is made.
func (r *reach) Deadline() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.Context.Deadline(); ok && d.Before(r.until) {
		return d, true
	}
	return r.until, true
}

// reachKey finds a reach by its Value: clients wrap contexts.
type reachKey struct{}

// Value implements context.Context.
func (r *reach) Value(key any) any {
	if key == (reachKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// restart lets the limit count from now.
func (r *reach) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = time.Now()
	r.until = r.since.Add(r.limit)
}

// connect gives a step of the handshake the time that is left for connecting; the limit counts from its end.
func (r *reach) connect(step func() error) error {
	r.mu.Lock()
	r.until = r.began.Add(r.master.session.opts.limit)
	r.mu.Unlock()
	defer r.restart()
	return step()
}

// waited is for how long the request could not be sent: its connection was made, or its script was not known.
func (r *reach) waited() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since.Sub(r.began)
}

// took is how long the newest request took, from when it could be sent until it was answered or given up.
func (m *master) took() time.Duration { return time.Duration(m.newest.Load()) }

// done records the answer, or its absence, and how long that took.
func (r *reach) done(err error) {
	m, took := r.master, int64(time.Since(r.began)-r.waited())
	m.record(err)
	m.newest.Store(took)
	if least := m.least.Load(); answered(err) && (least == 0 || took < least) {
		m.least.Store(took)
	}
}

// connecting is done in the context of a request that needs a new connection.
func connecting(ctx context.Context, step func() error) error {
	if r, ok := ctx.Value(reachKey{}).(*reach); ok {
		return r.connect(step)
	}
	return step()
}

// greets reports whether go-redis sends a command to set a connection up.
func greets(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client":
		return true
	}
	return false
}

const (
	// tripsInTTL round trips have to fit into a TTL: the lock is taken and renewed, twice where an answer was lost.
	tripsInTTL = 4
	// tripsMeasured are timed before a TTL is refused.
	tripsMeasured = 3
	// limitMost bounds the wait for an answer where the options say nothing.
	limitMost = time.Second
)

// nearEnough returns an error when too few masters can answer in time for a lock. It measures before it says so.
func (s *RedisSession) nearEnough(ctx context.Context, o *options, key string) error {
	var far []*master
	for _, m := range s.masters {
		if m.far(o) != nil {
			far = append(far, m)
		}
	}
	if len(s.masters)-len(far) >= s.quorum() {
		return nil
	}
	answers := make(chan error, len(far))
	for _, m := range far {
		s.goDo(func() { answers <- m.measure(o, key) })
	}
	var bad []error
	for range far {
		select {
		case err := <-answers:
			if err != nil {
				bad = append(bad, err)
			}
		case <-ctx.Done():
			return because(ctx)
		}
	}
	if len(s.masters)-len(bad) >= s.quorum() {
		return nil
	}
	return nodeErrors(bad)
}

// measure times a few requests, until one is fast enough for a lock.
func (m *master) measure(o *options, key string) error {
	for range tripsMeasured {
		if _, err := m.readClock(key, m.session.opts.limit); err != nil || m.far(o) == nil {
			return nil
		}
	}
	return m.far(o)
}

// far returns an error while no answer of a master has come fast enough for a lock.
func (m *master) far(o *options) error {
	const step = 100 * time.Millisecond
	least, limit := time.Duration(m.least.Load()), o.limitMost()
	took := least.Round(time.Millisecond)
	switch {
	case least*tripsInTTL > o.ttl:
		would := (least * (tripsInTTL + 1)).Truncate(step) + step
		return m.failed(fmt.Errorf("TTL %v is %w: the fastest answer took %v (a TTL of %v would do)", o.ttl, ErrTooShort, took, would))
	case least > limit:
		return m.failed(fmt.Errorf("master limit %v is %w: the fastest answer took %v", limit, ErrTooShort, took))
	}
	return nil
}
