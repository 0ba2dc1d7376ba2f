package lockops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/zkwire"
)

// zkWatches are the session's watches on nodes: one on the server for each path. They stay until they fire or their
// connection ends: on an adopted connection, removing them could remove the program's own watches.
type zkWatches struct {
	mu    sync.Mutex
	paths map[string]*zkWatch
}

// zkWatch is a watch on one node. It ends when it fires, when its connection ends, or if the node
// did not exist. Its waiters then look again, since an event says nothing more.
type zkWatch struct {
	ended chan struct{}
	armed chan struct{} // closed when the answer is in; then set:
	reply zkwire.Reply
}

// on reports whether the watch was set on a given connection.
func (w *zkWatch) on(conn uint64) bool {
	select {
	case <-w.armed:
		return w.reply.Conn == conn
	default:
		return false
	}
}

// errLook means that the state is unknown: look again.
var errLook = errors.New("look again")

// fire ends the watch of a path.
func (s *ZKSession) fire(path string, _ zk.EventType) {
	w := &s.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.paths[path]; watch != nil {
		delete(w.paths, path)
		close(watch.ended)
	}
}

// endOthers ends all watches except those set on the given connection.
func (w *zkWatches) endOthers(conn uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, watch := range w.paths {
		if !watch.on(conn) {
			delete(w.paths, path)
			close(watch.ended)
		}
	}
}

// end ends this watch, unless another has replaced it.
func (w *zkWatches) end(path string, watch *zkWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths[path] == watch {
		delete(w.paths, path)
		close(watch.ended)
	}
}

// watch returns the watch of a node, and sets it if needed. It uses getData, since exists would set a watch even
// on a node that is gone.
func (s *ZKSession) watch(session int64, path string) *zkWatch {
	return s.join(session, path, watchableRequest(opGetData, path, true))
}

// watchChildren is like watch, for the children of a directory. The reply lists them. No path of a
// session's locks ever has both kinds of watch.
func (s *ZKSession) watchChildren(session int64, dir string) *zkWatch {
	return s.join(session, dir, watchableRequest(opGetChildren2, dir, true))
}

func (s *ZKSession) join(session int64, path string, request zkwire.Request) *zkWatch {
	w := &s.watches
	w.mu.Lock()
	watch := w.paths[path]
	if watch != nil {
		w.mu.Unlock()
		return watch
	}
	watch = &zkWatch{ended: make(chan struct{}), armed: make(chan struct{})}
	if w.paths == nil {
		w.paths = make(map[string]*zkWatch)
	}
	w.paths[path] = watch
	w.mu.Unlock()
	s.tap.Send(session, func(_ int, r zkwire.Reply) {
		watch.reply = r
		close(watch.armed)
		if r.Err != nil {
			w.end(path, watch)
		}
	}, request)
	return watch
}

// lookAgain is the number of session timeouts after which a waiter without news looks again, in
// case a server has lost its watch.
const lookAgain = 3

// awaitTurn waits for a change of the node before a contender. armed is called once the watch is
// set; it may be nil.
func (s *ZKSession) awaitTurn(ctx context.Context, session int64, path string, armed func()) error {
	watch := s.watch(session, path)
	if err := s.await(ctx, watch.armed); err != nil {
		return err
	}
	switch err := watch.reply.Err; {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	case armed != nil:
		armed()
	}
	return s.awaitEnd(ctx, path, watch)
}

// awaitEnd waits until a watch ends. After a long silence it ends the watch itself, so that all its
// users set it again. When ctx ends first, another client has the lock.
func (s *ZKSession) awaitEnd(ctx context.Context, path string, watch *zkWatch) error {
	_, timeout := s.tap.Session()
	seldom := lookAgain * timeout
	timer := time.AfterFunc(seldom-seldom/4+rand.N(seldom/2+1), func() { s.watches.end(path, watch) })
	defer timer.Stop()
	err := s.await(ctx, watch.ended)
	if ctx.Err() == nil || err == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", err, ErrHeld)
}

// await waits for an event, or for the end of ctx or of the locks' session.
func (s *ZKSession) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	default:
	}
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}
