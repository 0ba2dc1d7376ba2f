package lockops

import (
	"context"
	"slices"
	"sync"
)

// localQueue lets one contender of a session at a time ask the servers for a lock, first come,
// first served. The others wait here at no cost.
type localQueue struct {
	mu    sync.Mutex
	locks map[lockKey]*place
}

type place struct {
	busy    bool
	waiting []chan struct{}
}

// enter waits for its turn; leave passes the turn on.
func (q *localQueue) enter(ctx context.Context, lock lockKey) (leave func(), err error) {
	q.mu.Lock()
	if q.locks == nil {
		q.locks = make(map[lockKey]*place)
	}
	p := q.locks[lock]
	if p == nil {
		p = &place{}
		q.locks[lock] = p
	}
	leave = func() { q.pass(lock, p) }
	if !p.busy {
		p.busy = true
		q.mu.Unlock()
		return leave, nil
	}
	mine := make(chan struct{})
	p.waiting = append(p.waiting, mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return leave, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(p.waiting, mine)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // the turn has just become ours
		q.pass(lock, p)
	}
	return nil, because(ctx)
}

func (q *localQueue) pass(lock lockKey, p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(p.waiting) == 0 {
		p.busy = false
		delete(q.locks, lock)
		return
	}
	close(p.waiting[0])
	p.waiting = p.waiting[1:]
}
