package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
)

const (
	// listedFor is how long a list of connections is valid, since making one costs a server some
	// work. It lacks contenders that arrived later. For those it is made again, after at
	// least listedAtLeast.
	listedFor, listedAtLeast = 30 * time.Second, 5 * time.Second
	// restsAfter is the minimum time between lists, as a multiple of the time that the last one
	// took. After a refusal it is refusedFor, since permissions and numbers of connections seldom
	// change.
	restsAfter = 100
	refusedFor = 5 * time.Minute
	// listLimit is the time limit for one list of all masters.
	listLimit = 5 * time.Second
)

// connections holds the listed connections of a backend's clients.
type connections struct {
	wanted, asked time.Time     // times of the newest request, and of the answered one
	took          time.Duration // from request to answer
	listed        bool          // an answer has come
	list          []act.Connection
	db            int
	err           error // why some, or all, are missing
}

// due reports whether to list the connections again. came is set if a contender has arrived since
// the last list.
func (c connections) due(now time.Time, came bool) bool {
	wait := listedFor
	switch {
	case c.wanted.IsZero():
		return true
	case errors.Is(c.err, act.ErrRefused):
		wait = refusedFor
	case came:
		wait = listedAtLeast
	}
	return now.Sub(c.wanted) >= max(wait, c.took*restsAfter)
}

// connectionsListedMsg carries a backend's list.
type connectionsListedMsg struct {
	backend string
	is      connections
}

func (w *world) WantPossible(l *inspect.Lock) {
	backend, of := l.ID.Backend, w.options.Connections
	known, now := w.connections[backend], w.Clock()
	if of == nil || w.Past() || w.options.Replay || len(l.Masters) == 0 {
		return
	}
	if unknown, came := anonymous(screen.Ages(w), l, known.asked); !unknown || !known.due(now, came) {
		return
	}
	known.wanted = now
	if w.connections == nil {
		w.connections = make(map[string]connections)
	}
	w.connections[backend] = known
	w.Later(w.Command(listLimit, func(ctx context.Context) tea.Msg {
		is := connections{wanted: now, asked: now, listed: true}
		is.list, is.db, is.err = of(ctx, backend)
		is.took = w.Clock().Sub(now)
		return connectionsListedMsg{backend, is}
	}))
}

// anonymous reports whether there are contenders without a known client, and whether one of them
// arrived after listed.
func anonymous(v describe.View, l *inspect.Lock, listed time.Time) (unknown, came bool) {
	for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if list[i].Owner.Client != "" {
				continue
			}
			unknown = true
			inState := v.InState(l, &list[i])
			came = came || inState > 0 && v.Now.Add(-inState).After(listed)
		}
	}
	return unknown, came
}

func (w *world) Possible(l *inspect.Lock, c *inspect.Contender) (screen.Possible, bool) {
	known := w.connections[l.ID.Backend]
	if !known.listed || w.Past() || len(l.Masters) == 0 {
		return screen.Possible{}, false
	}
	inState := screen.Ages(w).InState(l, c)
	if inState > 0 {
		if inState -= w.now.Sub(known.asked); inState < 0 { // the list is older than the contender's state
			return screen.Possible{}, false
		}
		inState = max(1, inState) // the connections' ages refer to that time
	}
	p := screen.Possible{Of: len(known.list)}
	if known.err != nil {
		p.Unknown = describe.OneLine(known.err)
	}
	for _, one := range act.Candidates(l, c, inState, known.db, known.list) {
		p.Connections = append(p.Connections, screen.PossibleConnection{
			Addr: one.Addr.String(), Name: one.Name.String(), For: one.For, Against: one.Against,
		})
	}
	return p, true
}
