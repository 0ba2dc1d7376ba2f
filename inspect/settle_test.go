package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// halfway is a rule about a change that one read may catch halfway. It finds *evidence as of the
// second *read, or nothing if *evidence is empty.
func halfway(evidence *string, read *float64) []Rule {
	return []Rule{{
		Name: "halfway",
		AsOf: func(*Case) time.Time { return now.Add(time.Duration(*read * float64(time.Second))) },
		Lock: func(*Case) []Finding {
			if *evidence == "" {
				return nil
			}
			return []Finding{{Rule: "halfway", Severity: Warning, Message: "m", Evidence: map[string]any{"masters": *evidence}}}
		},
	}}
}

// looks controls the findings of the rule halfway in a lock, and the second of its read.
type looks struct {
	evidence string
	read     float64
}

// see makes the source report a lock with these facts.
func (s *looks) see(a *applied, l *Lock, at float64, what string) {
	s.evidence, s.read = what, at
	l.ReadAt = secondsOn(at)
	a.clock.at = l.ReadAt
	a.apply(sourceUpdate{0, Update{Put: []*Lock{l}}})
}

// pass lets time pass without changes or reads.
func (a *applied) pass(from, to float64) {
	for at := secondsOn(from); at.Before(secondsOn(to)); at = at.Add(beat) {
		a.clock.at = at
		a.onBeat(at)
	}
}

func secondsOn(n float64) time.Time { return now.Add(time.Duration(n * float64(time.Second))) }

// findings returns the finding events published since the previous call.
func (a *applied) findings(t *testing.T) (list []Event) {
	t.Helper()
	if len(a.sub.signal) == 0 {
		return nil
	}
	s := must.Have(a.sub.Next(t.Context()))(t)
	for _, e := range s.Events {
		if e.Kind == EventFinding || e.Kind == EventCleared {
			list = append(list, e)
		}
	}
	return list
}

// A finding that one read may catch halfway is reported after a second read, at least SettleFor
// later, with the same evidence.
func TestTransientFindingNeedsSecondLook(t *testing.T) {
	var l looks
	down, gap := *zkUp, &Gap{Backend: "zk", From: now.Add(time.Second / 2), Until: now.Add(4 * time.Second)}
	down.State = Down
	steps := func(do ...func(a *applied)) []func(a *applied) { return do }
	sees := func(at float64, what string) func(*applied) {
		return func(a *applied) { l.see(a, queueOf(t, "11 12"), at, what) }
	}
	passes := func(from, to float64) func(*applied) { return func(a *applied) { a.pass(from, to) } }
	knows := func(at float64) func(*applied) { return func(*applied) { l.read = at } } // a table with the same evidence
	hears := func(u Update) func(*applied) { return func(a *applied) { a.apply(sourceUpdate{0, u}) } }
	for _, c := range []struct {
		name     string
		do       []func(*applied)
		reported string
	}{
		{"one read", steps(sees(0, "x"), passes(0.1, 10)), ""},
		{"two reads, too close", steps(sees(0, "x"), sees(0.9, "x"), passes(1, 10)), ""},
		{"two reads", steps(sees(0, "x"), sees(1.1, "x")), "finding halfway"},
		{"it is reported once", steps(sees(0, "x"), sees(1.1, "x"), sees(2.2, "x"), passes(2, 4)), "finding halfway"},
		{"its evidence was read again, the lock is unchanged", steps(sees(0, "x"), knows(1), passes(0.1, 2.5)), "finding halfway"},
		{"the same evidence, but gone in between", steps(sees(0, "x"), sees(0.6, ""), sees(1.1, "x"), passes(1.2, 2.2)), ""},
		{"different evidence each time", steps(sees(0, "x"), sees(0.6, "y"), sees(1.1, "z"), sees(1.9, "x")), ""},
		{"the second of two", steps(sees(0, "x"), sees(0.6, "y"), sees(1.1, "y"), sees(1.7, "y")), "finding halfway"},
		{"gone before the second read", steps(sees(0, "x"), passes(0.1, 1.1), sees(1.2, ""), passes(1.3, 5)), ""},
		{"a gap in between", steps(sees(0, "x"), hears(Update{Gap: gap}), sees(4.5, "x"), passes(4.6, 4.9)), ""},
		{"the backend was down in between", steps(sees(0, "x"), hears(Update{Backend: &down}), passes(0.1, 3), hears(Update{Backend: zkUp}), sees(3, "x")), ""},
		{"still found after the gap", steps(sees(0, "x"), hears(Update{Gap: gap}), sees(4.5, "x"), sees(5.6, "x")), "finding halfway"},
		{"a reported finding stays over a gap", steps(sees(0, "x"), sees(1.1, "x"), hears(Update{Gap: gap}), sees(4.5, "x"), passes(4.6, 12)), "finding halfway"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := applying(t)
			a.Diagnose(halfway(&l.evidence, &l.read), time.Hour)
			l.evidence = ""
			a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
			a.reports(t)
			for _, do := range c.do {
				do(a)
			}
			a.publish()
			expect(t, c.name, short(a.findings(t)), c.reported)
			must.Equal(t, rulesOf(a.locks.get(ID{"zk", "/l"})) != "", (c.reported != ""), "the lock has findings")
		})
	}
}

// A backend that is read once has no second read here, since its reader reads twice (see Lasting).
func TestSingleLookReportsTransientFindings(t *testing.T) {
	once := *zkUp
	once.Mode = ModeOnce
	evidence, read := "x", 0.0
	src := script{make(chan Update, 2)}
	src.updates <- Update{Put: []*Lock{queueOf(t, "11 12")}}
	src.updates <- Update{Backend: &once}
	close(src.updates)
	o := NewObserver(func() time.Time { return now }, src)
	o.Diagnose(halfway(&evidence, &read), time.Hour)
	must.Succeed(t, o.Run(t.Context()))
	expect(t, "at the end", rulesOf(o.Snapshot().Lock(ID{"zk", "/l"})), "halfway")
}

// No state is kept about locks without findings.
func TestSuspicionsAreForgotten(t *testing.T) {
	a := applying(t)
	evidence, read := "x", 0.0
	a.Diagnose(halfway(&evidence, &read), time.Hour)
	other := queueOf(t, "11 12")
	other.ID.Path = "/other"
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12"), other}, Backend: zkUp})
	if s := &a.suspicions; len(s.of) != 2 || len(s.due) != 2 {
		t.Fatalf("%d suspected locks, %d due", len(s.of), len(s.due))
	}
	evidence = ""
	again := *other
	again.ReadAt = now.Add(SettleFor)
	a.send(1, Update{Gone: []ID{{"zk", "/l"}}, Put: []*Lock{&again}})
	a.onBeat(now.Add(SettleFor))
	if s := &a.suspicions; len(s.of) != 0 || len(s.due) != 0 || len(s.queued) != 0 {
		t.Errorf("%d suspected locks, %d due, %d queued", len(s.of), len(s.due), len(s.queued))
	}
}

func TestTwoLooksKeepOnlyLastingFindings(t *testing.T) {
	look := func(fs ...Finding) *Snapshot {
		l := queueOf(t, "11 12")
		l.Findings = fs
		return NewSnapshot(now, nil, []*Lock{l})
	}
	passing := func(rule string) bool { return rule == "passes" }
	about := func(rule, contender string) Finding {
		return Finding{Rule: rule, Subject: Subject{Contender: Untrusted(contender)}}
	}
	votes := func(says string) Finding {
		return Finding{Rule: "passes", Evidence: map[string]any{"masters": []map[string]any{{"addr": "r1", "says": says}}}}
	}
	for _, c := range []struct {
		name           string
		before, after  Finding
		want           int
		nothingAtFirst bool
	}{
		{name: "it lasts", before: about("passes", "a"), after: about("passes", "a"), want: 1},
		{name: "another subject", before: about("passes", "a"), after: about("passes", "b")},
		{name: "it is new", after: about("passes", "a"), nothingAtFirst: true},
		{name: "a lasting state needs no second read", after: about("stays", "a"), nothingAtFirst: true, want: 1},
		{name: "the same votes", before: votes("x"), after: votes("x"), want: 1},
		{name: "the votes of another attempt", before: votes("x"), after: votes("y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := look(c.before), look(c.after)
			if c.nothingAtFirst {
				before = NewSnapshot(now, nil, nil)
			}
			id := queueOf(t, "11").ID
			if got := after.Lasting(before, passing).Lock(id).Findings; len(got) != c.want {
				t.Errorf("%d findings: %+v, want %d", len(got), got, c.want)
			}
			must.Equal(t, len(after.Lock(id).Findings), 1, "the later snapshot was changed")
		})
	}
}
