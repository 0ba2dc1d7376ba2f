package zksource

import (
	"time"

	"lockscope/inspect"
)

// disturb notes that clients had reason to connect anew at an instant of our clock, however soon after another.
func (r *run) disturb(at time.Time) {
	if at.After(r.disturbedAt) {
		r.disturbedAt = at.Round(0)
	}
}

// disturbAbout does so by an instant that was computed, and comes out a little differently each time.
func (r *run) disturbAbout(at time.Time) {
	if at.Sub(r.disturbedAt) > jitter {
		r.disturb(at)
	}
}

// jitter is the tolerance of an instant that was computed from an age: round trips vary.
const jitter = 5 * time.Second

// disturbedBy derives from the servers' reports the last time that clients had reason to connect anew: a
// server began to serve, which each does anew after an election, or stopped. answers are the new ones,
// r.answers those before.
func (r *run) disturbedBy(answers []serverAnswer) {
	for i := range answers {
		a, before := &answers[i], r.answers[i]
		switch {
		case before.serves() && a.asked && !a.serves():
			r.disturb(a.at)
		case !a.serves():
		case a.status.Uptime > 0:
			r.disturbAbout(a.at.Add(-a.status.Uptime))
		case before.serves() && before.status.Role == a.status.Role && before.status.Zxid>>32 == a.status.Zxid>>32:
			// It does not report the beginning of its service, and has served all the time between two answers, most
			// likely.
		case !a.oldest.IsZero():
			ahead := a.clock
			if !ahead.known { // nor may this be: then its clock passes for ours
				ahead = r.clock.ofServer(i, answers)
			}
			serves := a.oldest.Add(-ahead.middle()) // since then at least
			if serves.After(a.at) {
				serves = a.at
			}
			r.disturbAbout(serves)
		default:
			r.disturb(a.at)
		}
	}
}

// attend takes in that this process stood still, and returns the time. Nothing that was asked for before
// counts for what is now: its answers may have been given long ago, and lie in the socket. The connection is
// made anew, so that none of them comes, and nobody says that the servers were away.
func (r *run) attend() time.Time {
	now, from, stalled := r.stall.Take()
	if !stalled {
		return now
	}
	r.disturb(now)
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
	r.clock.known, r.heardAt, r.askAt = false, time.Time{}, now
	for i := range r.answers {
		r.answers[i].clock = bounds{}
	}
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
