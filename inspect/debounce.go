package inspect

import (
	"cmp"
	"slices"
	"time"
)

// debounce is the delay of a finding's end: some come and go with every change of hands.
const debounce = 5 * time.Second

// findingKey distinguishes a finding from others: of a lock or, with an empty path, of a backend.
type findingKey struct {
	about   ID
	subject string
}

// reportFindings reports which findings came, and notes which went. One that comes again soon was never gone.
func (o *Observer) reportFindings(was, is []Finding, e Event) {
	about := e.Lock
	if e.Backend != nil {
		about = ID{Backend: e.Backend.Name}
	}
	for _, e := range compareFindings(was, is, e) {
		key := findingKey{about, e.Finding.Key()}
		before, again := o.cleared[key]
		delete(o.cleared, key)
		switch {
		case e.Kind == EventCleared:
			o.cleared[key] = e
			o.clearing = append(o.clearing, clearing{key, e.At})
		case !again || e.Finding.Severity.Rank() > before.Finding.Severity.Rank():
			o.events = append(o.events, e)
		}
	}
}

// clearing is a finding and when it was cleared.
type clearing struct {
	findingKey
	at time.Time
}

// reportCleared reports the findings that have been gone for long enough.
func (o *Observer) reportCleared(now time.Time) {
	var gone []findingKey
	for len(o.clearing) > 0 && now.Sub(o.clearing[0].at) >= debounce {
		first := o.clearing[0]
		o.clearing = o.clearing[1:]
		if e, ok := o.cleared[first.findingKey]; ok && e.At.Equal(first.at) { // it has not come again since
			gone = append(gone, first.findingKey)
		}
	}
	slices.SortFunc(gone, func(a, b findingKey) int {
		return cmp.Or(a.about.Compare(b.about), cmp.Compare(a.subject, b.subject))
	})
	for _, key := range slices.Compact(gone) {
		e := o.cleared[key]
		e.At = now
		o.events = append(o.events, e)
		o.dirty = true
		delete(o.cleared, key)
	}
}
