package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// The verdict names a holder that identifies itself, even with one of five masters stopped.
func TestRedlockNamesItsHolder(t *testing.T) {
	t.Parallel()
	value := recipe.LockscopeToken([16]byte{1, 2, 3}, "cart-1")
	silent := fixture.Vote(5, "", -1)
	silent.Error = "redissource: master 10.2.1.5:6379: dial tcp 10.2.1.5:6379: connect: connection refused"
	votes := []inspect.Vote{silent}
	for n := range 4 {
		votes = append(votes, fixture.Vote(n+1, value, 8*time.Second))
	}
	l := inspect.KeyLock(fixture.Id("redis:lock:cart:42"), votes, fixture.Noon)
	l.Holders[0].HeldSince = fixture.Ago(2400 * time.Millisecond)
	list := fixture.Backends()
	for i := range list[1].Servers {
		s := &list[1].Servers[i]
		s.Role, s.StartedAt = "", time.Time{}
		s.ClockKnown, s.ClockOffset = true, time.Millisecond
	}
	for _, width := range []int{80, 120, 160} {
		m := model(t, Options{}, width, 30, inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{l}), "enter")
		wantText(t, m, "cart-1 has held it for 2.4s: 4 of 5 votes, can lose 1 · valid 7.9s", "?        connection refused", "● yes    cart-1")
		wantNoText(t, m, "ROLE", "  UP", "dial tcp", "clock")
	}
}

// Below the details come the lanes, and then the grants, which fill the window.
func TestGrantsFillTheRest(t *testing.T) {
	m := opened(t, Options{}, 120, 40, fixture.Orders().ID)
	from := fixture.Znode(1, "worker-2", 0, nil, 0)
	var events []inspect.Event
	for i := range int32(30) {
		to := fixture.Znode(2+i, "worker-1", 0, nil, 0)
		events = append(events, inspect.Event{Kind: inspect.EventHandover, At: fixture.Noon, Lock: fixture.Orders().ID, Contender: &to, Previous: &from})
	}
	m.history.Add(events, m.snapshot, m.snapshot)
	m.resize()
	must.Equal(t, lineAt(m, "selected")-lineAt(m, "605"), 2, "below the chain")
	must.Equal(t, lineAt(m, "the last 15m")-lineAt(m, "  name _c_"), 2, "below the details")
	must.Equal(t, lineAt(m, "last acquisitions")-lineAt(m, "the last 15m"), 7, "below the lanes")
	must.True(t, strings.Count(content(m), "handoff ") >= 8, content(m))
	fits(t, m)
}

// An age by an unchecked clock is marked wherever it is drawn.
func TestUncheckedClockAgesAreMarked(t *testing.T) {
	l := fixture.Orders()
	for i := range l.Waiters {
		l.Waiters[i].Since, l.Waiters[i].Czxid = fixture.Ago(time.Hour), 3
	}
	known, unknown := fixture.Backends(), fixture.Backends()
	known[0].Clock, unknown[0].Clock = inspect.LeaderClock{From: 1, Known: true}, inspect.LeaderClock{From: 1}
	for _, one := range []struct {
		list []*inspect.Backend
		mark string
	}{{known, ""}, {unknown, "~"}} {
		m := model(t, Options{}, 120, 40, inspect.NewSnapshot(fixture.Noon, one.list, []*inspect.Lock{l}))
		wantText(t, m, " "+one.mark+"1h00m")
		goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
		wantText(t, m, "longest wait "+one.mark+"1h00m", "  "+one.mark+"1h00m ")
		keysShow(t, m, "j", "in the queue for "+one.mark+"1h00m")
	}
}

// A host has its configured name on the chain, in the list of clients and in filters. The details keep
// the address.
func TestHostsHaveTheirNames(t *testing.T) {
	rule := must.Have(inspect.NewHostRule("10.0.9.0/24", "", "billing-1"))(t)
	l := fixture.QueueOf("/locks/a", time.Minute, fixture.Ann, fixture.Bob)
	l.Holders[0].Owner.Client = "10.0.9.7:50312"
	s := snapshotOf(l).WithHosts(&inspect.Hosts{Rules: []inspect.HostRule{rule}})
	m := model(t, Options{}, 120, 36, s)
	keysShow(t, m, "enter", "billing-1:50312", "10.0.9.7:50312", "named billing-1")
	keysShow(t, m, "esc / client=billing enter", "/locks/a")
	press(m, "c")
	makeClients(m)
	wantText(t, m, "billing-1:50312")
}

// A domain that all hosts share is left out only in lists where names would be cut.
func TestCutNamesOmitSharedDomain(t *testing.T) {
	var locks []*inspect.Lock
	for i := range 3 {
		who := fixture.Person{Name: fmt.Sprintf("app-%d.production.example.net:4001", i), Session: int64(i + 1)}
		locks = append(locks, fixture.QueueOf(fmt.Sprintf("/locks/%d", i), time.Minute, who))
	}
	s := snapshotOf(locks...)
	m := model(t, Options{}, 60, 24, s)
	wantText(t, m, "app-1:4001")
	wantNoText(t, m, "app-1.prod")
	keysShow(t, m, "enter", "app-0:4001", "● app-0.production.example.net:4001")
	press(m, "esc", "c")
	makeClients(m)
	wantText(t, m, "app-1:4001")
	wantText(t, model(t, Options{}, 200, 50, s), "app-1.production.example.net:4001")
}

// A lock's worst finding decides its sign in its row, above its chain and in the list of findings,
// whatever its state. All three mark a muted finding as muted.
func TestAFindingHasOneSeverityEverywhere(t *testing.T) {
	t.Parallel()
	muted := func(f inspect.Finding) inspect.Finding {
		f.Muted = &inspect.Muted{Until: fixture.In(1 << 40), Reason: "known", By: "me"}
		return f
	}
	leftover := fixture.Trouble("minority-leftover", inspect.Info, "")
	for name, tt := range map[string]struct {
		lock    *inspect.Lock
		finding *inspect.Finding
		sign    string // before the lock
		found   string // before the finding, with its name
		counted string
	}{
		"a leftover that is only possible": {fixture.Minority(), &leftover, "?", "i minority-leftover", "i 1 info"},
		"a leftover":                       {fixture.Minority(), new(fixture.Trouble("minority-leftover", inspect.Warning, "")), "▲", "▲ minority-leftover", "▲ 1 warning"},
		"a split":                          {fixture.Split(), new(fixture.Trouble("split-quorum", inspect.Critical, "")), "✖", "✖ split-quorum", "✖ 1 critical"},
		"a split that may pass":            {fixture.Split(), nil, "?", "", "no findings"},
		"a muted split":                    {fixture.Split(), new(muted(fixture.Trouble("split-quorum", inspect.Critical, ""))), "?", "✖ split-quorum", "1 muted"},
		"a muted contender":                {fixture.Orders(), new(muted(fixture.Trouble("persistent-contender", inspect.Critical, ""))), "●", "✖ persistent-contender", "1 muted"},
	} {
		t.Run(name, func(t *testing.T) {
			l := tt.lock
			l.Findings = nil
			rule, cell := "", ""
			if tt.finding != nil {
				l.Findings = []inspect.Finding{*tt.finding}
				if rule, cell = tt.finding.Rule, tt.finding.Rule; tt.finding.Muted != nil {
					rule, cell = rule+" (muted)", "muted"
				}
			}
			m := model(t, Options{}, 100, 36, snapshotOf(l))
			row := lineWith(t, m, l.ID.Path) // the row cuts long rules
			must.Contain(t, row, tt.sign+" "+l.ID.String(), "Locks")
			must.Contain(t, row, cell[:min(len(cell), 9)], "Locks")
			must.Equal(t, screen.Sign(m.Theme(), l).Text, tt.sign, "sign of the chain's verdict")
			goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
			if tt.found != "" {
				wantText(t, m, strings.Fields(tt.found)[0]+" "+rule)
			}
			keysShow(t, m, "f", tt.counted)
			if tt.found != "" {
				wantText(t, m, tt.found)
			}
		})
	}
}

// lineWith is the first line of the screen that contains a text.
func lineWith(t *testing.T, m *Model, text string) string {
	t.Helper()
	at := lineAt(m, text)
	if at < 0 {
		t.Fatalf("no line contains %q:\n%s", text, content(m))
	}
	return splitLines(content(m))[at]
}

// foundAgo is an event about a finding of the fixture's stuck lock.
func foundAgo(ago time.Duration, kind inspect.EventKind, rule string) inspect.Event {
	f := fixture.Orders().Findings[0]
	f.Rule = rule
	return inspect.Event{Kind: kind, At: fixture.Ago(ago), Lock: fixture.Orders().ID, Finding: &f}
}

// If there is room, recently cleared findings are listed below the others, unless they came back.
func TestClearedFindingsAreListed(t *testing.T) {
	list := []inspect.Event{
		foundAgo(time.Hour, inspect.EventFinding, "long-ago"), foundAgo(16*time.Minute, inspect.EventCleared, "long-ago"),
		foundAgo(9*time.Minute, inspect.EventCleared, "unseen-begin"),
		foundAgo(8*time.Minute, inspect.EventFinding, "came-back"), foundAgo(7*time.Minute, inspect.EventCleared, "came-back"),
		foundAgo(14*time.Minute, inspect.EventFinding, "went"), foundAgo(13*time.Minute, inspect.EventCleared, "went"),
		foundAgo(6*time.Minute, inspect.EventFinding, "went"), foundAgo(5*time.Minute, inspect.EventFinding, "went"), foundAgo(4*time.Minute, inspect.EventCleared, "went"),
		foundAgo(3*time.Minute, inspect.EventFinding, "came-back"), foundAgo(2*time.Minute, inspect.EventCleared, "blind"),
	}
	m := withEvents(t, Options{}, 200, 50, list...)
	press(m, "f")
	wantText(t, m, "cleared in the last 15m ", "11:56:00", "11:51:00")
	wantNoText(t, m, "long-ago", "came-back", "11:58:00")
	must.Contain(t, lineWith(t, m, " went "), "2m00s", "how long it lasted")
	must.Contain(t, lineWith(t, m, "unseen-begin"), " ?  11:51", "unseen start")
	must.Equal(t, lineAt(m, "unseen-begin"), lineAt(m, " went ")+1, "the one before it is in line")
	narrow := withEvents(t, Options{}, 120, 36, list...)
	keysHide(t, narrow, "f", "cleared in the last")
}

// Without findings, the cleared ones are shown in any window.
func TestClearedFindingsShownInAnyWindow(t *testing.T) {
	for _, size := range sizes {
		fine := func() *inspect.Snapshot {
			return inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{fixture.FreeLock()})
		}
		m := model(t, Options{}, size.width, size.height, fine())
		cleared := fine()
		cleared.Events = []inspect.Event{foundAgo(time.Minute, inspect.EventCleared, "went")}
		deliver(m, cleared)
		keysShow(t, m, "f", "Nothing wrong that we can see.", "cleared in the last 15m", "11:59:00")
	}
}

// The pane next to the list shows an advised command in full, so that it can be copied with the mouse.
func TestDetailsShowCommandInFull(t *testing.T) {
	const name = "_c_7f3e0c51-0000-4000-8000-0000000000aa-__WRIT__0000000602"
	for _, width := range []int{80, 120, 199, 200, 220} {
		l := fixture.Orders()
		l.Findings[0].Steps = []inspect.Step{fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, name)}
		wantText(t, model(t, Options{}, width, 50, snapshotOf(l), "f"), name)
	}
}

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
		if !ok || len(p.Connections) != 1 {
			t.Fatal("after", after, p)
		}
		must.Equal(t, len(p.Connections[0].Against), 0, "facts against it after", after)
		must.Contain(t, strings.Join(p.Connections[0].For, ";"), "before the lock was taken", "after", after)
	}
}

// The list says nothing about a later contender. The connections are listed again for it, though not
// at once, and much later after a refusal or a slow answer.
func TestNewContenderRelistsConnections(t *testing.T) {
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
