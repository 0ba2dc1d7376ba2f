package soak

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// lies are the errors of a broken observer. Each falsifies one correct event.
var lies = []struct {
	name    string
	of      string // kind of event
	falsify func(e *observed, h hold)
}{
	{"a release is reported as a loss", "released", func(e *observed, _ hold) { e.Event = "lost" }},
	{"a release is reported as an expiry", "released", func(e *observed, _ hold) { e.Event = "expired" }},
	{"a release is reported as forced", "released", func(e *observed, _ hold) { e.Event = "forced" }},
	{"a release is reported before it was requested", "released", func(e *observed, h hold) { e.dated(h.releasing.Add(-2 * time.Second)) }},
	{"a holder is reported gone", "acquired", func(e *observed, h hold) { e.Event = "gone"; e.dated(h.releasing.Add(-1500 * time.Millisecond)) }},
	{"a grant is reported after the release", "acquired", func(e *observed, h hold) { e.dated(h.released.Add(late + time.Second)) }},
	{"a release is reported late", "released", func(e *observed, h hold) { e.dated(h.released.Add(late + longestSilence + time.Second)) }},
	{"a grant is dated after the release", "acquired", func(e *observed, h hold) {
		e.At = h.released.Add(time.Minute)
		e.Between.From, e.Between.To = h.released.Add(late+time.Second), e.At
	}},
	{"a grant is reported to an unknown client", "acquired", func(e *observed, _ hold) { e.Contender = &struct{ Name string }{"nobody"} }},
	{"a grant is reported on another lock", "acquired", func(e *observed, _ hold) { e.Lock += "-2" }},
	{"a false finding is reported", "acquired", func(e *observed, _ hold) {
		e.Event, e.Finding = "finding", &inspect.Finding{Rule: "no-ttl", Severity: inspect.Warning}
	}},
}

// controls tests the checkers. They must notice a wrong picture, and every lie about every correct
// event that has no fault nearby.
func controls(t *testing.T, notes *ledger, f *faults, events []observed, held picture) {
	t.Helper()
	quiet := func(e observed) (hold, bool) {
		h, known := notes.find(e.Lock, e.name())
		if !known || h.released.IsZero() || h.releasing.Sub(h.acquired) < 3*time.Second || !h.lost.IsZero() {
			return h, false
		}
		_, disturbed := f.during(h.asked.Add(-late), h.released.Add(2*late), ttl+late, backendOf(e.Lock), e.by)
		return h, !disturbed && !notes.nameless(e.Lock, e.At, f) // an attempt without a name may explain an unknown client
	}
	for _, lie := range lies {
		reported, noticed := 0, 0
		for _, e := range events {
			if e.Event != lie.of && (lie.of != "acquired" || e.Event != "handover") {
				continue
			}
			h, ok := quiet(e)
			if !ok {
				continue
			}
			if what := newJudge(notes, f).event(e); what != "" {
				continue // already wrong
			}
			lie.falsify(&e, h)
			if _, disturbed := f.during(h.released, e.At.Add(2*late), ttl+late, backendOf(e.Lock), e.by); disturbed {
				continue // a fault excuses the lie
			}
			reported++
			if newJudge(notes, f).event(e) != "" {
				noticed++
			}
		}
		t.Logf("control: %s: noticed %d of %d times", lie.name, noticed, reported)
		must.True(t, noticed >= reported, "control", lie.name, "noticed only", noticed, "of", reported, "times")
	}
	wrong := picture{}
	for lock := range held {
		wrong[lock] = held[lock] + "x"
	}
	must.Equal(t, len(differences(wrong, held)), len(held), "control: differences to a wrong picture")
	must.Equal(t, len(differences(picture{}, held)), len(held), "control: differences to an empty picture")
}

// oneHold is a hold that was requested a minute ago, granted after 1 s and released after 6 s.
func oneHold() (notes *ledger, at time.Time) {
	notes, at = newLedger(), time.Now().Add(-time.Minute)
	notes.record("", "five:lock:a", "x", func(h *hold) {
		h.client, h.asked, h.acquired = "c", at, at.Add(time.Second)
		h.releasing, h.released = at.Add(6*time.Second), at.Add(6*time.Second+time.Millisecond)
	})
	return notes, at
}

// Made-up events test every lie without servers.
func TestCheckersNoticeFalseReports(t *testing.T) {
	notes, at := oneHold()
	f := &faults{}
	falsify := func(kind string, after time.Duration) observed {
		return observed{Event: kind, At: at.Add(after), Lock: "five:lock:a", Contender: &struct{ Name string }{"x"}, by: observerName}
	}
	events := []observed{falsify("acquired", time.Second), falsify("released", 6*time.Second)}
	bounded := events[0] // as found by a poll
	bounded.Between.From, bounded.Between.To = at, bounded.At
	controls(t, notes, f, []observed{bounded}, nil)
	judge := newJudge(notes, f)
	for _, e := range events {
		must.Equal(t, judge.event(e), "", e.Event, "verdict")
	}
	controls(t, notes, f, events, picture{"five:lock:a": "x | "})
	all, looked := missed(notes, f, events, observerName, at, time.Now())
	must.True(t, all == nil && looked == 1, "a reported grant is missed", all)
	all, _ = missed(notes, f, nil, observerName, at, time.Now())
	must.Equal(t, len(all), 1, "missed grants that were not reported", all)
	for blind, could := range map[string]int{"five": 0, "zk": 1} {
		said := observed{Event: "blind", Backend: &struct{ Name, State, Error string }{Name: blind}, by: observerName}
		said.Between.From, said.Between.To = at.Add(2*time.Second), at.Add(3*time.Second)
		_, looked := missed(notes, f, []observed{said}, observerName, at, time.Now())
		must.Equal(t, looked, could, "blind for", blind, "holds that could be seen")
	}
	must.Equal(t, judge.event(events[0]), "", "a grant")
	must.True(t, judge.event(events[0]) != "", "a second grant without an end was not noticed")
	notes.record("", "five:lock:a", "dead", func(h *hold) { h.acquired, h.lost = at, at.Add(time.Second) })
	between := falsify("ended", 20*time.Second) // dated then
	for from, wrong := range map[time.Duration]bool{5 * time.Second: false, 10 * time.Second: true} {
		between.Between.From, between.Between.To = at.Add(from), between.At
		must.Equal(t, judge.event(between) != "", wrong, "an end at 6 s, reported between", from, "and 20 s: wrong")
	}
	died := falsify("released", 10*time.Second)
	died.Contender = &struct{ Name string }{"dead"}
	for _, sure := range []string{"certain", "likely"} {
		died.Certainty = sure
		must.True(t, judge.event(died) != "", "the", sure, "release of a client that died was not noticed")
	}
}
