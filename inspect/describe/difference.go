package describe

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// Differences says what became of the locks from one moment to another: in a headline, and in lines below it. A blank
// line comes before each lock and backend, and what changed of it is indented.
func Differences(from, to *inspect.Snapshot) (head string, lines []string) {
	list, skipped := inspect.Differences(from, to)
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
		}{{"acquired", d.Acquired}, {"let go  ", d.Ended}, {"came    ", d.Joined}, {"left    ", d.Left}} {
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

func countLocks(list []inspect.Difference) int {
	return each.Count(list, func(d inspect.Difference) bool { return d.Lock != (inspect.ID{}) })
}

// headOf names a lock or backend, and its states where they differ.
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
