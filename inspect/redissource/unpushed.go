package redissource

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockscope/inspect"
)

// A server pushes a change of every key but for one kind: when two databases change places (SWAPDB) no key has changed, and each
// name may stand for another value. Two things tell of it, at a slow beat: the server's own count of such commands, and a key
// that EXISTS does not find although nobody pushed its end.

// unpushed holds the evidence for a change that a master did not push.
type unpushed struct {
	// soundAt is the newest time at which all that was known of the master's keys was so, or had been pushed.
	soundAt time.Time
	// swaps are the SWAPDB that it has counted, as of swapsAt; zero: it did not tell.
	swaps   int64
	swapsAt time.Time
	// calls of each command, as of swapsAt: those that fall show that the server's counts began anew (CONFIG RESETSTAT).
	calls map[string]int64
	// known are those that were noticed since by what they did, the newest at knownAt: a count that was asked for before that may be
	// without them.
	known   int64
	knownAt time.Time
	// missed are the newest count's keys that were not there, until it is known that nobody pushed that; sample are those to be read
	// after it.
	missed    *counted
	sample    []string
	sampleDue bool // once the master has answered about itself
}

// counted is the answer of a master to how many of the keys there are that should be: gone are those that are not.
type counted struct {
	master          int
	gone            []string
	asked, answered time.Time
	err             error
	last            bool // nothing more of this count comes
}

// counted takes in which keys a master does not have any more. Where it pushes, their ends may be on their way: they are
// waited for, as what follows differs.
func (r *run) counted(c counted) {
	p := r.masters[c.master]
	switch {
	case !p.pushing:
		r.wantAll(c.gone)
	case p.missed != nil:
		p.missed.gone, p.missed.answered = append(p.missed.gone, c.gone...), c.answered
	case len(c.gone) > 0:
		p.missed = &c
	}
	if !c.last || p.missed != nil {
		return
	}
	if c.err == nil {
		p.soundAt = later(p.soundAt, c.asked)
	}
	p.sampleDue = p.pushing // of the others everything is read again and again
	switch {
	case p.keys != nil: // a node of a Cluster has one database
		r.wantSample(p)
	case p.pushing:
		p.requestStatusNow() // with its count of SWAPDB: it comes before the sample
	}
}

// wantSample has a master read its sample where that is due.
func (r *run) wantSample(p *masterState) {
	if !p.sampleDue {
		return
	}
	p.sampleDue = false
	now := r.cfg.Now()
	for _, key := range p.sample {
		p.want(key, r.perKey, now)
	}
	p.sample = nil
}

// judgeMissed decides about the keys that a master does not have any more, once everything was taken in that it pushed
// before it said so, and nothing is being read: whose end was pushed may be among that.
func (r *run) judgeMissed(p *masterState) {
	c := p.missed
	if c == nil || p.pushing && !p.heard.After(c.answered) || p.busy {
		return
	}
	p.missed = nil
	silent := func(key string) bool {
		e := r.table.entries[key]
		if e == nil || p.wanted[key] {
			return false
		}
		at, ok := r.table.place(key, p.index)
		return ok && e.votes[at].Present && e.votes[at].ReadAt.Before(c.asked)
	}
	if p.pushing && slices.ContainsFunc(c.gone, silent) {
		r.replacedUnder(p, later(p.soundAt, p.armedAt)) // all was read then; its count may have begun anew since
		p.known++
		p.knownAt = r.cfg.Now()
	}
	r.wantAll(c.gone)
	p.sampleDue = true
	p.requestStatusNow()
}

// countSwaps takes in how often a master has had databases change places.
func (r *run) countSwaps(p *masterState, st status) {
	was, known, since := p.swaps, p.known, p.swapsAt
	same := st.runID == p.server.RunID && !since.IsZero() && !st.swapsAt.IsZero()
	anew := same && fell(p.calls, st.calls)
	p.swaps, p.swapsAt, p.calls, p.known = st.swaps, st.swapsAt, st.calls, 0
	if same && st.swapsAt.Before(p.knownAt) { // it was on its way: the next one has those that are not in it
		p.known = max(0, known-max(0, st.swaps-was))
	}
	switch {
	case !p.pushing || !same:
	case st.swaps > was+known, st.swaps > 0 && (anew || st.swaps < was): // or it was after its counts began anew, however high they are
		r.replacedUnder(p, since)
	}
}

// fell reports whether a command was called less often than before, as counts show that began anew.
func fell(before, now map[string]int64) bool {
	for command, n := range before {
		if now[command] < n {
			return true
		}
	}
	return false
}

// allCalls are the calls of each command, by INFO's commandstats.
func allCalls(counts string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(counts) {
		command, said, ok := strings.Cut(line, ":calls=")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(said, ",")
		n, _ := strconv.ParseInt(number, 10, 64)
		all[command] = n
	}
	return all
}

// replacedUnder takes in that all keys of a master may have been replaced after an instant, unseen.
func (r *run) replacedUnder(p *masterState, since time.Time) {
	now := r.cfg.Now()
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: since, Until: now}})
	r.table.unwatch(p.index, since)
	r.readAll(p)
	p.soundAt = now
	p.armedAt = now // its keys have to be gone over once more: others may have come
	p.resting.Store(false)
}
