package inspect

import (
	"cmp"
	"slices"
	"time"
)

// backendState is what the Observer knows about one backend, apart from its locks. A source
// reports one, a recording several. Most of its many fields are two versions of a table, newest
// and former, with their times.
type backendState struct {
	source int
	name   string
	// state is nil until one is reported; shown includes the rules' findings.
	state *Backend
	shown *shownBackend
	// since is when, by our clock, we began to watch all of it; zero before that.
	since time.Time
	// offset is the backend's clock minus ours, to the second, as used for the grants that we saw.
	offset time.Duration
	// quiet is the shared history of locks that have not changed since.
	quiet *History
	// firstPassDone is set once everything has been read, so anything that appears later is new.
	firstPassDone bool
	// sessions is the last reported table, former the previous one.
	sessions, former map[int64]Session
	// away has the sessions missing from the newest table that cannot have expired yet, as last
	// reported.
	away map[int64]Session
	// allSessions and allFormer say that the tables sessions and former are complete. sessionsAt
	// and formerAt are when the servers were asked for them, by our clock. sessionsIn and formerIn
	// are when all had answered.
	allSessions, allFormer bool
	sessionsAt, sessionsIn time.Time
	formerAt, formerIn     time.Time
	// watches is the newest table of all watches; covered has newer ones that cover only some
	// locks.
	watches *WatchTable
	covered map[ID]*WatchTable
	// blindFrom and blindUntil bound the last period in which we could not see all of it: it was
	// silent, or we did not look. blindReported is the end of the gap that was reported.
	blindFrom, blindUntil, blindReported time.Time
	// blindBefore has the gaps shortly before that one: locks may not have been read since.
	blindBefore []Interval
	cluster     cluster
	// spread is counted as locks come and go. suspect is the verdict by which the locks were last
	// judged. suspectSince is when they began to look suspect.
	spread       spread
	suspect      bool
	suspectSince time.Time
	// outliers are those found last.
	outliers []Outlier
}

// shownBackend is a backend as published, and the state it was made from.
type shownBackend struct {
	*Backend
	from *Backend
}

// once reports whether the backend is read only once.
func (p *backendState) once() bool { return p.state != nil && p.state.Mode == ModeOnce }

// watchTable is the newest table that covers a lock.
func (p *backendState) watchTable(id ID) *WatchTable {
	if t := p.covered[id]; t != nil {
		return t
	}
	return p.watches
}

// tablesLast is the age at which a table becomes old. Tables of locks that a viewer has open are
// read every 10 s.
const tablesLast = time.Minute

// ageOf classifies a table by when it was read. A one-shot command has just read it.
func (p *backendState) ageOf(t *WatchTable, now time.Time) TableAge {
	switch {
	case t == nil || p.state == nil || p.once():
		return TableOfNow
	case t.ReadAt.Before(p.state.DisturbedAt), t.ReadAt.Before(p.blindUntil):
		return TableVoid
	case now.Sub(t.ReadAt) > tablesLast:
		return TableOld
	}
	return TableOfNow
}

// keep stores a table. there reports whether a lock still exists: it may have gone during the read,
// and then nothing would drop its table.
func (p *backendState) keep(t *WatchTable, there func(ID) bool) {
	if t.Covers == nil {
		p.watches, p.covered = t, nil
		return
	}
	if p.covered == nil {
		p.covered = make(map[ID]*WatchTable)
	}
	for _, id := range t.Covers {
		if there(id) {
			p.covered[id] = t
		}
	}
}

// historyOf returns the history of a lock, or nil while the backend is not watched.
func (p *backendState) historyOf(l *Lock) *History {
	switch {
	case p.since.IsZero():
		return nil
	case l.Observed.History != nil:
		return l.Observed.History
	case l.Observed.LongestTTL == 0:
		return p.quiet
	default:
		return &History{Since: p.since, LongestTTL: l.Observed.LongestTTL}
	}
}

// backend finds a backend by its name, or creates it.
func (o *Observer) backend(source int, name string) *backendState {
	if p := o.byName[name]; p != nil {
		return p
	}
	p := &backendState{source: source, name: name}
	o.byName[name] = p
	o.backends = append(o.backends, p)
	slices.SortStableFunc(o.backends, func(a, b *backendState) int { return cmp.Compare(a.source, b.source) })
	return p
}

// update records a newer state of the backend and returns the resulting events. count is the number
// of locks.
func (p *backendState) update(b *Backend, now time.Time, count int) []Event {
	was := p.state
	events := compareBackends(was, b, now)
	p.state = b
	switch down := was != nil && was.State == Down; {
	case b.State == Down && !down:
		from := now
		if heard := b.HeardAt; !heard.IsZero() && heard.Before(now) {
			from = heard
		}
		p.loseSight(Interval{From: from}, count)
	case b.State != Down && down:
		p.blindUntil = now
		events = append(events, p.wentBlind(Interval{p.blindFrom, now}, now)...)
	}
	return append(events, p.cluster.changed(b, now)...)
}

// skipped records a gap in watching, and reports it. count is the number of locks.
func (p *backendState) skipped(g Gap, now time.Time, count int) []Event {
	if p.state != nil && p.state.State == Down {
		return nil // it continues
	}
	p.loseSight(Interval{g.From, g.Until}, count)
	return p.wentBlind(Interval{g.From, g.Until}, now)
}

// loseSight records an interval in which the whole backend was not watched. A zero end means that
// it still is not.
func (p *backendState) loseSight(i Interval, count int) {
	p.blindBefore = slices.DeleteFunc(append(p.blindBefore, Interval{p.blindFrom, p.blindUntil}),
		func(b Interval) bool {
			return !i.From.Before(b.To.Add(readAgain(count)))
		})
	p.blindFrom, p.blindUntil = i.From, i.To
}

// blindSince returns the time since which a lock last read at readAt may have been out of sight.
func (p *backendState) blindSince(readAt time.Time) time.Time {
	from := p.blindFrom
	for _, b := range p.blindBefore {
		if b.From.Before(from) && !readAt.After(b.To) {
			from = b.From
		}
	}
	return from
}

// readAgain bounds the time to read this many locks once the backend can be seen again.
func readAgain(count int) time.Duration {
	return 5*time.Second + time.Duration(count)*2*time.Millisecond
}

// blind reports whether we lost sight of the backend after a lock's version was read, and may not
// have read the lock again since. count is the number of locks to be read again.
func (p *backendState) blind(readAt, now time.Time, count int) bool {
	if p.blindFrom.IsZero() || readAt.After(p.blindFrom) && (p.blindUntil.IsZero() || readAt.After(p.blindUntil)) {
		return false
	}
	return p.blindUntil.IsZero() || now.Before(p.blindUntil.Add(readAgain(count)))
}

// sessionEnded reports whether a gone holder's session is known to have expired. Either the
// servers' tables lack it, or it was silent for longer than its timeout. now and the table are by
// our clock, the holder's instants by the backend's.
func (p *backendState) sessionEnded(c *Contender, now time.Time) bool {
	if c.Owner.Session == 0 || p.sessions == nil || p.sessionLived(c, now) {
		return false
	}
	s, ok := p.sessions[c.Owner.Session]
	if !ok {
		return p.sessionMissing(c, now)
	}
	silent := p.sessionsAt.Sub(s.LastContact) // a living client sends something every third of its timeout
	return !s.LastContact.IsZero() && s.Timeout > 0 && silent > s.Timeout*2/3 &&
		!now.Before(s.LastContact.Add(s.Timeout))
}

// sessionMissing reports whether a session that the newest table lacks has expired. The table must
// be newer than the holder and settled for a while. Otherwise a client that releases and closes at
// once would look expired, too. The client must also have been silent before.
func (p *backendState) sessionMissing(c *Contender, now time.Time) bool {
	before, known := p.former[c.Owner.Session]
	if known && p.sessionsAt.Sub(before.LastContact) < before.Timeout/3 {
		return false // it may have moved to another server since
	}
	missing, by := p.sessionsAt, p.sessionsIn // the last server may have been asked only at sessionsIn
	if !known && p.allFormer && p.formerAt.After(p.came(c)) {
		missing, by = p.formerAt, p.formerIn
	}
	if now.Sub(by) < SettleFor || p.returning(c, missing) {
		return false
	}
	return p.allSessions && (known || c.Owner.Client != "" || p.sessionsAt.After(p.came(c).Add(arrived)))
}

// returning reports whether a client missing from the servers' tables may have been reconnecting,
// since the servers were disturbed less than the client's timeout before.
func (p *backendState) returning(c *Contender, missing time.Time) bool {
	if p.state == nil || p.state.DisturbedAt.IsZero() {
		return false
	}
	timeout := c.Owner.SessionTimeout
	if s, ok := p.former[c.Owner.Session]; ok {
		timeout = s.Timeout
	}
	return missing.Sub(p.state.DisturbedAt) < cmp.Or(timeout, longestUsual)
}

// longestUsual is the longest timeout that a server grants by default: 20 ticks of 2 s.
const longestUsual = 40 * time.Second

const (
	// shortestTimeout is the shortest session timeout. Servers refuse less than two of their ticks,
	// and ticks below half a second are not used in practice.
	shortestTimeout = time.Second
	// contactSlack is the tolerance for a client's last contact: the round trip of our request.
	contactSlack = 250 * time.Millisecond
)

// sessionLived reports whether a contender's session cannot have expired at an instant: less than
// its timeout had passed since the last sign of its client.
func (p *backendState) sessionLived(c *Contender, at time.Time) bool {
	heard, timeout := p.heard(c)
	return !heard.IsZero() && at.Before(heard.Add(max(timeout, shortestTimeout)-contactSlack))
}

// heard returns the time, by our clock, of the last sign of life from a contender's client. That is
// the creation of its entry, or a later contact that the servers reported. It is zero if neither is
// known. timeout is its session's timeout, zero if unknown.
func (p *backendState) heard(c *Contender) (at time.Time, timeout time.Duration) {
	if p.dates(c) {
		at = c.Since.Add(-p.state.ClockOffset())
	}
	timeout = c.Owner.SessionTimeout
	for _, table := range [...]map[int64]Session{p.away, p.former, p.sessions} {
		if s, ok := table[c.Owner.Session]; ok {
			timeout = s.Timeout
			if s.LastContact.After(at) {
				at = s.LastContact
			}
		}
	}
	return at, timeout
}

// absent returns the sessions that a new table lacks but that cannot have expired. A client may
// take longer than two tables to move between servers, and keeps its session.
func (p *backendState) absent(table map[int64]Session, now time.Time) map[int64]Session {
	away := map[int64]Session{}
	for _, older := range [...]map[int64]Session{p.away, p.sessions} {
		for id, s := range older {
			if _, ok := table[id]; !ok && now.Before(s.LastContact.Add(s.Timeout)) {
				away[id] = s
			}
		}
	}
	return away
}

// unheardSince returns the time, by our clock, since which a contender's client has been silent if
// it may have died unseen; else zero. That is possible after a server began to serve, or after a
// gap: a session that was not resumed then expires about now. Servers end sessions up to a tick
// late, which is at most half the shortest timeout.
func (p *backendState) unheardSince(c *Contender, at time.Time) time.Time {
	if c.Owner.Session == 0 || p.state == nil || p.sessionLived(c, at) {
		return time.Time{}
	}
	disturbed := p.blindUntil
	if d := p.state.DisturbedAt; d.After(disturbed) {
		disturbed = d
	}
	heard, timeout := p.heard(c)
	late := timeout / 2
	if timeout == 0 {
		timeout, late = longestUsual, longestUsual/20
	}
	if disturbed.IsZero() || heard.After(disturbed) || p.came(c).After(disturbed) ||
		at.Sub(disturbed) > timeout+late+SettleFor {
		return time.Time{}
	}
	return cmp.Or(heard, p.blindFrom, p.came(c), disturbed)
}

// arrived is the minimum age at which a contender's missing session counts: reading the tables of
// several servers takes a while.
const arrived = 5 * time.Second

// came returns the latest instant, by our clock, at which a contender could have entered.
func (p *backendState) came(c *Contender) time.Time {
	if p.dates(c) {
		return c.Since.Add(-p.state.ClockOffset())
	}
	return c.Seen
}

// dates reports whether a contender's arrival is known by our clock. A server that led earlier may
// have dated it, and its clock must be known.
func (p *backendState) dates(c *Contender) bool {
	return p.state.ClockKnown() && p.state.Dates(c.Czxid) && !c.Since.IsZero()
}

// restarted reports whether a server started after an instant.
func (p *backendState) restarted(addr string, since time.Time) bool {
	if p.state == nil {
		return false
	}
	for _, s := range p.state.Servers {
		if s.Addr == addr {
			return s.StartedAt.After(since)
		}
	}
	return false
}
