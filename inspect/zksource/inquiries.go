package zksource

import (
	"time"

	"lockscope/inspect/zksource/ensemble"
)

// queryLimit bounds a question to one server, of those who watch on; for who looks once see queryTime.
const queryLimit = 3 * time.Second

// startInquiry starts an inquiry when one is due: when the first pass is done or no server lets us in, and
// then at a slow beat.
func (r *run) startInquiry(now time.Time) {
	if r.asking || r.done || now.Before(r.askAt) || !r.ready && r.failures == 0 || r.cfg.Once && r.identified {
		return
	}
	if r.ready && !r.firstPass && (r.cfg.Once || now.Sub(r.readyAt) < time.Second) {
		return // the first pass is done soon, most likely
	}
	r.asking = true
	r.askAt, r.askedAt, r.afterPass = now.Add(r.identityBeat()), now, r.firstPass // sooner as the answers say
	r.requestAccessAgain()
	q := r.ensemble.Inquiry(ensemble.Inquiry{Now: r.cfg.Now, Spawn: r.tasks.Go, Covers: r.covers(now), Limit: r.queryTime()})
	if r.link != nil {
		q.Ours = ours{r.link}
	}
	r.tasks.Go(func() {
		report := q.Run(r.ctx)
		if r.ctx.Err() == nil { // else it is our own end that failed the questions
			r.reports <- report // one at a time, and there is room for it
		}
	})
}

// queryTime returns the limit of a question to one server. Who looks once waits for half of its time, and
// five seconds where it has them: one server that hangs is not to hold up for long what was read of all
// locks.
func (r *run) queryTime() time.Duration {
	if !r.cfg.Once {
		return queryLimit
	}
	return max(queryLimit, min(r.cfg.Timeout, 5*time.Second), r.cfg.Timeout/2)
}

// identify handles what came of an inquiry.
func (r *run) identify(who *ensemble.Report) {
	for range len(r.results) { // read before the table was: emitted before it
		r.result(<-r.results)
	}
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	r.asking = false
	if r.stall.Since(r.askedAt) { // the tables may be of before it
		r.askAt = r.cfg.Now()
		return
	}
	r.ensemble.Learn(who)
	r.sessions, r.backend.stale = who.Sessions, true
	if who.Sessions != nil {
		r.extra.Sessions, r.extra.AllSessions, r.extra.SessionsAt = who.Sessions, who.AllSessions, who.SessionsAt.Round(0)
		r.shortest = r.shortestTimeout(who.Sessions)
	}
	r.inquireWithin(r.identityBeat())
	now := r.cfg.Now()
	r.countEmpty(now)
	if who.Watches != nil {
		r.extra.Watches = r.watchTable(who)
		r.recheck(r.extra.Watches, now)
	}
	if r.ready { // else it would put off the end of a look for which no server lets us in
		r.progress = now
	}
	r.identified = r.identified || r.afterPass
	r.inquiries++
}

// ours is our connection as the servers' reports are compared with it.
type ours struct{ link *link }

func (o ours) Server() string { return o.link.tap.Server() }

func (o ours) Acked() (session int64, at time.Time) {
	session, _, at = o.link.tap.Lease()
	return session, at
}

func (o ours) Established() (from, to time.Time, known bool) { return o.link.established() }

func (o ours) Read(node string) ([]byte, error) {
	data, _, err := o.link.conn.Get(node)
	return data, err
}
