package zksource

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/ensemble"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
)

const (
	// queryLimit bounds a question to one server while watching. For one pass, see queryTime.
	queryLimit = 3 * time.Second
	// shortBeat is the interval of inquiries for short sessions, if there are at most fewSessions.
	shortBeat   = 2500 * time.Millisecond
	fewSessions = 1000
)

// inquiries schedules the questions to servers about themselves.
type inquiries struct {
	usual     time.Duration // the usual interval
	reports   chan *ensemble.Report
	asking    bool
	afterPass bool      // the running inquiry started after the first pass
	askAt     time.Time // when to ask next
	askedAt   time.Time
	watchesAt time.Time // when the watch tables were last requested
	ended     int       // finished inquiries
	// identified is set once an inquiry that started after the first pass has ended.
	identified bool
	shortest   time.Duration // the shortest session timeout, as last reported
}

func newInquiries(usual time.Duration) inquiries {
	return inquiries{usual: usual, shortest: 2 * usual, reports: make(chan *ensemble.Report, 1)}
}

// beat returns the interval of inquiries. It is at most half of the shortest session timeout, so that
// a lost client shows before its session expires.
func (q *inquiries) beat() time.Duration { return min(q.usual, max(shortBeat, q.shortest/2)) }

// learn stores the sessions of a report, including ours. With many sessions frequent reports cost
// too much.
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

// covers lists the locks whose watches to request; none if they were requested a moment ago.
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

// startInquiry starts an inquiry if one is due. The first is due after the first pass, or when no
// server accepts us.
func (r *run) startInquiry(now time.Time) {
	q, ready := &r.inquiries, r.conn.ready
	if q.asking || r.done || now.Before(q.askAt) || !ready && r.conn.failures == 0 || r.cfg.Once && q.identified {
		return
	}
	if ready && !r.tree.FirstPass && (r.cfg.Once || now.Sub(r.conn.since) < time.Second) {
		return // the first pass is nearly done
	}
	q.asking = true
	q.askAt, q.askedAt, q.afterPass = now.Add(q.beat()), now, r.tree.FirstPass // sooner if the answers say so
	inquiry := r.ensemble.Inquiry(ensemble.Inquiry{
		Now: r.cfg.Now, Spawn: r.tasks.Go, Covers: q.covers(r.tree, now), Limit: r.queryTime(),
	})
	if r.conn.link != nil {
		inquiry.Ours = ours{r.conn.link}
	}
	r.tasks.Go(func() {
		report := inquiry.Run(r.ctx)
		if r.ctx.Err() == nil { // otherwise the questions failed because we ended
			q.reports <- report // does not block, since only one inquiry runs
		}
	})
}

// queryTime limits a question to one server. One pass waits longer, but leaves time for the other
// servers if one hangs.
func (r *run) queryTime() time.Duration {
	if !r.cfg.Once {
		return queryLimit
	}
	return max(queryLimit, min(r.cfg.Timeout, 5*time.Second), r.cfg.Timeout/2)
}

// identify handles the result of an inquiry.
func (r *run) identify(report *ensemble.Report) {
	for range len(r.results) { // read before the table, so emitted first
		r.receive(<-r.results)
	}
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	q := &r.inquiries
	q.asking = false
	if r.stall.Since(q.askedAt) { // the tables may be from before the stall
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
	if r.conn.ready { // otherwise it would delay the end while no server accepts us
		r.progress = now
	}
	q.identified = q.identified || q.afterPass
	q.ended++
}

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
