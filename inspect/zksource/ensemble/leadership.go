package ensemble

// recordLeaders records since which answer each server says that it leads, without an answer in between that
// says otherwise. A paused one answers waiting requests before it knows that others have
// elected another.
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
