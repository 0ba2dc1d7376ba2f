package redissource

import (
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// add adds found keys and requests the new ones from all masters.
func (r *run) add(keys []string) {
	now := r.cfg.Now()
	for _, key := range keys {
		if r.table.add(key, now) {
			r.wantOf(key, now)
		}
	}
}

// discover is add for keys found by a pass. Their creation was not reported.
func (r *run) discover(keys []string) {
	now := r.cfg.Now()
	for _, key := range keys {
		if r.table.add(key, now) {
			if e := r.table.entries[key]; !e.cameUnseen() {
				e.cameUnreported(r.notBefore(key))
			}
			r.wantOf(key, now)
		}
	}
}

// notBefore returns the earliest time at which a key found by a pass may have appeared. This is
// the earliest start of the previous pass over the answering masters that may have it, and
// inspect.NeverSeen if one of them had no pass.
func (r *run) notBefore(key string) (since time.Time) {
	for _, p := range r.masters {
		_, has := r.table.place(key, p.index)
		switch {
		case !has || p.down():
		case p.wentOver.IsZero():
			return inspect.NeverSeen
		case since.IsZero() || p.wentOver.Before(since):
			since = p.wentOver
		}
	}
	if since.IsZero() {
		return inspect.NeverSeen
	}
	return since
}

// wantOf requests a key from the masters that have it.
func (r *run) wantOf(key string, now time.Time) {
	for _, p := range r.masters {
		switch _, ok := r.table.place(key, p.index); {
		case !ok:
		case p.down():
			r.table.vote(p.index, key, node.DownVote(p.Address(), p.err), now)
		default:
			p.want(key, r.perKey, now)
		}
	}
	r.dirty[key] = true
}

// read requests the keys that the masters pushed.
func (r *run) read() {
	now := r.cfg.Now()
	for _, p := range r.masters {
		keys, all, heard := p.inbox.take()
		if all { // a flush, or too much to report by name
			r.table.unwatch(p.index, p.heard)
			p.requestStatusNow() // a new replica also flushes
			r.readAll(p)
			p.goOverAgain(now) // there may be new keys
		}
		locks, others := p.LockKeys(slices.Collect(maps.Keys(keys)))
		others = slices.DeleteFunc(others, func(key string) bool { return r.table.entries[key] == nil })
		for _, key := range r.table.whole(append(locks, others...)) {
			switch {
			case r.table.entries[key] != nil:
			case p.mayHaveHad():
				r.discover([]string{key})
			default:
				r.add([]string{key})
			}
			if r.table.entries[key] == nil {
				r.table.recheck(key) // recently found not to be a lock
				continue
			}
			if r.table.topology != nil {
				r.wantOf(key, now) // a helper key may be on another node
				continue
			}
			p.want(key, r.perKey, now)
			if _, ok := r.held[key]; !ok && len(r.masters) > 1 {
				r.held[key] = now.Add(settle)
			}
		}
		p.heard = later(p.heard, heard)
	}
}

// readAll requests every known key from a master.
func (r *run) readAll(p *masterState) {
	now := r.cfg.Now()
	for key := range r.table.entries {
		if _, ok := r.table.place(key, p.index); ok {
			p.want(key, r.perKey, now)
		}
	}
}

// push handles a master that started or stopped pushing.
func (r *run) push(st pushState) {
	p := r.masters[st.master]
	was := p.pushing
	p.pushing = st.armed
	p.refused = st.refused
	p.resting.Store(false) // until a pass has finished
	if st.armed {
		p.armedAt = r.cfg.Now()
		p.retryAt = time.Time{}
		p.requestStatusNow()
		r.table.unwatch(p.index, p.pushedUntil) // for changes before it pushed
		r.readAll(p)
		p.probe = true
		return
	}
	if was {
		p.pushedUntil = p.heard // pushes before that ping have arrived
	}
	p.probe = p.probe || was && p.refused == nil // does it still answer?
}

// wake runs everything that is due.
func (r *run) wake(now time.Time) {
	for _, key := range r.expiries.due(now) {
		e := r.table.entries[key]
		if e == nil {
			continue
		}
		if !e.freeSince.IsZero() {
			r.dirty[key] = true
		}
		asked := e.askAgain()
		disputed := !asked.IsZero() && !now.Before(asked)
		for _, p := range r.masters {
			v := r.table.voteOf(p.index, key)
			if v == nil || !v.Up || p.down() {
				continue
			}
			if disputed || ending(*v, now) || overdue(*v, now.Add(jitter)) { // the shown expiry may be late
				p.want(key, r.perKey, now)
			}
		}
		r.remind(key, now)
	}
	for _, p := range r.masters {
		if p.asking != nil && !now.Before(p.askedAt.Add(grace)) {
			p.late = true
			r.release(p)
		}
	}
}

// remind notes a key's next deadline. It is the expiry of its votes, which a server reports late or
// never, or the time to drop a free lock.
func (r *run) remind(key string, now time.Time) {
	if r.cfg.Once {
		return
	}
	r.expiries.trim(r.table.entries)
	e := r.table.entries[key]
	if e == nil {
		return
	}
	for _, v := range e.votes {
		r.remindOf(key, v, now)
		if doubtful(v) {
			r.expiries.set(key, now.Add(node.DeadAfter))
		}
	}
	if at := e.askAgain(); at.After(now) {
		r.expiries.set(key, at)
	}
	if at := e.freeSince.Add(freeFor); !e.freeSince.IsZero() && at.After(now) {
		r.expiries.set(key, at)
	}
}

// remindOf notes when something in a vote expires, and when to read it again just before.
func (r *run) remindOf(key string, v inspect.Vote, now time.Time) {
	for _, end := range ends(v) {
		if at := end.Add(-beforeExpiry); at.After(now.Add(jitter)) && v.ReadAt.Before(at.Add(-jitter)) {
			r.expiries.set(key, at)
		}
		if at := end.Add(afterExpiry); at.After(now) {
			r.expiries.set(key, at)
		}
	}
}

// requestReads starts a read on every idle master, as far as its limit allows.
func (r *run) requestReads(now time.Time) {
	for _, p := range r.masters {
		if at, ok := p.nextRead(now, r.limitOf(p)); !ok || at.After(now) {
			continue
		}
		keys := p.take(r.cfg.Budget.KeysPerTick, r.perKey, now)
		if len(keys) == 0 && !p.probe {
			continue
		}
		p.busy, p.probe, p.askedAt = true, false, now
		p.reads = r.limitOf(p).Spend(p.reads, now, 1)
		if p.up() && !p.late {
			p.asking = keys
			for _, key := range keys {
				r.asked[key]++
			}
		}
		r.tasks.Go(func() {
			rep := report{master: p.index, keys: keys, asked: r.cfg.Now()}
			rep.votes, rep.err = p.Votes(r.ctx, keys)
			rep.answered = r.cfg.Now()
			send(r.ctx, r.reports, rep)
		})
	}
}

// limitOf returns a master's limit, which is halved while the master is slow.
func (r *run) limitOf(p *masterState) node.Limit {
	switch {
	case r.cfg.Once && (p.passed || len(p.turn) >= r.cfg.Budget.KeysPerTick):
		return node.Limit{} // no rate limit, since the scan has one and nothing is gathered
	case r.cfg.Once:
		return node.Limit{Every: node.Gather, Burst: 5}
	case p.pace.Slow:
		return r.perMaster.Slowed()
	default:
		return r.perMaster
	}
}

// release stops delaying news that waits for a master's answer.
func (r *run) release(p *masterState) {
	for _, key := range p.asking {
		if r.asked[key]--; r.asked[key] <= 0 {
			delete(r.asked, key)
		}
	}
	p.asking = nil
}

// flush emits changes, except of keys that wait for other masters.
func (r *run) flush(now time.Time) {
	var ready []string
	for key := range r.dirty {
		if r.asked[key] == 0 && !r.held[key].After(now) {
			ready = append(ready, key)
		}
	}
	slices.Sort(ready)
	r.table.polled = r.mode() == inspect.ModePoll
	var u inspect.Update
	for _, key := range ready {
		delete(r.dirty, key)
		delete(r.held, key)
		lock, gone := r.table.judge(key, now)
		if lock != nil {
			u.Put = append(u.Put, lock)
		}
		if gone {
			u.Gone = append(u.Gone, inspect.ID{Backend: r.cfg.Backend, Path: key})
		}
		r.remind(key, now)
	}
	r.discover(r.table.drainFound()) // a push of a part does not mean that the lock is new
	u.Backend = r.changedBackend(now)
	if u.Put != nil || u.Gone != nil || u.Backend != nil {
		u.At = now
		r.emit(u)
	}
}

// nextWake returns how long the loop may sleep until its next deadline.
func (r *run) nextWake(now time.Time) time.Duration {
	wake := now.Add(time.Hour)
	sooner := func(at time.Time) {
		if at.Before(wake) {
			wake = at
		}
	}
	if at, ok := r.expiries.next(); ok {
		sooner(at)
	}
	for key := range r.dirty {
		if r.asked[key] == 0 {
			sooner(r.held[key])
		}
	}
	for _, p := range r.masters {
		if at, ok := p.nextRead(now, r.limitOf(p)); ok {
			sooner(at)
		}
		if p.asking != nil {
			sooner(p.askedAt.Add(grace))
		}
	}
	return max(0, wake.Sub(now))
}

// done reports whether everything was read once.
func (r *run) done() bool {
	if slices.ContainsFunc(r.replicas, func(p *masterState) bool { return !p.asked }) {
		return false
	}
	return !slices.ContainsFunc(r.masters, func(p *masterState) bool {
		return !p.down() && !(p.asked && p.met && p.passed && p.idle())
	})
}

// finish emits the last update of a single pass.
func (r *run) finish(now time.Time) {
	b := r.describe()
	b.FirstPass = true
	r.emit(inspect.Update{Backend: r.backend.Report(now, b, true)})
}
