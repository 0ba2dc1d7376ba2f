package lockops

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

// zkWatches are the session's watches on nodes: one on the server for each path, however many wait for it, and none when
// nobody does any more.
type zkWatches struct {
	// sending is held from a decision until its request is sent: a watch that is taken off must not be the next one.
	sending sync.Mutex

	mu    sync.Mutex
	paths map[string]*zkWatch
}

// zkWatch is a watch on one node. It ends when the watch fired, when the connection was lost, or when there was no such
// node: whoever waits is to look again. An event says no more than that.
type zkWatch struct {
	waiters int
	ended   chan struct{}

	armed chan struct{} // closed when the answer is in; then set:
	reply connect.Reply
	err   error
}

// hasEnded reports whether there is anything to look at.
func (w *zkWatch) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// stands reports whether the server has set the watch, and nothing was heard of it since.
func (w *zkWatch) stands() bool {
	select {
	case <-w.armed:
		return w.err == nil && !w.hasEnded()
	default:
		return false
	}
}

// fire ends the watch of a path.
func (w *zkWatches) fire(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.paths[path]; watch != nil {
		delete(w.paths, path)
		close(watch.ended)
	}
}

// fireAll ends all watches, which do not outlive their connection.
func (w *zkWatches) fireAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, watch := range w.paths {
		delete(w.paths, path)
		close(watch.ended)
	}
}

// watch joins the watch of a path, which it sets when there is none. Call leave once.
func (s *ZKSession) watch(session int64, path string) (watch *zkWatch, leave func()) {
	return s.join(session, path, watchableRequest(opGetData, path, true), watcherData)
}

// watchChildren is watch for the children of a directory; the reply lists them. The locks of a session never watch the
// same path both ways.
func (s *ZKSession) watchChildren(session int64, dir string) (watch *zkWatch, leave func()) {
	return s.join(session, dir, watchableRequest(opGetChildren2, dir, true), watcherChildren)
}

func (s *ZKSession) join(session int64, path string, request connect.Request, kind int32) (watch *zkWatch, leave func()) {
	w := &s.watches
	w.sending.Lock()
	defer w.sending.Unlock()
	w.mu.Lock()
	watch = w.paths[path]
	fresh := watch == nil
	if fresh {
		watch = &zkWatch{ended: make(chan struct{}), armed: make(chan struct{})}
		if w.paths == nil {
			w.paths = make(map[string]*zkWatch)
		}
		w.paths[path] = watch
	}
	watch.waiters++
	w.mu.Unlock()
	if fresh {
		s.arm(session, path, watch, request)
	}
	return watch, func() { s.leave(session, path, watch, kind) }
}

// arm asks the server for the watch. getData sets none on a node that is gone, which exists would.
func (s *ZKSession) arm(session int64, path string, watch *zkWatch, request connect.Request) {
	s.tap.Send(session, func(_ int, r connect.Reply) {
		watch.reply, watch.err = r, r.Err
		close(watch.armed)
		if watch.err != nil {
			s.watches.end(path, watch)
		}
	}, request)
}

// end ends this watch, unless another has taken its place.
func (w *zkWatches) end(path string, watch *zkWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths[path] == watch {
		delete(w.paths, path)
		close(watch.ended)
	}
}

// leave gives up waiting. The last takes the watch off the server.
func (s *ZKSession) leave(session int64, path string, watch *zkWatch, kind int32) {
	w := &s.watches
	w.sending.Lock()
	defer w.sending.Unlock()
	w.mu.Lock()
	watch.waiters--
	last := watch.waiters == 0 && w.paths[path] == watch
	if last {
		delete(w.paths, path)
	}
	w.mu.Unlock()
	if last {
		s.tap.Send(session, func(int, connect.Reply) {}, removeWatchRequest(path, kind))
	}
}

// lookAgain is after how many session timeouts a waiter looks again that heard nothing: a watch that a server has lost
// must not hold it up for ever.
const lookAgain = 3

// awaitChange waits until something has happened to a node, or seldom without: nil says to look again.
func (s *ZKSession) awaitChange(ctx context.Context, session int64, path string, armed func()) error {
	watch, leave := s.watch(session, path)
	defer leave()
	select {
	case <-watch.armed:
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
	switch err := watch.err; {
	case errors.Is(err, zk.ErrNoNode) || lostInTransit(err):
		return nil
	case err != nil:
		return err
	}
	armed()
	if err := s.awaitEnd(ctx, watch); err != nil {
		return err
	}
	s.watches.end(path, watch) // the watch may be gone: all who need it set it anew
	return nil
}

// awaitEnd waits until a watch ends, or seldom without.
func (s *ZKSession) awaitEnd(ctx context.Context, watch *zkWatch) error {
	_, timeout := s.tap.Session()
	seldom := lookAgain * timeout
	timer := time.NewTimer(seldom - seldom/4 + rand.N(seldom/2+1))
	defer timer.Stop()
	select {
	case <-watch.ended:
	case <-timer.C:
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
	return nil
}
