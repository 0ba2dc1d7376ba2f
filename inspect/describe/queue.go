package describe

import (
	"slices"
	"strconv"

	"github.com/lockscope/lockscope/inspect"
)

// Blocks is how many contenders cannot acquire the lock before this one leaves; empty for none. A
// semaphore's waiters wait for any holder, so each holder has "?".
func Blocks(l *inspect.Lock, c *inspect.Contender) string {
	switch {
	case c.BlockedBelow > 0:
		return strconv.Itoa(int(c.BlockedBelow))
	case l.Kind == inspect.KindSemaphore && c.State == inspect.Holding && l.Waiting() > 0:
		return "?"
	default:
		return ""
	}
}

// WatchesBehind is the later waiter that the first in line watches, according to a finding; nil
// without one.
func WatchesBehind(l *inspect.Lock, c *inspect.Contender) *inspect.Contender {
	for _, f := range l.Findings {
		name, ok := f.Evidence["instead"].(string)
		i := slices.IndexFunc(l.Waiters, func(w inspect.Contender) bool { return w.Name.String() == name })
		if ok && f.Subject.Is(c) && i >= 0 {
			return &l.Waiters[i]
		}
	}
	return nil
}
