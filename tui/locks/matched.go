package locks

import (
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// triedContenders limits the contenders of a lock that are compared with the filter.
const triedContenders = 50

// matched returns the first contender that matches the filter by itself; nil if the lock would
// match without it.
func matched(s *Screen, l *inspect.Lock) *inspect.Contender {
	if s.Index.Filter.Empty() {
		return nil
	}
	matches := func(holders, waiters []inspect.Contender) bool {
		only := *l
		only.Holders, only.Waiters = holders, waiters
		return s.Index.Filter.Match(screen.FilterSubject{Lock: &only, Snapshot: s.Snapshot(), Now: s.Now()})
	}
	nameless := make([]inspect.Contender, 1)
	if !matches(l.Holders, l.Waiters) || matches(nil, nil) || matches(nameless, nil) || matches(nil, nameless) {
		return nil
	}
	for i := range l.Holders[:min(len(l.Holders), triedContenders)] {
		if matches(l.Holders[i:i+1], nil) {
			return &l.Holders[i]
		}
	}
	for i := range l.Waiters[:min(len(l.Waiters), triedContenders)] {
		if matches(nil, l.Waiters[i:i+1]) {
			return &l.Waiters[i]
		}
	}
	return nil
}

// matchCell names the contender because of which a lock is listed, unless HOLDER shows it.
func matchCell(c cell) widget.Line {
	if c.matched == nil || len(c.lock.Holders) == 1 && c.matched == &c.lock.Holders[0] {
		return nil
	}
	label := "waits: "
	if c.matched.State == inspect.Holding {
		label = "holds: "
	}
	return widget.Line{{label + describe.Owner(c.matched), c.Theme().Muted}}
}
