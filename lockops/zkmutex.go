package lockops

import (
	"context"
	"fmt"

	"lockscope/inspect/recipe"
)

// ZKMutex is an exclusive lock in ZooKeeper: a fair queue of ephemeral sequential nodes in one directory,
// each waiting for the one before it (zookeeper.apache.org, "Recipes: Locks", with the GUID of "Recoverable
// Errors"). It can share the directory with clients of the library whose recipe is chosen.
type ZKMutex struct{ queue *zkQueue }

// NewZKMutex makes a mutex of the directory path, which starts with a slash and is created when it is first needed.
// Options: WithLabel, WithRecipe, WithQueue, WithPrefix, WithReentry, OnWaiting.
func NewZKMutex(s *ZKSession, path string, opts ...Option) *ZKMutex {
	return &ZKMutex{newZKQueue(s, path, opts, false)}
}

// Acquire queues and waits for its turn. Besides ctx's error it returns a *RecipeError, ErrClosed, and what
// the servers refuse (zk.ErrNoAuth …). A session that expires meanwhile costs the place in the queue: it
// queues again with the next.
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
