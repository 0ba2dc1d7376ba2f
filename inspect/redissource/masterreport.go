package redissource

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

func (r *run) report(rep report) {
	r.read() // pushes that came before the answer
	p := r.masters[rep.master]
	p.busy, p.late = false, false
	r.release(p)
	if r.stall.Since(rep.asked) {
		now := r.cfg.Now()
		for _, key := range rep.keys {
			p.want(key, r.perKey, now)
		}
		p.probe = true
		return
	}
	replaced := r.readdress(p)
	if rep.err != nil {
		r.down(p, rep.err)
		return
	}
	took := rep.answered.Sub(rep.asked)
	if p.down() && len(rep.keys) == 0 { // PING may succeed while all keys are refused, so the status decides
		p.requestStatusNow()
		return
	}
	r.alive(p, took)
	if replaced {
		return // the answer may be the previous master's
	}
	p.pace.Add(took - time.Duration(len(rep.keys))*perKey)
	now := rep.answered
	for i, key := range rep.keys {
		if !r.cfg.Once {
			r.remindOf(key, rep.votes[i], now) // as read, perhaps earlier than the shown expiry
		}
		r.readable = r.readable || r.table.canBeRead(rep.master, key, rep.votes[i])
		rep.votes[i].Unsure = r.mayHaveEvicted(p, key, &rep.votes[i])
		r.table.vote(rep.master, key, rep.votes[i], now)
		r.dirty[key] = true
		r.remind(key, now) // now, since its news may be held back until after its expiry
		past := func(end time.Time) bool { return !end.After(now) }
		if v := rep.votes[i]; !r.cfg.Once && !doubtful(v) && slices.ContainsFunc(ends(v), past) {
			r.expiries.set(key, now.Add(afterExpiry)) // read in its last millisecond
		}
	}
}

// attend handles a pause of this process, and returns the time. Everything is read again: earlier
// requests no longer count (see report and errStood), pushes may be lost, and there may be new
// keys.
func (r *run) attend() time.Time {
	now, from, stalled := r.stall.Take()
	if !stalled {
		return now
	}
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: now}})
	for _, p := range r.masters {
		p.goOverAgain(now)
		p.requestStatusNow()
		if !p.down() {
			r.readAll(p)
			p.probe = true
		}
	}
	return now
}

// alive records that a master answers. If it did not before, its keys are read again and its
// status is requested.
func (r *run) alive(p *masterState, latency time.Duration) {
	if p.down() {
		p.requestStatusNow()
		r.back(p)
	}
	p.answered(latency)
	p.Silent.Store(0)
}

// back rereads a master that answers again. If its tracking connection survived, the network may
// have delayed its pushes, so they do not show when a key changed.
func (r *run) back(p *masterState) {
	if p.pushing {
		p.goOverAgain(r.cfg.Now())
	}
	r.readAll(p)
}

// down records that a master does not answer.
func (r *run) down(p *masterState, err error) {
	p.retryAt = r.cfg.Now().Add(node.RetryEvery)
	if r.ctx.Err() != nil {
		return
	}
	p.failed(err)
	p.Silent.Store(1)
	p.forgetReads()
	if p.pushing { // answers may show changes before their pushes arrive
		r.table.unwatch(p.index, p.heard)
	}
	r.table.silence(p.index, err, r.cfg.Now())
	r.judgeAll()
}

// judgeAll rebuilds every lock from its votes.
func (r *run) judgeAll() {
	for key := range r.table.entries {
		r.dirty[key] = true
	}
}

func (r *run) status(rep statusReport) {
	if i := rep.master - len(r.masters); i >= 0 {
		r.replicas[i].replicaStatus(rep)
		return
	}
	p := r.masters[rep.master]
	if rep.met {
		p.met, p.several = true, rep.several
		return
	}
	p.asked = true
	r.readdress(p)
	if rep.err != nil {
		if !p.down() {
			r.down(p, rep.err)
		}
		return
	}
	if p.down() {
		r.back(p)
	}
	p.answered(rep.status.Latency)
	p.Silent.Store(0)
	p.setStatus(rep.status)
	r.setReplica(p, rep.status)
	if changed := r.table.meet(p.index, rep.status.Clients); changed != nil {
		r.emit(inspect.Update{Put: changed})
	}
}

// readdress records a master's current address, which Sentinel may change. It reports whether the
// master has replaced another. Then its earlier history is unknown, and so is how much of the
// other's data it has.
func (r *run) readdress(p *masterState) (replaced bool) {
	addr := p.Address()
	if r.table.addrs[p.index] == addr {
		return false
	}
	r.table.addrs[p.index] = addr
	for _, e := range r.table.entries {
		e.votes[p.index].Addr = addr // Sentinel has one master
	}
	from := p.ReplacedAfter()
	if from.IsZero() {
		r.judgeAll()
		return false
	}
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: r.cfg.Now()}})
	r.readAll(p)
	p.requestStatusNow()
	return true
}

// setReplica records whether a server is a replica, which has no vote.
func (r *run) setReplica(p *masterState, st node.Status) {
	var u *inspect.Unseen
	if st.Role == node.RoleReplica || st.Role == node.RoleActive && len(r.masters) > 1 {
		u = &inspect.Unseen{
			Aspect: inspect.AspectVotes, Where: p.Address(), Read: "INFO",
			Reason: "it is a replica, has no vote, and may lag behind its master", Advice: "use its master instead",
		}
		if st.Master != "" {
			u.Reason = fmt.Sprintf("it is a replica of %s, has no vote, and may lag behind", st.Master)
			u.Advice = fmt.Sprintf("use %s instead", st.Master)
		}
	}
	old := r.table.replicas[p.index]
	if r.table.replicas[p.index] = u; (old == nil) == (u == nil) {
		return
	}
	r.judgeAll()
}

// pass records the end of a pass over a master's keys.
func (r *run) pass(rep passed) {
	p := r.masters[rep.master]
	p.passed, p.unsought = true, rep.unsought
	if rep.err == nil && rep.unsought == nil {
		p.wentOver, p.scanned = rep.start, rep.keys
	}
	p.resting.Store(p.pushing && rep.start.After(p.armedAt))
	if r.cfg.Once && rep.err != nil && !p.down() {
		r.down(p, rep.err)
	}
}
