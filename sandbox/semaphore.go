package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/recipe"
	"lockscope/lockops"
)

const (
	semaphorePath = "/locks/printers"
	permits       = 3
)

// semaphore shows three permits and six who want one, as kazoo's Semaphore writes them.
func semaphore() Scenario {
	return Scenario{
		Name:  "semaphore",
		About: "a semaphore: three permits, six clients",
		scenes: []Scene{{
			Title: "semaphore", Lock: "zk:" + semaphorePath,
			Text: "Three printers, six jobs: three hold a permit, the rest queue for the next one. enter shows them.",
		}},
		play: func(s *Sandbox) error {
			for _, name := range names("print", 6) {
				session, err := s.session()
				if err != nil {
					return err
				}
				w := s.worker(name)
				s.run(func(ctx context.Context) {
					for w.pauseFor(ctx, span{time.Second, 3 * time.Second}) {
						w.print(ctx, session)
					}
				})
			}
			return nil
		},
	}
}

// print takes a permit as kazoo does: with the head of a queue beside the permits, it waits until there are fewer than all
// of them and adds its own. What fails is tried again.
func (w *worker) print(ctx context.Context, session *lockops.ZKSession) {
	// kazoo writes the name in the queue as Python shows bytes
	queue := lockops.NewZKMutex(session, recipe.KazooQueuePath(semaphorePath), lockops.WithRecipe("kazoo"),
		lockops.WithLabel(fmt.Sprintf("b'%s'", w.name)))
	turn, err := queue.Acquire(ctx)
	if err != nil {
		return
	}
	permit, err := w.permit(ctx, session.Conn())
	release(turn)
	if err != nil {
		return
	}
	pause(ctx, w.between(span{3 * time.Second, 6 * time.Second}))
	select {
	case <-w.thawed("zk:" + semaphorePath):
	case <-ctx.Done():
	}
	_ = session.Conn().Delete(permit, -1) // its own; gone already when the session was
}

func (w *worker) permit(ctx context.Context, c *zk.Conn) (string, error) {
	_, err := c.Create(semaphorePath, fmt.Append(nil, permits), 0, zk.WorldACL(zk.PermAll))
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return "", err
	}
	for {
		taken, _, changed, err := c.ChildrenW(semaphorePath)
		if err != nil {
			return "", err
		}
		if len(taken) < permits {
			return c.Create(semaphorePath+"/"+guid(w), []byte(w.name), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// guid is 32 hex digits.
func guid(w *worker) string { return fmt.Sprintf("%016x%016x", w.random.Uint64(), w.random.Uint64()) }
