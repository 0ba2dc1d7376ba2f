package sandbox

import (
	"context"
	"sync"
	"time"

	"lockscope/lockops"
)

// deadlock shows two clients that each hold what the other waits for.
func deadlock() Scenario {
	return Scenario{
		Name:  "deadlock",
		About: "two clients that each hold the lock which the other waits for",
		scenes: []Scene{{
			Title: "deadlock", Lock: "zk:/locks/accounts",
			Text: "Two clients take two locks in opposite orders, and wait for each other. c, then w draws the ring; x on one breaks it.",
		}},
		play: func(s *Sandbox) error {
			const accounts, ledger = "/locks/accounts", "/locks/ledger"
			var both meeting
			for _, t := range []struct{ name, first, then string }{{"transfer-1", accounts, ledger}, {"transfer-2", ledger, accounts}} {
				session, err := s.session()
				if err != nil {
					return err
				}
				lock := func(path string) lockops.Locker {
					return lockops.NewZKMutex(session, path, lockops.WithLabel(t.name))
				}
				first, then := lock(t.first), lock(t.then)
				s.run(func(ctx context.Context) {
					for {
						transfer(ctx, first, then, &both)
						if !pause(ctx, 10*time.Second) {
							return
						}
					}
				})
			}
			return s.playQueues(queue{
				path: accounts, recipe: "curator", workers: names("statement", 2),
				work: span{time.Second, 2 * time.Second}, think: span{2 * time.Second, 4 * time.Second},
			})
		},
	}
}

// transfer takes one lock and, once the other client has taken its own first one, the second. It ends when the first is
// lost.
func transfer(ctx context.Context, first, then lockops.Locker, both *meeting) {
	one, err := first.Acquire(ctx)
	if err != nil {
		return
	}
	defer release(one)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(one.Context(), stop)()
	if !both.wait(ctx) {
		return
	}
	two, err := then.Acquire(ctx)
	if err != nil {
		return
	}
	defer release(two)
	pause(ctx, 3*time.Second)
}

// meeting lets two clients come to hold one lock each before either asks for the other's.
type meeting struct {
	mu    sync.Mutex
	other chan struct{}
}

// wait ends when the other has come too; false when ctx ended first.
func (m *meeting) wait(ctx context.Context) bool {
	m.mu.Lock()
	if m.other != nil {
		close(m.other)
		m.other = nil
		m.mu.Unlock()
		return true
	}
	came := make(chan struct{})
	m.other = came
	m.mu.Unlock()
	select {
	case <-came:
		return true
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.other == came {
			m.other = nil
		}
		return false
	}
}
