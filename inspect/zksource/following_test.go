package zksource_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
)

// following is an Observer with its events so far. It runs until the test ends.
type following struct {
	*inspect.Observer
	id     inspect.ID
	events []inspect.Event // of the lock
	all    []inspect.Event // of all locks

	t    *testing.T
	sub  *inspect.Subscription
	seen *inspect.Snapshot
	ctx  context.Context
}

// follow starts an Observer on a source and waits for the first pass.
func follow(t *testing.T, cfg zksource.Config, path string) *following {
	t.Helper()
	cfg.Backend = "zk"
	ctx, cancel := context.WithTimeout(context.Background(), 3*sourcetest.Limit)
	o := &following{Observer: inspect.NewObserver(time.Now, zksource.New(cfg)), id: inspect.ID{Backend: "zk", Path: path}, t: t, ctx: ctx}
	o.sub = o.Subscribe()
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Be(t, <-done, nil)
	})
	o.await("first pass", func(s *inspect.Snapshot) bool { return len(s.Backends) > 0 && s.Backends[0].FirstPass })
	return o
}

// await reads snapshots and their events until one is as expected.
func (o *following) await(what string, ok func(*inspect.Snapshot) bool) {
	o.t.Helper()
	for o.seen == nil || !ok(o.seen) { // o.Snapshot() may be newer than the events so far
		o.next(what)
	}
}

// awaitLock is await for the lock.
func (o *following) awaitLock(what string, ok func(*inspect.Lock) bool) {
	o.t.Helper()
	o.await(what, func(s *inspect.Snapshot) bool {
		l := s.Lock(o.id)
		return l != nil && ok(l)
	})
}

func (o *following) next(what string) {
	o.t.Helper()
	s, err := o.sub.Next(o.ctx)
	if err != nil {
		o.t.Fatalf("%s: %v; %+v", what, err, o.Snapshot().Lock(o.id))
	}
	o.seen = s
	o.all = append(o.all, s.Events...)
	for _, e := range s.Events {
		if e.Lock == o.id && e.Finding == nil {
			o.events = append(o.events, e)
		}
	}
}
