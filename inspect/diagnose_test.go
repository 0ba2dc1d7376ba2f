package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// waitsLong depends on time, and needsPast on history.
func testRules() []Rule {
	finding := func(rule string) []Finding { return []Finding{{Rule: rule, Severity: Warning, Message: rule}} }
	return []Rule{
		{Name: "long", Lock: func(c *Case) []Finding {
			if len(c.Lock.Waiters) > 0 && c.Now.Sub(c.Lock.ReadAt) > c.StuckAfter {
				return finding("long")
			}
			return nil
		}},
		{Name: "past", NeedsHistory: true, Lock: func(c *Case) []Finding { return finding(fmt.Sprint("past ", c.History.Grants)) }},
		{Name: "backend", Backend: func(b *Backend, at time.Time) []Finding {
			if at.Sub(now) > time.Minute {
				return finding("backend")
			}
			return nil
		}},
	}
}

// rulesOf lists the rules of a lock's findings.
func rulesOf(l *Lock) string {
	return strings.Join(each.Of(l.Findings, func(f Finding) string { return f.Rule }), ", ")
}

func TestRulesRunAgainOverTime(t *testing.T) {
	a := applying(t)
	a.Diagnose(testRules(), 10*time.Second)
	blind := queueOf(t, "11 12")
	blind.Findings = []Finding{{Rule: "blind", Severity: Info, Message: "x"}}
	a.send(0, Update{Put: []*Lock{blind}, Backend: zkUp})
	must.Equal(t, a.reports(t), "finding blind, finding past 0", "at first")
	lap := func(seconds int) {
		for range beats {
			a.onBeat(now.Add(time.Duration(seconds) * time.Second))
		}
	}
	lap(5)
	must.Equal(t, a.reports(t), "", "nothing new")
	lap(11)
	must.Equal(t, a.reports(t), "finding long", "later")
	must.Equal(t, rulesOf(a.locks.get(blind.ID)), "blind, long, past 0", "source's first")
	was := a.locks.get(blind.ID)
	lap(12)
	must.True(t, a.locks.get(blind.ID) == was && !a.pending(), "a lock with unchanged findings was replaced")
	a.send(13, Update{Sessions: map[int64]Session{11: {ID: 11, Client: "10.0.0.1:99"}}})
	must.Equal(t, rulesOf(a.locks.get(blind.ID)), "blind, long, past 0", "read again, findings kept")
	a.reports(t)
	a.send(14, Update{Put: []*Lock{at(queueOf(t, "12"), 14)}})
	must.Equal(t, a.reports(t), "released 11, handover 11>12, finding past 1", "moved on")
	lap(120)
	must.Equal(t, a.reports(t), "cleared blind, cleared long, cleared past 0, finding backend", "backend")
	must.Equal(t, len(a.Snapshot().Backend("zk").Findings), 1, "findings of the backend")
	must.Equal(t, len(zkUp.Findings), 0, "findings in the source's own backend")
}

func TestRulesRunOnceAfterSinglePass(t *testing.T) {
	asked := 0
	rules := append(testRules(), Rule{Name: "count", Lock: func(c *Case) []Finding {
		asked++
		must.Equal(t, c.History, nil, "the history of a single pass")
		return nil
	}})
	s := ran(t, now.Add(time.Hour), func(o *Observer) { o.Diagnose(rules, time.Second) },
		Update{Put: []*Lock{queueOf(t, "11 12")}}, Update{Backend: zkOnce}, Update{Put: []*Lock{at(queueOf(t, "12 13"), 1)}})
	must.Equal(t, rulesOf(s.Lock(ID{"zk", "/l"})), "long", "at the end")
	must.Equal(t, asked, 1, "asked")
	must.Equal(t, len(s.Backend("zk").Findings), 1, "findings of the backend")
}

// counting counts how often each lock is checked.
func counting(t *testing.T) (a *applied, asked map[ID]int) {
	a, asked = applying(t), map[ID]int{}
	a.Diagnose([]Rule{{Name: "count", Lock: func(c *Case) []Finding { asked[c.Lock.ID]++; return nil }}}, time.Second)
	return a, asked
}

// Each waiting lock is checked within a lap of beats, although locks come and go during it.
func TestABeatMissesNoLock(t *testing.T) {
	a, asked := counting(t)
	a.send(0, Update{Put: manyQueues(t, 1234), Backend: zkUp})
	clear(asked)
	for i := range 20 * beats { // more than a lap, since a slow machine's budget may not suffice for one
		a.onBeat(now)
		a.send(1, Update{Gone: []ID{{"zk", fmt.Sprintf("/l%04d", 100*i)}}})
	}
	for l := range a.locks.all() {
		must.True(t, asked[l.ID] > 0, l.ID, "was never checked")
	}
}

// Each beat checks a share of the locks, so that a lap covers all.
func TestEachBeatChecksSomeLocks(t *testing.T) {
	a, asked := counting(t)
	const locks = 5000
	a.send(0, Update{Put: manyQueues(t, locks), Backend: zkUp})
	clear(asked)
	for beat := 0; len(asked) < locks && beat < 9000; beat++ { // a slow machine's budget may allow fewer
		before := len(asked)
		a.onBeat(now)
		must.True(t, len(asked)-before <= 200, len(asked)-before, "in one beat")
	}
	must.Equal(t, len(asked), locks, "checked")
}

// The rules use 5 % of a core per beat.
func TestTheRulesHaveABudget(t *testing.T) {
	a := applying(t)
	work, asked := now, 0
	a.worked = func() time.Time { return work }
	a.Diagnose([]Rule{{Name: "count", Lock: func(*Case) []Finding {
		work = work.Add(50 * time.Microsecond)
		asked++
		return nil
	}}}, time.Second)
	a.send(0, Update{Put: manyQueues(t, 4000), Backend: zkUp}) // so many that only the budget limits a beat
	asked = 0
	a.onBeat(now)
	must.True(t, asked >= 100 && asked <= 116, asked, "locks checked in a beat")
}

// A lasting split vote does not change, but a rule may report it only after a moment.
func TestSplitVoteIsCheckedAgain(t *testing.T) {
	for _, state := range []State{StateSplit, StateMinority} {
		must.True(t, ages(&Lock{State: state}), state, "is never checked again")
	}
	must.True(t, !ages(&Lock{State: StateFree}), "a free lock is checked again and again")
}

// The advice about a deadlock follows the queues of its locks, even if nothing else changes.
func TestDeadlockAdviceFollowsTheQueues(t *testing.T) {
	a := applying(t)
	a.Diagnose([]Rule{{Name: "deadlock", Lock: func(c *Case) []Finding {
		if c.Cycle == nil {
			return nil
		}
		return []Finding{{Rule: "deadlock", Severity: Critical, Message: "m", Steps: []Step{{Why: "free " + c.Cycle.Cheapest.Lock.Path}}}}
	}}}, time.Minute)
	waitedFor := func(l *Lock, seconds int) *Lock {
		l.Holders[0].BlockedBelow = int32(len(l.Waiters))
		return at(l, seconds)
	}
	advice := func() string {
		a.setCycles(findCycles(a.locks.all()), now)
		return a.locks.get(ID{"zk", "/1"}).Findings[0].Advice() + ", " + a.locks.get(ID{"zk", "/2"}).Findings[0].Advice()
	}
	a.send(0, Update{Put: []*Lock{waitedFor(chain("1", "a", "b"), 0), waitedFor(chain("2", "b", "a", "c"), 0)}, Backend: zkUp})
	must.Equal(t, advice(), "free /1, free /1", "at first")
	a.send(1, Update{Put: []*Lock{waitedFor(chain("1", "a", "b", "d", "e"), 1)}})
	must.Equal(t, advice(), "free /2, free /2", "more waiters")
	must.Equal(t, a.reports(t), "finding deadlock, finding deadlock, waiting 12, waiting 13", "reported once")
}
