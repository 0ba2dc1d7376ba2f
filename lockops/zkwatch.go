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
	session int64
	waiters int
	ended   chan struct{}
	// turn is for contenders: the listing of the directory that is asked for as soon as the watch fires, or the reason for
	// looking without it. nil while no contender waits.
	turn *flight

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

// errLook: nothing is known; look.
var errLook = errors.New("look again")

// fire ends the watch of a path. The listing that whoever waits for a turn needs next is asked for here, by the goroutine
// that reads the connection: a waiter would have to be woken first, and the lock is nobody's until then.
func (s *ZKSession) fire(path string, _ zk.EventType) {
	w := &s.watches
	w.mu.Lock()
	watch := w.paths[path]
	delete(w.paths, path)
	w.mu.Unlock()
	if watch == nil {
		return
	}
	close(watch.ended)
	if dir, ok := parentOf(path); ok && watch.turn != nil {
		s.launch(watch.session, watch.turn, listRequest(dir))
	}
}

// end ends a watch whose server said nothing of it.
func (w *zkWatch) end(why error) {
	close(w.ended)
	if w.turn != nil {
		w.turn.fail(why)
	}
}

// fireAll ends all watches, which do not outlive their connection.
func (w *zkWatches) fireAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, watch := range w.paths {
		delete(w.paths, path)
		watch.end(errLook)
	}
}

// watch joins the watch of a path, which it sets when there is none. Call leave once.
func (s *ZKSession) watch(session int64, path string) (watch *zkWatch, leave func()) {
	return s.join(session, path, watchableRequest(opGetData, path, true), watcherData, false)
}

// watchTurn is watch for a contender, by the node before it.
func (s *ZKSession) watchTurn(session int64, path string) (watch *zkWatch, leave func()) {
	return s.join(session, path, watchableRequest(opGetData, path, true), watcherData, true)
}

// watchChildren is watch for the children of a directory; the reply lists them. The locks of a session never watch the
// same path both ways.
func (s *ZKSession) watchChildren(session int64, dir string) (watch *zkWatch, leave func()) {
	return s.join(session, dir, watchableRequest(opGetChildren2, dir, true), watcherChildren, false)
}

func (s *ZKSession) join(session int64, path string, request connect.Request, kind int32, turn bool) (watch *zkWatch, leave func()) {
	w := &s.watches
	w.sending.Lock()
	defer w.sending.Unlock()
	w.mu.Lock()
	watch = w.paths[path]
	fresh := watch == nil
	if fresh {
		watch = &zkWatch{session: session, ended: make(chan struct{}), armed: make(chan struct{})}
		if w.paths == nil {
			w.paths = make(map[string]*zkWatch)
		}
		w.paths[path] = watch
	}
	watch.waiters++
	if turn && watch.turn == nil {
		watch.turn = newFlight()
	}
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
			s.watches.end(path, watch, r.Err)
		}
	}, request)
}

// end ends this watch, unless another has taken its place.
func (w *zkWatches) end(path string, watch *zkWatch, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths[path] == watch {
		delete(w.paths, path)
		watch.end(why)
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

// awaitTurn waits until something has happened to the node before a contender, and returns what is in its directory then;
// errLook when that has to be asked for. armed is called once the watch is set; it may be nil.
func (s *ZKSession) awaitTurn(ctx context.Context, session int64, path string, armed func()) (listing, error) {
	watch, leave := s.watchTurn(session, path)
	defer leave()
	if armed != nil {
		select {
		case <-watch.armed:
			if watch.err == nil {
				armed()
			}
		case <-ctx.Done():
			return listing{}, because(ctx)
		case <-s.ctx.Done():
			return listing{}, ErrClosed
		}
	}
	if err := s.awaitEnd(ctx, watch.turn.done); err != nil {
		return listing{}, err
	}
	s.watches.end(path, watch, errLook) // the watch may be gone: all who need it set it anew
	select {
	case <-watch.turn.done:
	default:
		return listing{}, errLook
	}
	list, err := listingOf(watch.turn.replies[0])
	if errors.Is(err, zk.ErrNoNode) {
		err = errLook
	}
	return list, err
}

// awaitEnd waits until a watch ends, or seldom without.
func (s *ZKSession) awaitEnd(ctx context.Context, ended <-chan struct{}) error {
	_, timeout := s.tap.Session()
	seldom := lookAgain * timeout
	timer := time.NewTimer(seldom - seldom/4 + rand.N(seldom/2+1))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
	return nil
}
