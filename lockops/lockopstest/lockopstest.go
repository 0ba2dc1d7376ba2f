// Package lockopstest has a fake lock for tests of programs that use lockops. It needs no server, and its holds are
// lost when the test says so.
package lockopstest

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockscope/lockscope/lockops"
)

// Locker is a lock in this process's memory. One hold has it at a time; waiters get it first come,
// first served. Its methods may be called by any goroutine.
type Locker struct {
	name string

	mu      sync.Mutex
	token   uint64 // of the newest hold
	lose    func(reason error)
	held    bool
	waiting []chan struct{}
	refused error
}

var _ lockops.Locker = (*Locker)(nil)

// New makes a lock with a name for messages and errors.
func New(name string) *Locker { return &Locker{name: name} }

// Acquire waits for its turn until ctx ends. Then its error wraps ctx's error and lockops.ErrHeld.
func (l *Locker) Acquire(ctx context.Context) (*lockops.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held && l.refused == nil {
		turn := make(chan struct{})
		l.waiting = append(l.waiting, turn)
		l.mu.Unlock()
		select {
		case <-turn:
			l.mu.Lock()
		case <-ctx.Done():
			l.mu.Lock()
			l.leave(turn)
			return nil, fmt.Errorf("acquire %s: %w (%w)", l.name, context.Cause(ctx), lockops.ErrHeld)
		}
	}
	return l.take(ctx)
}

// TryAcquire takes the lock if it is free, and returns lockops.ErrHeld otherwise.
func (l *Locker) TryAcquire(ctx context.Context) (*lockops.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held && l.refused == nil {
		return nil, fmt.Errorf("acquire %s: %w", l.name, lockops.ErrHeld)
	}
	return l.take(ctx)
}

// Lose ends the current hold with lockops.ErrLost and a reason, as if the servers had given the
// lock to another client. No caller gets the lock until Free. Lose does nothing while there is no
// hold.
func (l *Locker) Lose(reason error) {
	l.mu.Lock()
	lose := l.lose
	l.lose = nil
	l.mu.Unlock()
	if lose != nil {
		lose(reason)
	}
}

// Free frees a lock that was lost.
func (l *Locker) Free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose == nil {
		l.pass()
	}
}

// Refuse makes every Acquire fail with an error, including those that are waiting; nil lets them
// succeed again.
func (l *Locker) Refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
	for _, turn := range l.waiting {
		close(turn)
	}
	l.waiting = nil
}

// take makes the hold. l.mu is held.
func (l *Locker) take(ctx context.Context) (*lockops.Hold, error) {
	if l.refused != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.name, l.refused)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.name, context.Cause(ctx))
	}
	l.held = true
	l.token++
	token := l.token
	hold, lose := lockops.NewHold(ctx, l.name, lockops.Custom{
		Name: fmt.Sprintf("%s-%d", l.name, token), Token: token,
		Release: func(context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lose = nil
			l.pass()
			return nil
		},
	})
	l.lose = lose
	return hold, nil
}

// pass frees the lock for the first waiter. l.mu is held.
func (l *Locker) pass() {
	l.held = false
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// leave takes a waiter out of the queue, or passes its turn on. l.mu is held.
func (l *Locker) leave(turn chan struct{}) {
	for i, one := range l.waiting {
		if one == turn {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return
		}
	}
	if !l.held {
		l.pass()
	}
}
