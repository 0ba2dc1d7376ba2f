package inspect

import "time"

// EventJSON is one line of watch in the contract's form. offset is the clock of the event's backend minus ours, which
// its times are told by.
func EventJSON(e Event, offset time.Duration) any {
	j := jsonEvent{Event: e.Kind, At: stamp(e.At.Add(offset)), Finding: e.Finding}
	if e.Lock != (ID{}) {
		j.Lock = e.Lock.String()
	}
	if e.Contender != nil {
		c := contenderJSON(e.Contender, e.At, offset)
		j.Contender = &c
	}
	if e.Kind == EventHandover {
		from := e.From.String()
		j.From = &from
	}
	if e.Backend != nil {
		b := backendJSON(e.Backend)
		j.Backend = &b
	}
	return j
}

type jsonEvent struct {
	Event     EventKind      `json:"event"`
	At        string         `json:"at"`
	Lock      string         `json:"lock"`
	Contender *jsonContender `json:"contender"`
	From      *string        `json:"from"`
	Finding   *Finding       `json:"finding"`
	Backend   *jsonBackend   `json:"backend"`
}
