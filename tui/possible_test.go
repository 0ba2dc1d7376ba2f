package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// listing counts how often the connections were listed.
type listing struct {
	list  []act.Connection
	err   error
	times int
}

func (l *listing) of(context.Context, string) ([]act.Connection, int, error) {
	l.times++
	return l.list, 0, l.err
}

// The chain's details show the connections that may belong to a Redis contender, with reasons. They
// are listed at most once per listedFor, only if no client is known, and never for a recording.
func TestPossibleConnectionsOfAHolder(t *testing.T) {
	t.Parallel()
	like := act.Connection{Server: "10.0.0.1:6379", ID: 7, Addr: "10.0.0.7:50312", Name: "billing", Command: "set", Age: time.Hour}
	f := &listing{list: []act.Connection{like, {Addr: "10.0.0.8:1", Command: "get"}}}
	o := Options{Connections: f.of}
	open := func(o Options, client string) *Model {
		m := model(t, o, 120, 36, ofClient(client))
		settle(t, m, press(m, "enter"))
		return m
	}
	m := open(o, "")
	wantText(t, m, "may be 10.0.0.7:50312 'billing': last command set", "only a candidate: Redis does not record who wrote a key")
	wantNoText(t, m, "10.0.0.8", "client 10.0.0.7") // a reader, and the candidate called its client
	l := m.snapshot.Lock(fixture.Id("redis:lock:job"))
	m.WantPossible(l)
	must.Equal(t, f.times, 1, "lists")
	must.Equal(t, len(m.queued), 0, "commands at once")
	f.list = nil
	m.options.Now = func() time.Time { return fixture.Noon.Add(listedFor) }
	m.WantPossible(l)
	must.Equal(t, len(m.queued), 1, "commands after listedFor")

	f.list = []act.Connection{{Addr: "10.0.0.8:1", Command: "get"}}
	wantText(t, open(o, ""), "no candidate among 1 connection")
	f.list, f.err = nil, errors.New("NOPERM: it needs +client|list")
	wantText(t, open(o, ""), "its connection is unknown: NOPERM: it needs +client|list")
	f.err = errors.Join(errors.New("refused"), errors.New("unreachable"))
	wantText(t, open(o, ""), "unknown: refused; unreachable")
	before := f.times
	wantNoText(t, open(o, "10.0.0.7:50312"), "may be")
	must.Equal(t, f.times, before, "lists although the client is known")
	open(Options{Connections: f.of, Replay: true}, "")
	must.Equal(t, f.times, before, "servers were asked for a recording")
}

// Ages of connections count from the time of the list: a client connected before the acquisition is
// still a candidate seconds later.
func TestConnectionAgesCountFromListing(t *testing.T) {
	t.Parallel()
	snapshot := ofClient("")
	l := snapshot.Lock(fixture.Id("redis:lock:job"))
	l.Holders[0].HeldSince = fixture.Ago(time.Minute)
	m := model(t, Options{}, 120, 36, snapshot)
	m.connections = map[string]connections{l.ID.Backend: {
		asked: fixture.Noon, listed: true, list: []act.Connection{{Addr: "10.0.0.7:50312", Command: "set", Age: time.Minute}},
	}}
	for _, after := range []time.Duration{0, 20 * time.Second} {
		m.now = fixture.Noon.Add(after)
		p, ok := m.Possible(l, &l.Holders[0])
		must.True(t, ok && len(p.Connections) == 1 && len(p.Connections[0].Against) == 0, "after", after, p)
		must.Contain(t, strings.Join(p.Connections[0].For, ";"), "before the lock was taken", "after", after)
	}
}

// The list says nothing about a later contender. The connections are listed again for it, though not
// at once, and much later after a refusal or a slow answer.
func TestNewContenderRelistsConnections(t *testing.T) {
	t.Parallel()
	snapshot := ofClient("")
	l := snapshot.Lock(fixture.Id("redis:lock:job"))
	l.Holders[0].HeldSince = fixture.Noon.Add(time.Second)
	refusal := fmt.Errorf("master a: %w", act.ErrRefused)
	for name, c := range map[string]struct {
		known connections
		wants map[time.Duration]bool
	}{
		"came later":  {wants: map[time.Duration]bool{2 * time.Second: false, listedAtLeast: true}},
		"it took 1 s": {connections{took: time.Second}, map[time.Duration]bool{listedFor: false, 100 * time.Second: true}},
		"refused":     {connections{err: refusal}, map[time.Duration]bool{listedFor: false, refusedFor: true}},
	} {
		for after, want := range c.wants {
			at := fixture.Noon.Add(after)
			m := model(t, Options{Connections: (&listing{}).of, Now: func() time.Time { return at }}, 120, 36, snapshot)
			c.known.wanted, c.known.asked, c.known.listed = fixture.Noon, fixture.Noon, true
			m.connections, m.queued, m.now = map[string]connections{l.ID.Backend: c.known}, nil, at
			m.WantPossible(l)
			must.Equal(t, len(m.queued) > 0, want, name, "after", after, "wanted again")
			_, ok := m.Possible(l, &l.Holders[0])
			must.True(t, !ok, name, "after", after, "has candidates")
		}
	}
}
