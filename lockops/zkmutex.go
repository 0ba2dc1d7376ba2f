package lockops

import (
	"context"
	"fmt"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// ZKMutex is an exclusive lock in ZooKeeper: a fair queue of ephemeral sequential nodes in one directory,
// each waiting for the one before it (zookeeper.apache.org, "Recipes: Locks", with the GUID of "Recoverable
// Errors"). It can share the directory with clients of the library whose recipe is chosen.
type ZKMutex struct{ queue *zkQueue }

// NewZKMutex makes a mutex in the directory path, which starts with a slash and is created when
// first needed. Options: WithLabel, WithRecipe, WithQueue, WithPrefix, WithReentry, OnWaiting,
// OnBehind.
func NewZKMutex(s *ZKSession, path string, opts ...Option) *ZKMutex {
	return &ZKMutex{newZKQueue(s, path, opts, false)}
}

// Acquire queues and waits for its turn. Besides ctx's error it returns a *RecipeError, ErrClosed,
// and refusals of the servers (zk.ErrNoAuth …). If the session expires meanwhile, Acquire loses its
// place and queues again in the next session.
func (m *ZKMutex) Acquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.queue.lock, &m.queue.opts); h != nil || err != nil {
		return h, err
	}
	return m.queue.acquire(ctx, recipe.Exclusive)
}

// TryAcquire takes the lock if the queue is empty. Otherwise it creates nothing.
func (m *ZKMutex) TryAcquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.queue.lock, &m.queue.opts); h != nil || err != nil {
		return h, err
	}
	return m.queue.tryAcquire(ctx, recipe.Exclusive)
}

// String names the lock for messages.
func (m *ZKMutex) String() string { return fmt.Sprintf("zookeeper mutex %s", m.queue.lock.name) }

// ZKRWMutex is a lock in ZooKeeper that many readers may hold together, or one writer alone. It is
// a fair queue of ephemeral sequential nodes in one directory (zookeeper.apache.org, "Recipes:
// Shared Locks"). A writer waits for the node right before it. A reader waits for the writers
// before it, and watches one of them. With Curator's recipe that is the first writer, as for
// Curator's own readers. With other recipes it is the nearest. Readers that wait for one writer are
// granted together when it leaves.
//
// It can share the directory with clients of the library whose recipe is chosen: "curator"
// (InterProcessReadWriteLock), "kazoo" (ReadLock and WriteLock; kazoo's plain Lock ignores
// readers), "sequential" or "madelson" (read- and write- before the number). go-zookeeper's lock has no
// shared mode.
//
// As with every lock of this package, a caller re-enters with the context of its hold, or one
// derived from it. A lock that was made without WithReentry returns ErrReentry, or ErrUpgrade for a
// write inside a read. If it was made WithReentry:
//
//   - Acquire of the same side re-enters.
//   - Read inside a write is granted at once, and remains when the write is released (a downgrade).
//     The lock is then held for reading, and no other writer had it in between. The read has its own
//     node with the write's number, as in Curator since 5.5.
//   - Write inside a read would wait for itself forever: it fails with ErrUpgrade. Only a read inside
//     a write that is still held may write again.
//
// A process with Curator before 5.5 that reads inside its own write queues the read behind other writers, which do
// not wait for it (CURATOR-621).
type ZKRWMutex struct{ queue *zkQueue }

// NewZKRWMutex makes a read-write lock in the directory path, which starts with a slash and is
// created when first needed. Options: WithLabel, WithRecipe, WithQueue, WithReentry, OnWaiting,
// OnBehind.
func NewZKRWMutex(s *ZKSession, path string, opts ...Option) *ZKRWMutex {
	return &ZKRWMutex{newZKQueue(s, path, opts, true)}
}

// Read returns the side of the readers. Acquire waits until no writer is before it, TryAcquire
// takes the lock if no writer holds it or waits for it. Their errors are those of a ZKMutex.
func (m *ZKRWMutex) Read() Locker { return &zkSide{m.queue, recipe.Shared} }

// Write returns the side of the writers. Acquire waits until it is first, TryAcquire takes the lock
// if no client is in the queue. Their errors are those of a ZKMutex, and ErrUpgrade.
func (m *ZKRWMutex) Write() Locker { return &zkSide{m.queue, recipe.Exclusive} }

// String names the lock for messages.
func (m *ZKRWMutex) String() string {
	return fmt.Sprintf("zookeeper read-write lock %s", m.queue.lock.name)
}

// zkSide is one side of a read-write lock.
type zkSide struct {
	queue *zkQueue
	mode  recipe.Mode
}

func (l *zkSide) Acquire(ctx context.Context) (*Hold, error) { return l.acquire(ctx, l.queue.acquire) }

func (l *zkSide) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.queue.tryAcquire)
}

func (l *zkSide) String() string {
	if l.mode == recipe.Shared {
		return "read side of " + (&ZKRWMutex{l.queue}).String()
	}
	return "write side of " + (&ZKRWMutex{l.queue}).String()
}

func (l *zkSide) acquire(ctx context.Context, queue func(context.Context, recipe.Mode) (*Hold, error)) (*Hold, error) {
	if err := ready(ctx, l.queue.lock, &l.queue.opts); err != nil {
		return nil, err
	}
	if h, err := l.reenter(ctx); h != nil || err != nil {
		return h, err
	}
	return queue(ctx, l.mode)
}

// reenter returns a hold if the context belongs to a hold of the same lock; otherwise both results
// are nil.
func (l *zkSide) reenter(ctx context.Context) (*Hold, error) {
	var reads bool
	for g := grantOf(ctx, l.queue.lock); g != nil; g = g.inside {
		if g.shared && l.mode == recipe.Exclusive {
			reads = reads || g.held()
			continue // it may be inside a write
		}
		if !l.queue.opts.reentry && !reads && g.held() {
			return nil, acquireError(l.queue.lock, ErrReentry)
		}
		h, ok := g.reenter(ctx)
		switch {
		case !ok:
			continue
		case g.shared || l.mode == recipe.Exclusive:
			return h, nil
		}
		inner, err := l.queue.readInside(ctx, g.backend.(*zkGrant))
		// The write could not be released meanwhile. If this was its last hold and the release
		// fails, that continues in the background.
		_ = h.Release(ctx)
		return inner, err
	}
	if reads {
		return nil, acquireError(l.queue.lock, ErrUpgrade)
	}
	return nil, nil
}

// readInside takes the lock for reading while the write w is held. The write takes the read once
// and keeps it until its own end, so that no second node ever has its number.
func (q *zkQueue) readInside(ctx context.Context, w *zkGrant) (*Hold, error) {
	var read *Hold
	select {
	case read = <-w.inner:
	case <-ctx.Done():
		return nil, acquireError(q.lock, because(ctx))
	}
	defer func() { w.inner <- read }()
	if ctx.Err() != nil { // both were ready
		return nil, acquireError(q.lock, because(ctx))
	}
	if read == nil {
		var err error
		if read, err = q.enqueue(ctx, attempt{mode: recipe.Shared, inside: w}); err != nil {
			return nil, err
		}
	}
	if h, ok := read.grant.reenter(ctx); ok {
		return h, nil
	}
	return nil, acquireError(q.lock, read.grant.lost())
}
