package redissource

import (
	"context"
	"time"

	"lockscope/inspect"
)

// flushedFor is the time after a flush in which a key that is gone, and was not reported by its name, is taken for flushed: so long
// does it take to read all of them again. How one ended that is read later is unknown.
const flushedFor = 10 * time.Second

// flushed is the time of a flush: between two instants.
type flushed struct{ after, before time.Time }

// flush notes that a master has deleted all keys of one of its databases, or of all, between two instants: it does not say which. Of a key
// that was not there, an answer from before it may be on its way.
func (b *keyTable) flush(master int, after, before time.Time) {
	for key, e := range b.entries {
		at, ok := b.place(key, master)
		if !ok {
			continue
		}
		if e.flushed == nil {
			e.flushed = map[int]flushed{}
		}
		f, more := e.flushed[at]
		if !more {
			f.after = after
		}
		f.before = before
		e.flushed[at] = f
	}
}

// sought notes when a vote was asked for.
func (b *keyTable) sought(master int, key string, asked time.Time) {
	if e := b.entries[key]; e != nil {
		if at, ok := b.place(key, master); ok {
			e.soughtAt[at] = asked
		}
	}
}

// forgetFlush leaves open whether a flush took a key whose pushes are behind: its own may be among them.
func (b *keyTable) forgetFlush(master int, key string) {
	if at, ok := b.place(key, master); ok && b.entries[key] != nil {
		delete(b.entries[key].flushed, at)
	}
}

// markFlushed notes whether a key is not on a master any more because of a flush, by the first reading after it. One of which a change was
// reported as well, or may not have been, and one that is another's by then, may have been flushed, or given up where the flush was of another
// database: it was deleted, and no more is known. What comes after that reading, no flush before it did. Answers and pushes come over two
// connections: what was answered before the flush was reported may be from after it.
func (e *entry) markFlushed(at int, v *inspect.Vote, now time.Time) {
	flushed, ok := e.flushed[at]
	if !ok || !v.Up {
		return
	}
	if old := &e.votes[at]; old.Present && !now.Before(flushed.after) {
		v.Flushed = !v.Present && !e.mayHaveChanged(at) && now.Sub(flushed.before) <= flushedFor
		v.Evicted = v.Evicted || !v.Present && !v.Flushed || v.Present && replaced(old, v)
	}
	if e.soughtAt[at].After(flushed.before) {
		delete(e.flushed, at)
	}
}

// mayHaveChanged reports whether a master pushed a change of the key that was not read yet, or may not have.
func (e *entry) mayHaveChanged(at int) bool {
	_, pushed := e.changed[at]
	return pushed || e.unwatched[at]
}

// pushesFor is the longest time that news of a key that is gone wait for what was pushed before. A connection of which a ping is without an
// answer for longer is behind: nobody waits for it.
const pushesFor = 500 * time.Millisecond

// before has the votes that an answer is compared with beside the loop, which may change its own meanwhile.
type before struct {
	votes      []inspect.Vote
	connection int  // by which it pushes
	ok         bool // it has answered by that
}

// known are the votes for some keys of a master that pushes; none of another, which tells of no flush.
func (r *run) known(p *masterState, keys []string) (b before) {
	if !p.pushing {
		return b
	}
	b.connection, b.ok = p.inbox.connection()
	b.votes = make([]inspect.Vote, len(keys))
	for i, key := range keys {
		if e := r.table.entries[key]; e != nil {
			if at, ok := r.table.place(key, p.index); ok {
				b.votes[i] = e.votes[at]
			}
		}
	}
	return b
}

// missed are the places of votes that were known, and are so no more although they did not run out.
func (rep *report) missed(known *before) (missed []int) {
	for i := range min(len(known.votes), len(rep.votes)) {
		if was := &known.votes[i]; there(was) && !ranOut(*was, rep.answered) && vanished(was, &rep.votes[i]) {
			missed = append(missed, i)
		}
	}
	return missed
}

// behind reports whether a ping waits for its answer for longer than anybody waits for it.
func (p *masterState) behind(limit time.Duration) bool {
	oldest := p.pings.oldest()
	return !oldest.IsZero() && p.now().Sub(oldest) >= limit
}

// readReport reads keys. Where one is gone, a flush may have been it, of which the push comes over another connection, maybe after the
// answer: it has come once a ping was answered there that was sent after the answer. Where none is in time, how it ended is unknown.
func (r *run) readReport(p *masterState, rep *report, known before, mayCount bool) {
	rep.votes, rep.err = p.readVotes(r.ctx, rep.keys)
	rep.answered = r.cfg.Now()
	missed, limit := rep.missed(&known), min(pushesFor, p.timeout/2)
	wait := len(missed) > 0 && known.ok && !p.behind(limit)
	if wait {
		p.pingNow()
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	rep.evicted = p.countEvicted(r.ctx, mayCount, rep)
	if !wait || !p.inbox.await(ctx, known.connection, rep.answered) {
		rep.unsure = missed
	}
}
