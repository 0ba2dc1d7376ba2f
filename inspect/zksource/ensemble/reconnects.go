package ensemble

import "time"

// Disturb records that clients had reason to reconnect at an instant of our clock, however soon
// after the last one.
func (e *Ensemble) Disturb(at time.Time) {
	if at.After(e.disturbedAt) {
		e.disturbedAt = at.Round(0)
	}
}

// disturbAbout is Disturb for a computed instant, which varies a little each time.
func (e *Ensemble) disturbAbout(at time.Time) {
	if at.Sub(e.disturbedAt) > jitter {
		e.Disturb(at)
	}
}

// jitter is the tolerance for an instant computed from an age: round trips vary.
const jitter = 5 * time.Second

// disturbedBy derives from new answers the last time that clients had reason to reconnect: a server
// stopped serving, or began to. Every server begins again after an election.
func (e *Ensemble) disturbedBy(answers []answer) {
	for i := range answers {
		a, before := &answers[i], e.answers[i]
		switch {
		case before.serves() && a.asked && !a.serves():
			e.Disturb(a.at)
		case !a.serves():
		case a.status.Uptime > 0:
			e.disturbAbout(a.at.Add(-a.status.Uptime))
		case before.serves() && before.status.Role == a.status.Role && before.epoch() == a.epoch():
			// It does not report when it began to serve. Most likely it served throughout between
			// two answers.
		case !a.oldest.IsZero():
			ahead := a.clock
			if !ahead.known { // nor may this be: then its clock passes for ours
				ahead = e.clock.ofServer(i, answers)
			}
			serves := a.oldest.Add(-ahead.middle()) // since then at least
			if serves.After(a.at) {
				serves = a.at
			}
			e.disturbAbout(serves)
		default:
			e.Disturb(a.at)
		}
	}
}
