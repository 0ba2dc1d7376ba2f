package jsonform

import (
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// Event formats an event as a line of watch, with times by the clock of backend b, or by ours if b
// is nil.
func Event(e inspect.Event, b *inspect.Backend) any {
	offset := b.ClockOffset()
	j := jsonEvent{Event: e.Kind, At: stamp(e.At.Add(offset)), Certainty: e.Certainty}
	if e.Lock != (inspect.ID{}) {
		j.Lock = e.Lock.String()
	}
	if e.Finding != nil {
		j.Finding = new(findingJSON(*e.Finding))
	}
	if e.Contender != nil {
		j.Contender = new(contenderJSON(e.Contender, e.At, b))
	}
	if p := e.Previous; p != nil {
		j.From, j.Previous = new(p.Name.String()), new(contenderJSON(p, e.At, b))
	}
	if e.Between != (inspect.Interval{}) {
		j.Between = &jsonInterval{stamp(e.Between.From.Add(offset)), stamp(e.Between.To.Add(offset))}
	}
	if c := e.Change; c != nil {
		j.Change = &jsonChange{c.What, inspect.Escape(c.From), inspect.Escape(c.To)}
	}
	if e.Backend != nil {
		j.Backend = new(backendJSON(e.Backend))
	}
	return j
}

type jsonEvent struct {
	Event     inspect.EventKind `json:"event"`
	At        string            `json:"at"`
	Lock      string            `json:"lock"`
	Contender *jsonContender    `json:"contender"`
	From      *string           `json:"from"`
	Finding   *jsonFinding      `json:"finding"`
	Backend   *jsonBackend      `json:"backend"`

	Certainty recipe.Confidence `json:"certainty"`
	Between   *jsonInterval     `json:"between,omitempty"`
	Previous  *jsonContender    `json:"previous,omitempty"`
	Change    *jsonChange       `json:"change,omitempty"`
}

type jsonInterval struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type jsonChange struct {
	What inspect.ChangeKind `json:"what"`
	From string             `json:"from"`
	To   string             `json:"to"`
}
