package sandbox

import (
	"context"
	"fmt"
	"time"

	"lockscope/lockops"
)

// queue is a ZooKeeper lock of the fair scenario: one client library's recipe, and who uses it.
type queue struct {
	path, recipe, prefix string
	workers              []string
	work, think          span
}

// fair shows queues in ZooKeeper: whoever came first is served first, each waiter watches the one before it.
func fair() Scenario {
	return Scenario{
		Name:  "fair",
		About: "queues in ZooKeeper: first come, first served, each waiter watches the one before it",
		captions: []string{
			"zk:/locks/orders is a fair queue: first come, first served. Open it with enter",
			"zk:/locks/reports has a slow holder: open it and force it free with x",
		},
		play: func(s *Sandbox) error {
			for _, q := range []queue{
				{
					path: "/locks/orders", recipe: "curator", workers: names("worker", 6),
					work: span{1200 * time.Millisecond, 2200 * time.Millisecond}, think: span{0, 3 * time.Second},
				},
				{
					path: "/locks/billing", recipe: "kazoo", workers: names("billing", 3),
					work: span{2 * time.Second, 4 * time.Second}, think: span{time.Second, 4 * time.Second},
				},
				{
					// slow enough to be force-released by hand
					path: "/locks/reports", recipe: "go-zookeeper", workers: names("report", 3),
					work: span{40 * time.Second, 60 * time.Second}, think: span{time.Second, 2 * time.Second},
				},
				{
					path: "/locker", recipe: "sequential", prefix: "foo", workers: names("tutorial", 3),
					work: span{time.Second, 3 * time.Second}, think: span{time.Second, 2 * time.Second},
				},
			} {
				if err := s.playQueue(q); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func names(base string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", base, i+1)
	}
	return list
}

// playQueue gives every worker a session of its own, as processes would have.
func (s *Sandbox) playQueue(q queue) error {
	for _, worker := range q.workers {
		ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
		session, err := lockops.NewZKSession(ctx, []string{s.zk.Addr()}, lockops.WithSessionTimeout(4*time.Second))
		cancel()
		if err != nil {
			return err
		}
		s.closers = append(s.closers, session.Close)
		options := []lockops.Option{lockops.WithRecipe(q.recipe), lockops.WithLabel(worker)}
		if q.prefix != "" {
			options = append(options, lockops.WithPrefix(q.prefix))
		}
		lock := lockops.NewZKMutex(session, q.path, options...)
		s.run(func(ctx context.Context) { s.contend(ctx, lock, q.work, q.think) })
	}
	return nil
}
