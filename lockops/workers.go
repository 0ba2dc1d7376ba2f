package lockops

import (
	"sync"
	"sync/atomic"
)

// workers run functions in goroutines, of which a few are kept for the next: a request of go-redis needs a deeper stack
// than a new goroutine has, and to grow one costs as much as the rest of sending it.
type workers struct {
	start sync.Once
	next  chan func() // to those that have nothing to do
	idle  atomic.Int32
	all   sync.WaitGroup
}

// mostIdle bounds the goroutines kept, of about 8 KiB each: a Redlock on five masters has ten at once.
const mostIdle = 16

// do runs f, and then counts it as done; until closed is closed, its goroutine may be kept afterwards.
func (w *workers) do(closed <-chan struct{}, done *sync.WaitGroup, f func()) {
	w.start.Do(func() { w.next = make(chan func()) })
	select {
	case w.next <- f:
	default:
		w.all.Go(func() { w.work(closed, done, f) })
	}
}

func (w *workers) work(closed <-chan struct{}, done *sync.WaitGroup, f func()) {
	for {
		f()
		done.Done()
		if w.idle.Add(1) > mostIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case f = <-w.next:
			w.idle.Add(-1)
		case <-closed:
			w.idle.Add(-1)
			return
		}
	}
}

// wait waits for all that have run something, once they were closed and no more is to be done.
func (w *workers) wait() { w.all.Wait() }
