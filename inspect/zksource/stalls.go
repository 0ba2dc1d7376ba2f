package zksource

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// attend detects a pause of this process, and returns the time. Answers to earlier requests no
// longer count: they may be old, and still in the socket's buffer. A new connection discards them,
// without a report that the servers were away.
func (r *run) attend() time.Time {
	now, from, stalled := r.stall.Take()
	if !stalled {
		return now
	}
	r.hear()
	if r.conn.ready && !r.heardAt.IsZero() && r.heardAt.Before(from) {
		from = r.heardAt // later news may have been delayed before the pause
	}
	r.ensemble.Disturb(now)
	r.ensemble.ForgetClocks() // if our own clock was set ahead, that looks like a stall
	r.heardAt = time.Time{}
	r.stalled = inspect.Interval{From: from, To: now}
	r.blindUntil(now)
	r.extra = inspect.Update{} // its tables are old
	r.inquiries.askAt, r.progress = now, now
	if r.conn.link != nil {
		r.reconnect(now)
	}
	return now
}

// looksAgain handles a new connection. After a stall, a slow first connection extends the gap,
// since no events were received meanwhile.
func (r *run) looksAgain(now time.Time) {
	if !r.stalled.To.IsZero() && now.Sub(r.stalled.To) > time.Second {
		r.blindUntil(now)
	}
	r.stalled = inspect.Interval{}
}

// blindUntil reports a gap in our observation since the stall began.
func (r *run) blindUntil(now time.Time) {
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: r.stalled.From, Until: now}})
}

// cameLate reports a gap if news from the servers came so late that its time is unknown.
func (r *run) cameLate() {
	if r.conn.link == nil {
		return
	}
	from, until := r.conn.link.tap.Late()
	if !until.IsZero() && !r.cfg.Once {
		r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: until}})
	}
}
