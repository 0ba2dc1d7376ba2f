package zksource

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// attend notices that this process stood still, and returns the time. Nothing that was asked for before
// counts for what is now: its answers may have been given long ago, and lie in the socket. The connection is
// made again, so that none of them comes, and nobody says that the servers were away.
func (r *run) attend() time.Time {
	now, from, stalled := r.stall.Take()
	if !stalled {
		return now
	}
	r.ensemble.Disturb(now)
	r.ensemble.ForgetClocks() // our own may have been set ahead, which looks the same
	r.heardAt = time.Time{}
	r.stood = inspect.Interval{From: from, To: now}
	r.blindUntil(now)
	r.extra = inspect.Update{} // tables of before
	r.inquiries.askAt, r.progress = now, now
	if r.conn.link != nil {
		r.reconnect(now)
	}
	return now
}

// looksAgain handles a new connection. The first one after a stall that took its time to come made
// that longer: nobody could look.
func (r *run) looksAgain(now time.Time) {
	if !r.stood.To.IsZero() && now.Sub(r.stood.To) > time.Second {
		r.blindUntil(now)
	}
	r.stood = inspect.Interval{}
}

// blindUntil reports that nobody has looked since the stall began.
func (r *run) blindUntil(now time.Time) {
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: r.stood.From, Until: now}})
}

// cameLate reports that news from the servers came so late that nobody knows when it happened.
func (r *run) cameLate() {
	if r.conn.link == nil {
		return
	}
	from, until := r.conn.link.tap.Late()
	if !until.IsZero() && !r.cfg.Once {
		r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: until}})
	}
}
