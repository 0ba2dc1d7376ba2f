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

// secondsOn is a time after now.
func secondsOn(n float64) time.Time { return now.Add(time.Duration(n * float64(time.Second))) }

// A backend that is read once has no second read here, since its reader reads twice (see Lasting).
func TestSingleLookReportsTransientFindings(t *testing.T) {
	look := halfway{"x", now}
	s := ran(t, now, func(o *Observer) { o.Diagnose(look.rules(), time.Hour) },
		Update{Put: []*Lock{queueOf(t, "11 12")}}, Update{Backend: zkOnce})
	must.Equal(t, rulesOf(s.Lock(ID{"zk", "/l"})), "halfway", "at the end")
}

// No state is kept about locks without findings.
func TestSuspicionsAreForgotten(t *testing.T) {
	a := applying(t)
	a.halfway = halfway{"x", now}
	a.Diagnose(a.halfway.rules(), time.Hour)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12"), queueAt(t, "/other", "11 12")}, Backend: zkUp})
	s := &a.suspicions
	must.Same(t, []int{len(s.of), len(s.due)}, []int{2, 2}, "suspected, due")
	a.evidence = ""
	a.send(1, Update{Gone: []ID{{"zk", "/l"}}, Put: []*Lock{at(queueAt(t, "/other", "11 12"), 1)}})
	a.onBeat(now.Add(SettleFor))
	must.Same(t, []int{len(s.of), len(s.due), len(s.queued)}, []int{0, 0, 0}, "suspected, due, queued")
}

func TestTwoLooksKeepOnlyLastingFindings(t *testing.T) {
	id := ID{"zk", "/l"}
	look := func(found []Finding) *Snapshot {
		l := queueOf(t, "11 12")
		l.Findings = found
		return NewSnapshot(now, nil, []*Lock{l})
	}
	passing := func(rule string) bool { return rule == "passes" }
	about := func(rule, contender string) []Finding {
		return []Finding{{Rule: rule, Subject: Subject{Contender: Untrusted(contender)}}}
	}
	votes := func(says string) []Finding {
		return []Finding{{Rule: "passes", Evidence: map[string]any{"masters": []map[string]any{{"addr": "r1", "says": says}}}}}
	}
	for name, tt := range map[string]struct {
		before, after []Finding
		want          int
	}{
		"it lasts":                             {about("passes", "a"), about("passes", "a"), 1},
		"another subject":                      {about("passes", "a"), about("passes", "b"), 0},
		"it is new":                            {nil, about("passes", "a"), 0},
		"a lasting state needs no second read": {nil, about("stays", "a"), 1},
		"a lasting state of another contender": {about("passes", "a"), about("stays", "b"), 1},
		"the same votes":                       {votes("x"), votes("x"), 1},
		"the votes of another attempt":         {votes("x"), votes("y"), 0},
		"votes that were not evidence before":  {about("passes", ""), votes("y"), 0},
	} {
		after := look(tt.after)
		must.Equal(t, len(after.Lasting(look(tt.before), passing).Lock(id).Findings), tt.want, name)
		inNewLock := after.Lasting(NewSnapshot(now, nil, nil), passing).Lock(id).Findings
		must.Equal(t, len(inNewLock) == 0, passing(tt.after[0].Rule), name, "in a new lock")
		must.Equal(t, len(after.Lock(id).Findings), 1, name, "in the later snapshot itself")
	}
}
