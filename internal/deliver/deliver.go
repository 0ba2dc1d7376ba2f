// Package deliver hands messages to a receiver that may be slow, failing or gone. Who puts them never waits.
package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Message is the newest news about something.
type Message struct {
	// Key of what it is about. A message takes the place of one with the same key that was not delivered yet.
	Key string
	// Level of the news: 0, it is over; above, the higher the worse.
	Level int
	// Body: the bytes for the receiver.
	Body []byte
	// Env are variables, NAME=VALUE, for a receiver that is a program.
	Env []string
}

// ErrRefused is wrapped by the error of a receiver that will not take a message however often it is sent.
var ErrRefused = errors.New("refused")

// Limits of a queue; each is above 0.
type Limits struct {
	// Waiting is the most messages that wait. One that would be more is dropped, and that is reported.
	Waiting int
	// Within is the time for one delivery.
	Within time.Duration
	// Again is the pause before the second attempt; it doubles with each, up to Pause.
	Again, Pause time.Duration
	// Patience: a message is tried for this time before it is given up.
	Patience time.Duration
	// Grace: the time for the last deliveries when the queue is to end.
	Grace time.Duration
}

// DefaultLimits bear a receiver that is gone for a quarter of an hour.
func DefaultLimits() Limits {
	return Limits{
		Waiting: 1000, Within: 10 * time.Second, Again: time.Second, Pause: time.Minute,
		Patience: 15 * time.Minute, Grace: 5 * time.Second,
	}
}

// Queue delivers messages one at a time. Of what is known already (the same level, or a lower one, of the same key) nothing is
// delivered again before it was over; what came and was over before it could be delivered is not reported at all.
type Queue struct {
	limits Limits
	send   func(context.Context, Message) error
	report func(format string, args ...any)

	mu      sync.Mutex
	waiting []waiting      // at most one of a key
	known   map[string]int // levels above 0 that the receiver knows; of what is being sent, as if it had arrived
	dropped int
	wake    chan struct{}
}

type waiting struct {
	Message
	since time.Time
}

// New makes a queue that delivers by send, and says by report what could not be delivered. Run it.
func New(limits Limits, send func(context.Context, Message) error, report func(format string, args ...any)) *Queue {
	return &Queue{limits: limits, send: send, report: report, known: make(map[string]int), wake: make(chan struct{}, 1)}
}

// Offer has a message delivered. It does not wait.
func (q *Queue) Offer(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.known[m.Key]
	at := slices.IndexFunc(q.waiting, func(w waiting) bool { return w.Key == m.Key })
	switch news := m.Level == 0 && known > 0 || m.Level > known; {
	case !news && at >= 0 && (m.Level == 0 || q.waiting[at].Level == 0):
		q.waiting = slices.Delete(q.waiting, at, at+1) // as the receiver knows it again
	case !news:
	case at >= 0 && (m.Level == 0 || m.Level >= q.waiting[at].Level):
		q.waiting[at].Message = m
	case at >= 0:
	case len(q.waiting) == q.limits.Waiting:
		q.drop(m)
	default:
		q.waiting = append(q.waiting, waiting{m, time.Now()})
		select {
		case q.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// drop counts a message that is not delivered, and has the next one of its key delivered whatever it says.
func (q *Queue) drop(m Message) {
	q.dropped++
	if m.Level == 0 {
		delete(q.known, m.Key)
	}
}

// Run delivers until ctx ends, then for at most Grace what still waits.
func (q *Queue) Run(ctx context.Context) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-life.Done():
		case <-time.After(q.limits.Grace):
			end()
		}
	})()
	failures := 0
	for life.Err() == nil {
		w, ok := q.next(ctx)
		if !ok {
			break
		}
		err := q.attempt(life, w)
		q.reportDropped()
		if err == nil {
			if failures > 0 {
				q.report("delivered again, after %d failed attempts", failures)
			}
			failures = 0
			continue
		}
		if failures++; failures == 1 && !errors.Is(err, ErrRefused) {
			q.report("not delivered yet: %v", err)
		}
		if ctx.Err() != nil || !q.pause(ctx, failures) && life.Err() != nil {
			break
		}
	}
	q.mu.Lock()
	left := len(q.waiting)
	q.mu.Unlock()
	if left > 0 {
		q.report("%d left undelivered", left)
	}
	q.reportDropped()
}

// next takes out the oldest message, and waits for one until ctx ends; false: there is none, and ctx has ended.
func (q *Queue) next(ctx context.Context) (waiting, bool) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			w := q.waiting[0]
			q.waiting = slices.Delete(q.waiting, 0, 1)
			q.mu.Unlock()
			return w, true
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
			return waiting{}, false
		}
	}
}

// attempt sends a message once. One that fails waits again, ahead of the others, unless there is newer news or it is given up.
func (q *Queue) attempt(ctx context.Context, w waiting) error {
	q.mu.Lock()
	before := q.known[w.Key]
	q.know(w.Key, w.Level)
	q.mu.Unlock()
	limited, cancel := context.WithTimeoutCause(ctx, q.limits.Within, fmt.Errorf("not done in %v", q.limits.Within))
	defer cancel()
	err := q.send(limited, w.Message)
	if err == nil {
		return nil
	}
	if context.Cause(limited) != nil {
		err = context.Cause(limited)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.know(w.Key, before)
	given := errors.Is(err, ErrRefused) || time.Since(w.since) >= q.limits.Patience
	at := slices.IndexFunc(q.waiting, func(other waiting) bool { return other.Key == w.Key })
	switch {
	case given:
		q.report("given up: %v", err)
		if w.Level == 0 {
			delete(q.known, w.Key)
		}
	case at < 0:
		q.waiting = slices.Insert(q.waiting, 0, w)
	case q.waiting[at].Level == 0 && before == 0:
		q.waiting = slices.Delete(q.waiting, at, at+1) // nobody heard of it
	}
	return err
}

func (q *Queue) know(key string, level int) {
	if level == 0 {
		delete(q.known, key)
	} else {
		q.known[key] = level
	}
}

// pause waits before the next attempt after some failed ones; false when ctx ends first.
func (q *Queue) pause(ctx context.Context, failures int) bool {
	again := q.limits.Again
	for i := 1; i < failures && again < q.limits.Pause; i++ {
		again *= 2
	}
	timer := time.NewTimer(min(again, q.limits.Pause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (q *Queue) reportDropped() {
	q.mu.Lock()
	dropped := q.dropped
	q.dropped = 0
	q.mu.Unlock()
	if dropped > 0 {
		q.report("%d dropped: they came faster than they could be delivered", dropped)
	}
}
