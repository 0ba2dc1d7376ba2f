package describe

import (
	"fmt"

	"lockscope/inspect"
)

// Summary says in a few words who holds a lock, or why nobody does.
func Summary(l *inspect.Lock) string {
	switch l.State {
	case inspect.StateFree:
		return "free"
	case inspect.StateSplit:
		return "split " + l.Ballot()
	case inspect.StateMinority:
		return fmt.Sprintf("minority %d of %d", l.Votes(), len(l.Masters))
	case inspect.StateUnknown:
		return "unknown"
	}
	switch n := len(l.Holders); n {
	case 0: // some wait
		return "nobody"
	case 1:
		return l.Holders[0].Who().String()
	default:
		return fmt.Sprintf("%d holders", n)
	}
}
