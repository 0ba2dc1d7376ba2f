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
	if len(held) > 0 {
		wrong := picture{}
		for lock := range held {
			wrong[lock] = held[lock] + "x"
		}
		if len(differences(wrong, held)) != len(held) || len(differences(picture{}, held)) != len(held) {
			t.Error("control: a wrong picture was not noticed")
		}
	}
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
	none, looked := missed(notes, f, events, observerName, at, time.Now())
	if all, _ := missed(notes, f, nil, observerName, at, time.Now()); none != nil || len(all) != 1 || looked != 1 {
		t.Error("want a missed grant only if it was not reported")
	}
	for blind, could := range map[string]int{"five": 0, "zk": 1} {
		said := observed{Event: "blind", Backend: &struct{ Name, State, Error string }{Name: blind}, by: observerName}
		said.Between.From, said.Between.To = at.Add(2*time.Second), at.Add(3*time.Second)
		if _, looked := missed(notes, f, []observed{said}, observerName, at, time.Now()); looked != could {
			t.Errorf("blind for %s: %d holds could be seen, want %d", blind, looked, could)
		}
	}
	if judge.event(events[0]) != "" || judge.event(events[0]) == "" {
		t.Error("a second grant without an end was not noticed")
	}
	notes.record("", "five:lock:a", "dead", func(h *hold) { h.acquired, h.lost = at, at.Add(time.Second) })
	between := falsify("ended", 20*time.Second) // dated then
	for from, wrong := range map[time.Duration]bool{5 * time.Second: false, 10 * time.Second: true} {
		if between.Between.From, between.Between.To = at.Add(from), between.At; (judge.event(between) != "") != wrong {
			t.Errorf("an end between %v and 20 s, in truth at 6 s: wrong is %v", from, !wrong)
		}
	}
	died := falsify("released", 10*time.Second)
	died.Contender = &struct{ Name string }{"dead"}
	for _, sure := range []string{"certain", "likely"} {
		if died.Certainty = sure; judge.event(died) == "" {
			t.Errorf("the %s release of a client that died was not noticed", sure)
		}
	}
}
