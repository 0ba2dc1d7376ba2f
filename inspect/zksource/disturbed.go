package zksource

import (
	"time"

	"lockscope/inspect"
)

// disturb notes that clients had reason to connect anew at an instant of our clock. The same instant may be read a little
// differently each time.
func (r *run) disturb(at time.Time) {
	if at.Sub(r.disturbedAt) > jitter {
		r.disturbedAt = at.Round(0)
	}
}

// jitter is the tolerance of an instant that was computed from an age: round trips vary.
const jitter = 5 * time.Second

// disturbedBy derives from the servers' reports the last time that clients had reason to connect anew: a server began to
// serve, which each does anew after an election, or stopped. answers are the new ones, r.answers those before.
func (r *run) disturbedBy(answers []serverAnswer) {
	for i := range answers {
		a, before := &answers[i], r.answers[i]
		switch {
		case before.serves() && a.asked && !a.serves():
			r.disturb(a.at)
		case !a.serves():
		case a.status.Uptime > 0:
			r.disturb(a.at.Add(-a.status.Uptime))
		case before.serves() && before.status.Role == a.status.Role && before.status.Zxid>>32 == a.status.Zxid>>32:
			// It does not report the beginning of its service, and has served all the time between two answers, most
			// likely.
		case !a.oldest.IsZero():
			r.disturb(a.oldest.Add(-r.clock.offset())) // it serves since then at least
		default:
			r.disturb(a.at)
		}
	}
}

// stallLimit is the time without a beat of the loop after which this process must have been stopped.
const stallLimit = 3 * time.Second

// stalled reports a time in which this process did not run.
func (r *run) stalled(now time.Time) {
	from, stalled := r.stall.Beat(now, stallLimit)
	if !stalled {
		return
	}
	r.disturb(now)
	r.askAt = now
	r.emit(inspect.Update{Gap: &inspect.Gap{Backend: r.cfg.Backend, From: from, Until: now}})
}
