package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// Differences describes how the locks changed between two snapshots, in a headline and lines below
// it. A blank line precedes each lock and backend, and its changes are indented. Those with
// findings come first, those that only changed hands last. If brief, these are only named. at
// returns when a finding was reported or cleared, empty if unknown; it may be nil.
func Differences(
	list []inspect.Difference, skipped []inspect.NotCompared, brief bool,
	at func(*inspect.Difference, *inspect.Finding, inspect.EventKind) string,
) (head string, lines []string) {
	slices.SortStableFunc(list, func(a, b inspect.Difference) int { return cmp.Compare(weight(&b), weight(&a)) })
	if head = "nothing changed"; len(list)+len(skipped) > 0 {
		head = Count(countLocks(list), "lock") + " changed"
	}
	for _, s := range skipped {
		lines = append(lines, "", "backend "+Printable(s.Backend), "  not compared: "+Printable(s.Reason))
	}
	var routine []string
	for i := range list {
		d := &list[i]
		if brief && weight(d) == 0 {
			routine = append(routine, d.Lock.String())
			continue
		}
		lines = append(lines, "", headOf(d))
		for _, group := range []struct {
			word string
			who  []*inspect.Contender
		}{
			{"acquired", d.Acquired}, {"no longer holds", d.Ended}, {"now waits", d.Joined}, {"no longer waits", d.Left},
		} {
			for _, c := range group.who {
				lines = append(lines, fmt.Sprintf("  %-15s  %s", group.word, Contender(c)))
			}
		}
		for _, group := range []struct {
			word string
			kind inspect.EventKind
			list []*inspect.Finding
		}{{"reported", inspect.EventFinding, d.New}, {"cleared", inspect.EventCleared, d.Gone}} {
			for _, f := range group.list {
				text := fmt.Sprintf("%s: %s: %s", f.Severity, f.Rule, Printable(f.Message))
				if at != nil {
					text = strings.TrimSpace(at(d, f, group.kind) + "  " + text)
				}
				lines = append(lines, fmt.Sprintf("  %-15s  %s", group.word, text))
			}
		}
	}
	if len(routine) > 0 {
		lines = append(lines, "", Count(len(routine), "lock")+" changed only holders or waiters")
		for few := range slices.Chunk(routine, 4) {
			lines = append(lines, "  "+strings.Join(few, ", "))
		}
	}
	return head, lines
}

// weight is higher for what users should read first.
func weight(d *inspect.Difference) int {
	worst := 0
	for _, f := range d.New {
		worst = max(worst, 3+f.Severity.Rank())
	}
	switch {
	case worst > 0:
		return worst
	case len(d.Gone) > 0 || d.Was != d.Is:
		return 2
	case d.From == nil || d.To == nil || StateLevel(d.To) != StateLevel(d.From) && StateLevel(d.To) > LevelHeld:
		return 1
	}
	return 0
}

func countLocks(list []inspect.Difference) int {
	return each.Count(list, func(d inspect.Difference) bool { return d.Lock != (inspect.ID{}) })
}

// headOf names a lock or backend, and its states if they differ.
func headOf(d *inspect.Difference) string {
	switch {
	case d.Lock == (inspect.ID{}) && d.Was == d.Is:
		return "backend " + Printable(d.Backend)
	case d.Lock == (inspect.ID{}):
		return fmt.Sprintf("backend %s   %s, now %s", Printable(d.Backend), d.Was, d.Is)
	case d.From == nil:
		return fmt.Sprintf("%s   appeared, %s", d.Lock, stateOf(d.To))
	case d.To == nil:
		return fmt.Sprintf("%s   gone, was %s", d.Lock, stateOf(d.From))
	case d.From.State == d.To.State:
		return fmt.Sprintf("%s   %s", d.Lock, stateOf(d.To))
	default:
		return fmt.Sprintf("%s   %s, now %s", d.Lock, stateOf(d.From), stateOf(d.To))
	}
}

// stateOf is a lock's state within a sentence.
func stateOf(l *inspect.Lock) string {
	if l.State == inspect.StateMinority {
		return "short of a quorum"
	}
	return StateWord(l.State)
}
