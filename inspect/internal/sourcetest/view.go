// Package sourcetest helps to test sources: it keeps their updates and waits for expected ones.
package sourcetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Limit is how long a test waits for something that should happen soon. It is generous, for busy
// machines.
const Limit = 60 * time.Second

// View keeps what a source emitted. Its fields may be read in the functions given to Await and Peek, and when
// the source has ended.
type View struct {
	Locks    map[string]*inspect.Lock // by path or key
	At       map[string]time.Time     // when each was last put
	Puts     int
	Updates  int
	Backend  *inspect.Backend
	Sessions map[int64]inspect.Session
	All      bool // Sessions is complete
	Watches  *inspect.WatchTable
	Gap      *inspect.Gap // the newest, joined with the previous one if they overlap

	t        testing.TB
	mu       sync.Mutex
	changed  chan struct{}
	emitting bool
}

// Peek calls read while nothing is emitted.
func (v *View) Peek(read func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	read()
}

// NewView returns an empty view.
func NewView(t testing.TB) *View {
	return &View{t: t, changed: make(chan struct{}), Locks: map[string]*inspect.Lock{}, At: map[string]time.Time{}}
}

// Emit records an update. It fails the test on concurrent calls, which a source must not make.
func (v *View) Emit(u inspect.Update) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.emitting {
		v.t.Error("emit was called concurrently")
	}
	v.emitting = true
	defer func() { v.emitting = false }()
	v.Updates++
	for _, l := range u.Put {
		v.Locks[l.ID.Path], v.At[l.ID.Path] = l, time.Now()
		v.Puts++
	}
	for _, id := range u.Gone {
		delete(v.Locks, id.Path)
	}
	if u.Backend != nil {
		v.Backend = u.Backend
	}
	if u.Sessions != nil {
		v.Sessions, v.All = u.Sessions, u.AllSessions
	}
	if u.Watches != nil {
		v.Watches = u.Watches
	}
	if u.Gap != nil {
		joined := *u.Gap
		if v.Gap != nil && v.Gap.Until.After(joined.From) && v.Gap.From.Before(joined.From) {
			joined.From = v.Gap.From
		}
		v.Gap = &joined
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// Await waits until ok returns true.
func (v *View) Await(what string, ok func() bool) {
	v.t.Helper()
	timeout := time.After(Limit)
	for {
		v.mu.Lock()
		done, changed := ok(), v.changed
		v.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.t.Fatalf("%s: not within %v; backend %+v, locks %v", what, Limit, v.Backend, v.Describe())
		}
	}
}

// Describe returns a line for each lock.
func (v *View) Describe() []string {
	var lines []string
	for p, l := range v.Locks {
		lines = append(lines, fmt.Sprintf("%s %s %s %d+%d %+v", p, l.Recipe, l.State, len(l.Holders), len(l.Waiters),
			l.Masters))
	}
	return lines
}

// Watch runs a source until the test ends.
func Watch(t testing.TB, s inspect.Source) *View {
	t.Helper()
	v := NewView(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, v.Emit) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(Limit):
			t.Error("Run did not return")
		}
	})
	return v
}

// Once runs a source that was made for one pass.
func Once(t testing.TB, s inspect.Source) *View {
	t.Helper()
	v := NewView(t)
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if err := s.Run(ctx, v.Emit); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the one pass did not end")
	}
	return v
}
