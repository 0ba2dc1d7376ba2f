package zksource

import (
	"time"

	"lockscope/inspect"
)

// attend takes in that this process stood still, and returns the time. Nothing that was asked for before
// counts for what is now: its answers may have been given long ago, and lie in the socket. The connection is
// made anew, so that none of them comes, and nobody says that the servers were away.
func (r *run) attend() time.Time {
	now, from, stalled := r.stall.Take()
	if !stalled {
		return now
	}
	r.ensemble.Disturb(now)
	r.forgetClocks(now) // our own may have been set ahead, which looks the same
	r.stood = inspect.Interval{From: from, To: now}
	r.blindUntil(now)
	r.extra = inspect.Update{} // tables of before
	r.askAt, r.progress = now, now
	if r.link != nil {
		r.reconnect(now)
	}
	return now
}

// forgetClocks drops what relates the servers' clocks to ours, which was set, and has it measured again.
func (r *run) forgetClocks(now time.Time) {
	r.heardAt, r.askAt = time.Time{}, now
	r.ensemble.ForgetClocks()
}

// looksAgain takes in that there is a connection. The first one after a stall that took its time to come made
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
	if r.link == nil {
		return
	}
	from, until := r.link.tap.Late()
	if until.IsZero() || r.cfg.Once {
		return
	}
	r.lateUntil = until
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: until}})
}
