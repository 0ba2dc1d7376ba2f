package sandbox

import (
	"context"
	"time"

	"lockscope/lockops"
)

// readWrite shows readers that hold a lock together and a writer that waits for all of them.
func readWrite() Scenario {
	return Scenario{
		Name:  "rw",
		About: "a read-write lock: readers hold it together, a writer waits for all of them",
		scenes: []Scene{{
			Title: "readers and writers", Lock: "zk:/locks/catalog",
			Text: "Readers hold it together; a writer waits for all of them, and readers behind it wait for the writer.",
		}},
		play: func(s *Sandbox) error {
			for _, r := range []struct {
				names       []string
				side        func(*lockops.ZKRWMutex) lockops.Locker
				work, think span
			}{
				{names("reader", 5), (*lockops.ZKRWMutex).Read, span{2 * time.Second, 5 * time.Second}, span{300 * time.Millisecond, 2 * time.Second}},
				{names("writer", 2), (*lockops.ZKRWMutex).Write, span{time.Second, 3 * time.Second}, span{4 * time.Second, 9 * time.Second}},
			} {
				for _, name := range r.names {
					session, err := s.session()
					if err != nil {
						return err
					}
					lock := lockops.NewZKRWMutex(session, "/locks/catalog", lockops.WithRecipe("kazoo"), lockops.WithLabel(name))
					w := s.worker(name)
					s.run(func(ctx context.Context) {
						w.contend(ctx, r.side(lock), job{lock: "zk:/locks/catalog", work: r.work, think: r.think})
					})
				}
			}
			return nil
		},
	}
}
