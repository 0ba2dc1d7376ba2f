package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// halfway is a change that one read may catch halfway. Its rule finds the evidence as of the last
// read, or nothing if there is no evidence.
type halfway struct {
	evidence string
	read     time.Time
}

func (h *halfway) rules() []Rule {
	return []Rule{{
		Name: "halfway",
		AsOf: func(*Case) time.Time { return h.read },
		Lock: func(*Case) []Finding {
			if h.evidence == "" {
				return nil
			}
			return []Finding{{Rule: "halfway", Severity: Warning, Message: "m", Evidence: map[string]any{"masters": h.evidence}}}
		},
	}}
}

func secondsOn(n float64) time.Time { return now.Add(time.Duration(n * float64(time.Second))) }

// A backend that is read once has no second read here, since its reader reads twice (see Lasting).
func TestSingleLookReportsTransientFindings(t *testing.T) {
	look := halfway{"x", now}
	s := ran(t, now, func(o *Observer) { o.Diagnose(look.rules(), time.Hour) },
		Update{Put: []*Lock{queueOf(t, "11 12")}}, Update{Backend: zkOnce})
	expect(t, "at the end", rulesOf(s.Lock(ID{"zk", "/l"})), "halfway")
}

// No state is kept about locks without findings.
func TestSuspicionsAreForgotten(t *testing.T) {
	a := applying(t)
	a.halfway = halfway{"x", now}
	a.Diagnose(a.halfway.rules(), time.Hour)
	other := queueAt(t, "/other", "11 12")
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12"), other}, Backend: zkUp})
	if s := &a.suspicions; len(s.of) != 2 || len(s.due) != 2 {
		t.Fatalf("%d suspected locks, %d due", len(s.of), len(s.due))
	}
	a.evidence = ""
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
