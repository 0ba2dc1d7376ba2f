package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// freed identifies a holder that this program forced out.
type freed struct {
	lock ID
	name Untrusted
}

// forcedFor is how long after a force-release the holder's end is attributed to it.
const forcedFor = 10 * time.Second

// Forced announces that this program is about to force out a holder, so its end is reported as
// forced.
func (o *Observer) Forced(id ID, holder Untrusted) {
	now := o.now()
	o.mu.Lock()
	defer o.mu.Unlock()
	// forget releases whose effect we never saw
	maps.DeleteFunc(o.forced, func(_ freed, at time.Time) bool { return now.Sub(at) > forcedFor })
	o.forced[freed{id, holder}] = now
}

// wasForced reports whether this program forced out a holder, and forgets that it did.
func (o *Observer) wasForced(id ID, holder Untrusted, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.forced[freed{id, holder}]
	delete(o.forced, freed{id, holder})
	return ok && now.Sub(at) <= forcedFor
}

// endedSession identifies a session that this program ended.
type endedSession struct {
	backend string
	id      int64
}

// Expired announces that this program is about to end a session of a backend, as a sandbox can.
// Without it, the early end would look like a release. Call undo if the session could not be
// ended.
func (o *Observer) Expired(backend string, session int64) (undo func()) {
	now, ended := o.now(), endedSession{backend, session}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.ended, func(_ endedSession, at time.Time) bool { return now.Sub(at) > forcedFor })
	o.ended[ended] = now
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.ended, ended)
	}
}

// wasExpired reports whether this program ended a session.
func (o *Observer) wasExpired(backend string, session int64, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.ended[endedSession{backend, session}]
	return ok && now.Sub(at) <= forcedFor
}

// passingFor is how long a lock given to Forget is watched for becoming free.
const passingFor = 2 * time.Minute

// Forget announces that a lock which this program created temporarily is no longer needed. It is
// dropped as soon as it has no holders or waiters. Sources list other free locks for some time
// longer.
func (o *Observer) Forget(id ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passed[id] = o.now()
}

// dropPassed drops the locks given to Forget that are now free.
func (o *Observer) dropPassed(now time.Time) {
	o.mu.Lock()
	maps.DeleteFunc(o.passed, func(_ ID, reported time.Time) bool { return now.Sub(reported) > passingFor })
	ids := slices.SortedFunc(maps.Keys(o.passed), ID.Compare)
	o.mu.Unlock()
	for _, id := range ids {
		if l := o.locks.get(id); l != nil && l.State == StateFree && len(l.Waiters) == 0 {
			o.drop(o.byName[id.Backend], id, false, now)
		}
	}
}

// apply applies a source's update.
func (o *Observer) apply(u sourceUpdate) {
	now := o.now()
	if !u.At.IsZero() && u.At.Before(now) {
		now = u.At
	}
	if u.Gap != nil {
		o.events = append(o.events, o.backend(u.source, u.Gap.Backend).skipped(*u.Gap, now, o.locks.len())...)
		o.dirty = true
	}
	if u.Backend != nil {
		o.updateBackend(u.source, u.Backend, now)
	}
	if p := o.reported[u.source]; u.Sessions != nil && p != nil {
		p.away = p.absent(u.Sessions, now)
		p.former, p.allFormer, p.formerAt, p.formerIn = p.sessions, p.allSessions, p.sessionsAt, p.sessionsIn
		p.sessions, p.allSessions, p.sessionsAt, p.sessionsIn = u.Sessions, u.AllSessions, u.sessionsAsked(now), now
		o.rejoin(p, now)
		o.dirty = true
	}
	for _, l := range u.Put {
		o.setLock(o.backend(u.source, l.ID.Backend), l, now)
	}
	if u.Backend != nil && u.Backend.FirstPass && u.Backend.Mode != ModeOnce {
		o.endFirstPass(o.reported[u.source], now) // after the locks of the first pass, which existed before
	}
	withdrawn := make(map[ID]bool, len(u.Withdrawn))
	for _, id := range u.Withdrawn {
		withdrawn[id] = true
	}
	for _, id := range u.Gone {
		o.drop(o.backend(u.source, id.Backend), id, withdrawn[id], now)
	}
	if u.Watches != nil {
		o.confirm(o.backend(u.source, u.Watches.Backend), u.Watches, now)
	}
	o.judgeSpreads(now)
}

// judgeSpreads diagnoses a backend's locks again when its target becomes suspect or stops being
// so.
func (o *Observer) judgeSpreads(now time.Time) {
	for _, p := range o.backends {
		before := p.suspect
		if p.judge(now); p.suspect != before && !p.once() {
			o.diagnoseAll(p, now)
		}
	}
}

// updateBackend records a newer state of a backend.
func (o *Observer) updateBackend(source int, b *Backend, now time.Time) {
	p := o.backend(source, b.Name)
	lost := b.State == Down && p.state != nil && p.state.State != Down
	o.events = append(o.events, p.update(b, now, o.locks.len())...)
	o.reported[source] = p
	if by := b.ClockOffset() - p.offset; by.Abs() >= time.Second {
		p.offset = b.ClockOffset()
		o.moveGrants(p, by)
	}
	if lost && p.blindFrom.Before(now) { // findings since then are from a time that was not watched
		o.diagnoseAll(p, now)
	}
	o.diagnoseBackend(p, now)
	o.dirty = true
}

// moveGrants shifts the grant times that we observed when the estimate of the backend's clock
// changes.
func (o *Observer) moveGrants(p *backendState, by time.Duration) {
	for l := range o.locks.all() {
		if moved := l.movedBy(by); l.ID.Backend == p.name && moved != nil {
			o.locks.put(moved)
			o.changed[l.ID] = struct{}{}
		}
	}
	for id, h := range o.hidden {
		if moved := h.movedBy(by); id.Backend == p.name && moved != nil {
			o.hidden[id] = hiddenLock{moved, h.since}
		}
	}
}

// movedBy returns a copy of the lock with its observed grant times moved, or nil if it has none.
func (l *Lock) movedBy(by time.Duration) *Lock {
	if !slices.ContainsFunc(l.Holders, func(c Contender) bool { return c.grantSeen() }) {
		return nil
	}
	moved := clone(l)
	for i := range moved.Holders {
		if h := &moved.Holders[i]; h.grantSeen() {
			h.HeldSince = h.HeldSince.Add(by)
		}
	}
	return moved
}

// grantSeen reports whether we saw the holder's grant. Its time then comes from our clock and the
// estimated offset of the servers' clock.
func (c *Contender) grantSeen() bool { return !c.HeldSince.IsZero() && !c.HeldSince.Equal(c.Since) }

// endFirstPass notes that a backend has been read completely once.
func (o *Observer) endFirstPass(p *backendState, now time.Time) {
	if p.firstPassDone {
		return
	}
	p.firstPassDone, p.since, p.quiet = true, now, &History{Since: now}
	o.diagnoseAll(p, now)
}

// hiddenLock keeps the last known version of a lock that cannot be read now. since is by our clock.
type hiddenLock struct {
	*Lock
	since time.Time
}

// known returns the newest readable version of a lock. blindFrom is when it
// became unreadable, by our clock; zero if it can be read.
func (o *Observer) known(p *backendState, id ID, now time.Time) (was *Lock, blindFrom time.Time) {
	was = o.locks.get(id)
	switch {
	case was != nil && was.State == StateUnknown:
		h := o.hidden[id]
		if h.Lock == nil {
			return nil, now
		}
		return h.Lock, h.since
	case was == nil && p.blind(time.Time{}, now, o.locks.len()):
		return was, p.blindSince(time.Time{})
	case was != nil && p.blind(was.agreedAt(), now, o.locks.len()):
		return was, p.blindSince(was.agreedAt())
	}
	return was, time.Time{}
}

func (o *Observer) view(p *backendState, id ID, was *Lock, blindFrom, now time.Time) view {
	v := view{at: now, blindFrom: blindFrom, first: !p.firstPassDone}
	if was != nil {
		v.forced = func(name Untrusted) bool { return o.wasForced(id, name, now) }
		v.sessionEnded = func(c *Contender) bool {
			return o.wasExpired(p.name, c.Owner.Session, now) || p.sessionEnded(c, now)
		}
		v.sessionLived = func(c *Contender) bool { return p.sessionLived(c, now) }
		v.unheardSince = func(c *Contender) time.Time { return p.unheardSince(c, now) }
		v.restarted = func(m Vote) bool { return p.restarted(m.Addr, cmp.Or(m.ReadAt, was.ReadAt)) }
	}
	return v
}

func (o *Observer) setLock(p *backendState, read *Lock, now time.Time) {
	l := clone(read)
	l.admitUnknown()
	l.Observed.Reported = len(l.Findings)
	o.expect(l)
	offset := p.state.ClockOffset()
	before := o.locks.get(l.ID)
	was, blindFrom := o.known(p, l.ID, now)
	blind := !blindFrom.IsZero()
	unseen := blind || lateSight(l.UnseenSince, now)
	switch {
	case was != nil:
		carry(was, l, offset, unseen)
	case before == nil && p.firstPassDone && !unseen:
		appeared(l, offset)
	}
	seen(l, now)
	identify(l, p.sessions)
	v := o.view(p, l.ID, was, blindFrom, now)
	v.unseenSince = l.UnseenSince
	v.first = v.first || before != nil || l.UnseenSince.Equal(NeverSeen) // listed, but never looked at so far
	var events []Event
	switch {
	case l.State != StateUnknown:
		delete(o.hidden, l.ID)
		events = compare(was, l, v)
	case before == nil:
		events = compare(nil, l, v)
	case was != nil:
		if _, known := o.hidden[l.ID]; !known {
			o.hidden[l.ID] = hiddenLock{was, cmp.Or(blindFrom, now)}
		}
	}
	o.events = append(o.events, events...)
	o.rememberForced(was, events)
	l.Observed.LongestTTL = longestTTL(l)
	if before != nil {
		l.Observed.History, l.Observed.LongestTTL = before.Observed.History, max(l.Observed.LongestTTL,
			before.Observed.LongestTTL)
	}
	if l.State != StateUnknown && !p.once() {
		o.remember(p, change{was: was, is: l, events: events, offset: offset, blind: blind}, now)
	}
	o.replace(p, before, l, now)
}

// remember writes a change into the lock's history.
func (o *Observer) remember(p *backendState, c change, now time.Time) {
	t := o.tracks[c.is.ID]
	if t == nil {
		if !c.eventful() {
			return
		}
		t = &track{view: History{Since: p.since}}
		if p.since.IsZero() || c.was == nil {
			t.view.Since = now
		}
		o.tracks[c.is.ID] = t
	}
	c.is.Observed.History = t.apply(c)
}

// drop forgets a lock that is gone. withdrawn means that it was not a lock after all.
func (o *Observer) drop(p *backendState, id ID, withdrawn bool, now time.Time) {
	before := o.locks.get(id)
	if before == nil {
		return
	}
	was, blindFrom := o.known(p, id, now)
	was = cmp.Or(was, before)
	v := o.view(p, id, was, blindFrom, now)
	v.withdrawn = withdrawn
	events := compare(was, nil, v)
	o.events = append(o.events, events...)
	o.reportFindings(before.Findings, nil, Event{At: now, Lock: id})
	if !p.once() {
		gone := &Lock{ID: id, ReadAt: now, Masters: was.Masters}
		o.remember(p, change{
			was: was, is: gone, events: events, offset: p.state.ClockOffset(),
			blind: !blindFrom.IsZero(),
		}, now)
		o.retire(id)
	}
	delete(o.hidden, id)
	delete(o.suspicions.of, id)
	delete(p.covered, id)
	o.locks.remove(id)
	p.spread.count(before, -1)
	o.changed[id] = struct{}{}
	o.outliersStale = true
	if len(before.Waiters) > 0 {
		o.queuesChanged(now)
	}
}

// retire keeps the history of a lock that is gone until enough locks have gone after it.
func (o *Observer) retire(id ID) {
	if i := slices.Index(o.former, id); i >= 0 {
		o.former = slices.Delete(o.former, i, i+1)
	}
	if o.former = append(o.former, id); len(o.former) <= formerLocks {
		return
	}
	if oldest := o.former[0]; o.locks.get(oldest) == nil {
		delete(o.tracks, oldest)
	}
	o.former = o.former[1:]
}

// replace stores a newer version of a lock with its source's findings. before, the previous
// version, may be nil.
func (o *Observer) replace(p *backendState, before, l *Lock, now time.Time) {
	if p.state != nil && !p.once() {
		l = o.diagnosed(p, l, now)
	}
	var old []Finding
	waited := false
	if before != nil {
		old, waited = before.Findings, len(before.Waiters) > 0
	}
	o.reportFindings(old, l.Findings, Event{At: now, Lock: l.ID})
	o.locks.put(l)
	p.spread.count(before, -1)
	p.spread.count(l, 1)
	o.changed[l.ID] = struct{}{}
	o.outliersStale = true
	if waited || len(l.Waiters) > 0 {
		o.queuesChanged(now)
	}
}

// rejoin joins a new session table with those locks of a backend that it changes.
// Most tables repeat the previous one, and a pass over a million contenders takes 60 ms.
func (o *Observer) rejoin(p *backendState, now time.Time) {
	if repeats(p.sessions, p.former) {
		return
	}
	for l := range o.locks.all() {
		if l.ID.Backend == p.name && l.outdated(p.sessions) {
			joined := o.locks.changeable(l)
			identify(joined, p.sessions)
			o.replace(p, l, joined, now)
		}
	}
}

// confirm compares the waiters' expected watches with the server's table.
func (o *Observer) confirm(p *backendState, t *WatchTable, now time.Time) {
	p.keep(t, func(id ID) bool { return o.locks.get(id) != nil })
	check := func(l *Lock) {
		if l == nil || l.ID.Backend != t.Backend || !l.Watched() {
			return
		}
		confirmed := o.locks.changeable(l)
		if confirmWatches(confirmed, t) {
			o.replace(p, l, confirmed, now)
		} else {
			o.diagnose(p, l, now)
		}
	}
	if t.Covers == nil {
		for l := range o.locks.all() {
			check(l)
		}
		return
	}
	for _, id := range t.Covers {
		check(o.locks.get(id))
	}
}

// repeats reports whether each session of table is also in before, with the same client, server and
// timeout.
func repeats(table, before map[int64]Session) bool {
	for id, s := range table {
		if was, known := before[id]; !known || s.Client != was.Client || s.Server != was.Server ||
			s.Timeout != was.Timeout {
			return false
		}
	}
	return true
}
