package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
	"lockscope/tui/screen"
)

const (
	// listedFor so long a list of connections is good: to list them costs a server some work.
	listedFor = 30 * time.Second
	// listLimit is for one list of all masters.
	listLimit = 5 * time.Second
)

// connections of a backend's clients, as they were listed.
type connections struct {
	asked  time.Time
	listed bool // an answer has come
	list   []act.Connection
	db     int
	err    error // why some, or all, are missing
}

// connectionsListedMsg has what a backend listed.
type connectionsListedMsg struct {
	backend string
	is      connections
}

func (w *world) WantPossible(l *inspect.Lock) {
	backend, of := l.ID.Backend, w.options.Connections
	before, now := w.connections[backend], w.Clock()
	if of == nil || w.Past() || w.options.Replay || len(l.Masters) == 0 || !before.asked.IsZero() && now.Sub(before.asked) < listedFor || !anonymous(l) {
		return
	}
	before.asked = now
	if w.connections == nil {
		w.connections = make(map[string]connections)
	}
	w.connections[backend] = before
	w.Later(w.Command(listLimit, func(ctx context.Context) tea.Msg {
		is := connections{asked: now, listed: true}
		is.list, is.db, is.err = of(ctx, backend)
		return connectionsListedMsg{backend, is}
	}))
}

// anonymous reports whether there are contenders of whom no client is known.
func anonymous(l *inspect.Lock) bool {
	for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if list[i].Owner.Client == "" {
				return true
			}
		}
	}
	return false
}

func (w *world) Possible(l *inspect.Lock, c *inspect.Contender) (screen.Possible, bool) {
	known := w.connections[l.ID.Backend]
	if !known.listed || w.Past() || len(l.Masters) == 0 {
		return screen.Possible{}, false
	}
	p := screen.Possible{Of: len(known.list)}
	if known.err != nil {
		p.Unknown = describe.Printable(strings.ReplaceAll(known.err.Error(), "\n", "; "))
	}
	inState := describe.View{Snapshot: w.snapshot, Now: w.now}.InState(l, c)
	if inState > 0 {
		inState = max(1, inState-w.now.Sub(known.asked)) // the connections' ages are of then
	}
	for _, one := range act.Candidates(l, c, inState, known.db, known.list) {
		p.Connections = append(p.Connections, screen.PossibleConnection{
			Addr: one.Addr.String(), Name: one.Name.String(), For: one.For, Against: one.Against,
		})
	}
	return p, true
}
