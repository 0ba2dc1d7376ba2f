package describe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// Differences describes how the locks changed between two snapshots, in a headline and lines below
// it. A blank line precedes each lock and backend, and its changes are indented. Those with
// findings come first, those that only changed hands last. only is the lock to compare; zero
// compares all.
func Differences(from, to *inspect.Snapshot, only inspect.ID) (head string, lines []string) {
	list, skipped := inspect.Differences(from, to)
	if only != (inspect.ID{}) {
		list = slices.DeleteFunc(list, func(d inspect.Difference) bool { return d.Lock != only })
		skipped = slices.DeleteFunc(skipped, func(s inspect.NotCompared) bool { return s.Backend != only.Backend })
	}
	slices.SortStableFunc(list, func(a, b inspect.Difference) int { return cmp.Compare(weight(&b), weight(&a)) })
	if head = "nothing changed"; len(list)+len(skipped) > 0 {
		head = Count(countLocks(list), "lock") + " changed"
	}
	for _, s := range skipped {
		lines = append(lines, "", "backend "+Printable(s.Backend), "  not compared: "+Printable(s.Reason))
	}
	for i := range list {
		d := &list[i]
		lines = append(lines, "", headOf(d))
		for _, group := range []struct {
			word string
			who  []*inspect.Contender
		}{{"acquired", d.Acquired}, {"ended   ", d.Ended}, {"joined  ", d.Joined}, {"left    ", d.Left}} {
			for _, c := range group.who {
				lines = append(lines, "  "+group.word+"  "+Contender(c))
			}
		}
		for _, group := range []struct {
			word string
			list []*inspect.Finding
		}{{"new ", d.New}, {"gone", d.Gone}} {
			for _, f := range group.list {
				lines = append(lines, fmt.Sprintf("  %s finding  %s: %s: %s",
					group.word, f.Severity, f.Rule, Printable(f.Message)))
			}
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
		return fmt.Sprintf("%s   appeared, %s", d.Lock, StateWord(d.To.State))
	case d.To == nil:
		return fmt.Sprintf("%s   gone, was %s", d.Lock, StateWord(d.From.State))
	case d.From.State == d.To.State:
		return fmt.Sprintf("%s   %s", d.Lock, StateWord(d.To.State))
	default:
		return fmt.Sprintf("%s   %s, now %s", d.Lock, StateWord(d.From.State), StateWord(d.To.State))
	}
}
