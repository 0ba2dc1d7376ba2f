package sandbox

import (
	"context"
	"fmt"
	"time"

	"lockscope/lockops"
)

// queue is a lock in ZooKeeper: one client library's recipe, and who uses it.
type queue struct {
	path, recipe, prefix string
	workers              []string
	work, think          span
	granted              func()
}

// fair shows queues in ZooKeeper: whoever came first is served first, each waiter watches the one before it.
func fair() Scenario {
	return Scenario{
		Name:  "fair",
		About: "queues in ZooKeeper: first come, first served, each waiter watches the one before it",
		scenes: []Scene{
			{
				Title: "fair queue", Lock: "zk:/locks/orders",
				Text: "Six workers take turns: first come, first served. enter: who waits for whom; t: their timeline.",
			},
			{
				Title: "slow holder", Lock: "zk:/locks/reports",
				Text: "A report holds it for most of a minute while two wait. enter shows them, x force-releases it.",
			},
		},
		play: func(s *Sandbox) error {
			return s.playQueues(
				queue{
					path: "/locks/orders", recipe: "curator", workers: names("worker", 6),
					work: span{1200 * time.Millisecond, 2200 * time.Millisecond}, think: span{0, 3 * time.Second},
				},
				queue{
					path: "/locks/billing", recipe: "kazoo", workers: names("billing", 3),
					work: span{2 * time.Second, 4 * time.Second}, think: span{time.Second, 4 * time.Second},
				},
				queue{
					// slow enough to be force-released by hand
					path: "/locks/reports", recipe: "go-zookeeper", workers: names("report", 3),
					work: span{40 * time.Second, 60 * time.Second}, think: span{time.Second, 2 * time.Second},
				},
				queue{
					path: "/locker", recipe: "sequential", prefix: "foo", workers: names("tutorial", 3),
					work: span{time.Second, 3 * time.Second}, think: span{time.Second, 2 * time.Second},
				},
			)
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

func (s *Sandbox) playQueues(queues ...queue) error {
	for _, q := range queues {
		if err := s.playQueue(q); err != nil {
			return err
		}
	}
	return nil
}

// playQueue gives every worker a session of its own, as processes would have.
func (s *Sandbox) playQueue(q queue) error {
	for _, name := range q.workers {
		session, err := s.session()
		if err != nil {
			return err
		}
		options := []lockops.Option{lockops.WithRecipe(q.recipe), lockops.WithLabel(name)}
		if q.prefix != "" {
			options = append(options, lockops.WithPrefix(q.prefix))
		}
		lock := lockops.NewZKMutex(session, q.path, options...)
		w := s.worker(name)
		s.run(func(ctx context.Context) {
			w.contend(ctx, lock, job{lock: "zk:" + q.path, work: q.work, think: q.think, granted: q.granted})
		})
	}
	return nil
}

// session connects one more client to ZooKeeper.
func (s *Sandbox) session() (*lockops.ZKSession, error) {
	session, err := s.connect(s.ctx)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, session.Close)
	return session, nil
}

// connect connects a client that its caller closes.
func (s *Sandbox) connect(ctx context.Context) (*lockops.ZKSession, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return lockops.NewZKSession(ctx, []string{s.zk.Addr()}, lockops.WithSessionTimeout(4*time.Second))
}
