package ensemble

import "time"

// Disturb records that clients had reason to reconnect at a time by our clock, even if that is soon
// after the previous one.
func (e *Ensemble) Disturb(at time.Time) {
	if at.After(e.disturbedAt) {
		e.disturbedAt = at.Round(0)
	}
}

// disturbAbout is Disturb for a computed time, which varies a little.
func (e *Ensemble) disturbAbout(at time.Time) {
	if at.Sub(e.disturbedAt) > jitter {
		e.Disturb(at)
	}
}

// jitter is the tolerance for a time computed from an age, since round trips vary.
const jitter = 5 * time.Second

// disturbedBy derives from new answers when clients last had reason to reconnect, because a server
// stopped or started serving. Every server starts again after an election.
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
			// It does not report when it started. Most likely it served throughout.
		case !a.oldest.IsZero():
			ahead := a.clock
			if !ahead.known { // if this is unknown too, its clock is assumed to be right
				ahead = e.clock.ofServer(i, answers)
			}
			serves := a.oldest.Add(-ahead.middle()) // it has been serving since at least then
			if serves.After(a.at) {
				serves = a.at
			}
			e.disturbAbout(serves)
		default:
			e.Disturb(a.at)
		}
	}
}
