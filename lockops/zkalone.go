package lockops

import (
	"sync"
	"time"

	"lockscope/inspect/recipe"
	"lockscope/internal/connect"
)

// zkAlone spares the listing where a lock is taken again and again that nobody else wants.
//
// ZooKeeper numbers sequential nodes by how many nodes were ever created in their directory (its cversion). If a node of
// ours was alone there, has been deleted, and our next one has the next number, then nobody else has created anything in
// between: nobody is before it. That holds within one directory, since one that is made anew counts from 0 again. Hence a
// watch on it, set before our node is deleted, until when it cannot go. A server sends the event of a change before its
// answers to what came after (ZooKeeper Programmer's Guide, "ordered" watches): while the watch stands, an answer that came
// over the connection on which it was set is about the same directory.
type zkAlone struct {
	mu     sync.Mutex
	inRow  int // holds one after another that were alone
	watch  *zkWatch
	used   time.Time // last use of the watch
	number int32     // of our node that was alone and has been deleted
	known  bool      // there is such a number
}

const (
	// aloneInRow holds were alone, one after another, before a watch is set: a lock that is taken once needs none.
	aloneInRow = 2
	// alonePart divides the session timeout into the time that an unused watch is kept.
	alonePart = 2
)

// alonePast is the number of a deleted node that was alone in its directory, with the watch that stood then.
type alonePast struct {
	number int32
	watch  *zkWatch
}

// expect reports whether the next node is likely to be alone. It does so once: only one contender may rely on that.
func (a *zkAlone) expect(now time.Time) (past alonePast, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ok = a.known && a.watch.stands()
	a.known = false
	a.used = now
	return alonePast{a.number, a.watch}, ok
}

// proves reports whether the node of a reply is the first in its directory, since nothing was created there in between.
func (a *zkAlone) proves(past alonePast, path string, r connect.Reply) bool {
	_, number, ok := recipe.SplitSequence(path)
	a.mu.Lock()
	defer a.mu.Unlock()
	// Unless it is still the same, the watch may have been taken off.
	if ok && number == past.number+1 && a.watch == past.watch && past.watch.stands() && past.watch.reply.Conn == r.Conn {
		return true
	}
	a.inRow = 0
	return false
}

// leaving comes before a node is deleted, and left after it; it returns the watch that stands then, if one is wanted.
func (q *zkQueue) leaving(session int64, alone bool) *zkWatch {
	a, s := &q.alone, q.session
	a.mu.Lock()
	defer a.mu.Unlock()
	if !alone {
		a.inRow = 0
		return nil
	}
	if a.inRow++; a.inRow < aloneInRow {
		return nil
	}
	if a.watch == nil || a.watch.hasEnded() {
		watch, leave := s.watch(session, q.dir)
		if !s.goDo(func() { q.keep(watch, leave) }) {
			leave()
			return nil
		}
		a.watch = watch
	}
	a.used = s.clock.now()
	return a.watch
}

// left follows the deletion of a node, with the watch that leaving returned for it.
func (a *zkAlone) left(watch *zkWatch, path string) {
	_, number, ok := recipe.SplitSequence(path)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number, a.known = number, ok && watch != nil && a.watch == watch
}

// keep takes a watch off when it is of no use any more.
func (q *zkQueue) keep(watch *zkWatch, leave func()) {
	_, timeout := q.session.tap.Session()
	most := timeout / alonePart
	timer := time.NewTimer(most)
	defer timer.Stop()
	for open := true; open; {
		select {
		case <-watch.ended:
			open = false
		case <-q.session.ctx.Done():
			open = false
		case <-timer.C:
			idle := q.session.clock.since(q.alone.lastUse())
			open = idle < most
			timer.Reset(most - idle)
		}
	}
	q.alone.drop(watch)
	leave()
}

func (a *zkAlone) lastUse() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// drop forgets a watch before it is taken off.
func (a *zkAlone) drop(watch *zkWatch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch == watch {
		a.watch, a.known = nil, false
	}
}
