package zksource

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/ensemble"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
)

const (
	// queryLimit bounds a question to one server, of those who watch on; for a single look see queryTime.
	queryLimit = 3 * time.Second
	// shortBeat is the beat of inquiries for short sessions, when there are at most fewSessions.
	shortBeat   = 2500 * time.Millisecond
	fewSessions = 1000
)

// inquiries are when the servers are asked about themselves.
type inquiries struct {
	usual     time.Duration // between two
	reports   chan *ensemble.Report
	asking    bool
	afterPass bool      // it was started after the first pass, and asks for what that found
	askAt     time.Time // when to ask next
	askedAt   time.Time
	watchesAt time.Time // when the watch tables were asked for
	ended     int
	// identified: one has ended that was started after the first pass.
	identified bool
	shortest   time.Duration // timeout of a session, as last reported
}

func newInquiries(usual time.Duration) inquiries {
	return inquiries{usual: usual, shortest: 2 * usual, reports: make(chan *ensemble.Report, 1)}
}

// beat returns the pause between two inquiries: at most half of the shortest session timeout, so that a session
// that expires is seen without its client before.
func (q *inquiries) beat() time.Duration { return min(q.usual, max(shortBeat, q.shortest/2)) }

// learn stores the sessions of a report, including ours. With many sessions frequent reports would cost too much.
func (q *inquiries) learn(sessions map[int64]inspect.Session, ours int64) {
	q.shortest = 2 * q.usual
	if len(sessions) <= fewSessions {
		for _, s := range sessions {
			if s.Timeout > 0 && s.ID != ours {
				q.shortest = min(q.shortest, s.Timeout)
			}
		}
	}
	if next := q.askedAt.Add(q.beat()); next.Before(q.askAt) {
		q.askAt = next
	}
}

// covers are the locks whose watches are asked for; none when they were a moment ago.
func (q *inquiries) covers(t *tree.Tree, now time.Time) []inspect.ID {
	if now.Sub(q.watchesAt) < q.usual*9/10 {
		return nil
	}
	ids := t.Covers()
	if ids != nil {
		q.watchesAt = now
	}
	return ids
}

// startInquiry starts an inquiry when one is due: when the first pass is done or no server lets us in, and
// then at a slow beat.
func (r *run) startInquiry(now time.Time) {
	q, ready := &r.inquiries, r.conn.ready
	if q.asking || r.done || now.Before(q.askAt) || !ready && r.conn.failures == 0 || r.cfg.Once && q.identified {
		return
	}
	if ready && !r.tree.FirstPass && (r.cfg.Once || now.Sub(r.conn.since) < time.Second) {
		return // the first pass is done soon, most likely
	}
	q.asking = true
	q.askAt, q.askedAt, q.afterPass = now.Add(q.beat()), now, r.tree.FirstPass // sooner as the answers say
	inquiry := r.ensemble.Inquiry(ensemble.Inquiry{
		Now: r.cfg.Now, Spawn: r.tasks.Go, Covers: q.covers(r.tree, now), Limit: r.queryTime(),
	})
	if r.conn.link != nil {
		inquiry.Ours = ours{r.conn.link}
	}
	r.tasks.Go(func() {
		report := inquiry.Run(r.ctx)
		if r.ctx.Err() == nil { // else it is our own end that failed the questions
			q.reports <- report // one at a time, and there is room for it
		}
	})
}

// queryTime returns the limit of a question to one server. A single look waits for half of its
// time, or five seconds if it has them. One hanging server must not delay the result for long.
func (r *run) queryTime() time.Duration {
	if !r.cfg.Once {
		return queryLimit
	}
	return max(queryLimit, min(r.cfg.Timeout, 5*time.Second), r.cfg.Timeout/2)
}

// identify handles the result of an inquiry.
func (r *run) identify(report *ensemble.Report) {
	for range len(r.results) { // read before the table was: emitted before it
		r.result(<-r.results)
	}
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	q := &r.inquiries
	q.asking = false
	if r.stall.Since(q.askedAt) { // the tables may be of before it
		q.askAt = r.cfg.Now()
		return
	}
	r.ensemble.Learn(report)
	r.backend.stale = true
	if report.Sessions != nil {
		r.extra.Sessions, r.extra.AllSessions = report.Sessions, report.AllSessions
		r.extra.SessionsAt = report.SessionsAt.Round(0)
	}
	q.learn(report.Sessions, r.conn.session())
	now := r.cfg.Now()
	r.tree.CountEmpty(now)
	if report.Watches != nil {
		r.extra.Watches = r.tree.WatchTable(tree.Watches{
			Covers: report.Covers, Asked: report.Asked, On: report.Watches, Hears: report.Hears,
		})
		r.tree.Recheck(r.extra.Watches, now)
	}
	if r.conn.ready { // else it would delay the end of a look when no server lets us in
		r.progress = now
	}
	q.identified = q.identified || q.afterPass
	q.ended++
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
