package sandbox

import (
	"context"
	"time"

	"lockscope/inspect/recipe"
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
			writers, _ := recipe.QueueByName("kazoo")
			readers := writers
			readers.Prefix = func(guid string) string { return guid + "__rlock__" }
			for _, r := range []struct {
				names       []string
				queue       recipe.Queue
				work, think span
			}{
				{names("reader", 5), readers, span{2 * time.Second, 5 * time.Second}, span{300 * time.Millisecond, 2 * time.Second}},
				{names("writer", 2), writers, span{time.Second, 3 * time.Second}, span{4 * time.Second, 9 * time.Second}},
			} {
				for _, name := range r.names {
					session, err := s.session()
					if err != nil {
						return err
					}
					lock := lockops.NewZKMutex(session, "/locks/catalog", lockops.WithQueue(r.queue), lockops.WithLabel(name))
					w := s.worker(name)
					s.run(func(ctx context.Context) {
						w.contend(ctx, lock, job{lock: "zk:/locks/catalog", work: r.work, think: r.think})
					})
				}
			}
			return nil
		},
	}
}
