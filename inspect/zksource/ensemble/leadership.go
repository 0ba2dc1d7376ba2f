package ensemble

// recordLeaders records the time from which each server has led in all of its answers.
// A paused leader may answer waiting requests before it learns of another election.
func (e *Ensemble) recordLeaders(answers []answer) {
	for i := range answers {
		a, before := &answers[i], &e.answers[i]
		if !a.serves() || !a.leads() {
			continue
		}
		if a.ledFrom = a.at; before.serves() && before.leads() && before.epoch() == a.epoch() {
			a.ledFrom = before.ledFrom
		}
	}
}
