package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/clients"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// inClients is a model that shows the clients, with a complete list.
func inClients(t *testing.T, o Options, width, height int, s *inspect.Snapshot, about screen.Subject) *Model {
	t.Helper()
	m := goTo(model(t, o, width, height, s), screen.Clients, about)
	makeClients(m)
	return m
}

// makeClients runs the command that makes the list.
func makeClients(m *Model) {
	clientsOf(m).Making = false
	send(m, answeredMsg{screen.Clients, clients.ClientsListedMsg{List: clients.ListClients(m.snapshot)}})
}

// clientsOf is the screen of the clients.
func clientsOf(m *Model) *clients.Screen { return m.screens[screen.Clients].(*clients.Screen) }

// showClients sends a snapshot, and makes the list of its clients.
func showClients(m *Model, s *inspect.Snapshot) {
	deliver(m, s)
	makeClients(m)
}

// queues is a snapshot of the first backend with these locks.
func queues(t *testing.T, list ...*inspect.Lock) *inspect.Snapshot {
	t.Helper()
	return fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: list})
}

func selectedName(m *Model) string {
	if r := clientsOf(m).Row(); r != nil {
		return r.Name
	}
	return ""
}

func TestClientsKeys(t *testing.T) {
	for _, test := range []struct {
		name string
		keys []string
		want string // the client
		on   string // the lock
	}{
		{"start", nil, "bob", "zk:/dl/b"},
		{"down", []string{"j", "down"}, "dan", "zk:/jobs/ledger"},
		{"its locks", []string{"j", "j", "tab", "k"}, "dan", "zk:/jobs/idle"},
		{"enter goes to its locks", []string{"j", "j", "enter", "k"}, "dan", "zk:/jobs/idle"},
		{"esc returns to the clients", []string{"j", "j", "enter", "j", "esc", "j"}, "eve", "zk:/jobs/mail"},
		{"last and first", []string{"G", "g"}, "bob", "zk:/dl/b"},
		{"filter by name", []string{"/", "f", "a", "y", "enter"}, "fay", "zk:/jobs/mail"},
		{"filter by lock and sign", []string{"/", "d", "e", "a", "d", "l", "enter", "j"}, "ann", "zk:/dl/a"},
		{"found, then esc", []string{"/", "f", "a", "y", "esc"}, "fay", "zk:/jobs/mail"},
		{"the graph and back", []string{"w", "w"}, "bob", "zk:/dl/b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
			press(m, test.keys...)
			must.Equal(t, selectedName(m), test.want, "selected")
			must.Equal(t, m.front().Selected().Lock.String(), test.on, "on")
			fits(t, m)
		})
	}
}

func TestClientsAndChainOpenInContext(t *testing.T) {
	s := fixture.BlockedClients(t)
	m := opened(t, Options{}, 120, 36, fixture.Id("zk:/jobs/mail"))
	deliver(m, s)
	press(m, "g", "c")
	makeClients(m)
	must.Equal(t, selectedName(m), "eve", "opened at")
	wantText(t, m, "waits      zk:/jobs/ledger", "10.2.0.5:53125", "expires in ≥25s")
	keysShow(t, m, "enter k enter", "chain", "dan (10.2.0.4:53124) has held it")
	keysShow(t, m, "esc", "what it holds and waits for")
}

func TestClientsOpenAtTheTop(t *testing.T) {
	m := inClients(t, Options{}, 80, 16, fixture.BlockedClients(t), screen.Subject{Lock: fixture.Id("zk:/jobs/ledger")})
	press(m, "G", "s", "esc")
	for _, keys := range [][]string{{"c"}, {"G", "s"}, {"G", "S"}} {
		press(m, keys...)
		makeClients(m)
		must.Equal(t, clientsOf(m).Table, widget.Scroller{}, "after", keys[0])
	}
	holder := fixture.BlockedClients(t).Lock(fixture.Id("zk:/jobs/mail")).Holders[0]
	who, _ := holder.Identity("zk")
	m = inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{Owner: who})
	must.Equal(t, selectedName(m), "eve", "opened at")
	receives(t, m, tea.WindowSizeMsg{Width: 80, Height: 16}, "holds and waits for: 1 of 2")
	must.Equal(t, clientsOf(m).Table.Top, 0, "scrolled to")
}

// A cycle over ZooKeeper and Redis is drawn with the evidence that a session and a client belong
// together. It is marked as possible if the evidence is weak.
func TestCycleAcrossBackendsIsDrawn(t *testing.T) {
	for label, words := range map[inspect.Untrusted][]string{
		"web-1:7": {"deadlock: 2 clients", "count as one program because of", "process web-1:7 (likely)", "Cheapest fix"},
		"cart":    {"possibly a deadlock: 2 clients", "name cart (possible)", "Cheapest fix"},
	} {
		other := inspect.Untrusted("web-2:8")
		key := inspect.KeyLock(fixture.Id("redis:lock:report"), []inspect.Vote{fixture.Vote(1, "f3a9c1", 20*time.Second)}, fixture.Noon)
		key.Recipe, key.Confidence, key.State = "lockscope", recipe.Certain, inspect.StateContended
		key.Holders[0].Owner = inspect.Owner{Label: other}
		key.Waiters = []inspect.Contender{{Name: "a77b01", State: inspect.Waiting, Count: 1, Owner: inspect.Owner{Label: label}}}
		b := fixture.Backends()
		s := fixture.ObservedOf(t,
			inspect.Update{Backend: b[0], Put: []*inspect.Lock{fixture.QueueOf("/orders", time.Minute, fixture.Person{Name: label.Raw(), Session: 7}, fixture.Person{Name: other.Raw(), Session: 8})}},
			inspect.Update{Backend: b[1], Put: []*inspect.Lock{key}})
		m := inClients(t, Options{}, 120, 36, s, screen.Subject{})
		keysShow(t, m, "w", words...)
	}
}

func TestGraphOpensTheChain(t *testing.T) {
	t.Parallel()
	m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
	keysShow(t, m, "w", "deadlock: 2 clients", "Cheapest fix: stop bob", "▲ dan holds up 2 contenders across 2 locks")
	keysShow(t, m, "G", "redis: 2 of 2 contenders")
	keysShow(t, m, "g j j j j enter", "chain", "zk:/jobs/ledger", "dan (10.2.0.4:53124) has held it")
}

// The cursor stays on its client, whatever the client holds.
func TestClientSelectionFollows(t *testing.T) {
	clock := fixture.Noon
	m := inClients(t, Options{Now: func() time.Time { return clock }}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
	press(m, "j", "j", "j", "j") // fay
	later := func(list ...*inspect.Lock) {
		clock = clock.Add(time.Minute)
		showClients(m, queues(t, list...))
	}
	alone := fixture.QueueOf("/dl/a", time.Hour, fixture.Ann)
	later(fixture.QueueOf("/jobs/mail", time.Hour, fixture.Fay, fixture.Ann, fixture.Bob), alone)
	must.Equal(t, selectedName(m), "fay", "selected")
	must.Equal(t, clientsOf(m).Table.At, 4, "line")
	later(alone)
	wantText(t, m, "holds 0 · waits for 0", "idle")
	must.Equal(t, selectedName(m), "fay", "selected while the client was idle")
	later(fixture.QueueOf("/dl/a", time.Hour, fixture.Ann, fixture.Fay))
	must.Equal(t, selectedName(m), "fay", "selected after the client came back")
	wantNoText(t, m, "idle")
}

// The key of the clients shows their list, even if the graph is or was in front.
func TestClientsOpenTheirList(t *testing.T) {
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	keysShow(t, m, "w c", "sort: blocks the most")
	press(m, "w", "1", "c")
	makeClients(m)
	wantText(t, m, "sort: blocks the most")
}

// s cycles through the orders, S reverses each, and a new list keeps the order.
func TestClientsAreSorted(t *testing.T) {
	t.Parallel()
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	names := func() (list []string) {
		press(m, "g")
		for last := ""; ; last = selectedName(m) {
			if len(list) > 0 {
				press(m, "j")
			}
			if selectedName(m) == last {
				return list
			}
			list = append(list, selectedName(m))
		}
	}
	wantText(t, m, "sort: blocks the most")
	keysShow(t, m, "j s s s s", "sort: name")
	byName := names()
	must.True(t, slices.IsSorted(byName), "not sorted", byName)
	must.True(t, len(byName) >= 3, "too few", byName)
	makeClients(m) // in the first order
	must.Same(t, names(), byName, "a new list")
	keysShow(t, m, "S", "sort: name, reversed")
	turned := names()
	slices.Reverse(turned)
	must.Same(t, turned, byName, "reversed")
	for _, next := range []string{"blocks the most", "holds the most", "waits for the most", "waits longest", "name", "blocks the most"} {
		keysShow(t, m, "s", "sort: "+next)
	}
	keysShow(t, m, "w s", "cannot be sorted") // the graph is not sorted
	keysShow(t, m, "w", "sort: blocks the most")
	send(m, tea.WindowSizeMsg{Width: 60, Height: 24})
	keysShow(t, m, "s S", "sort: holds the most, reversed") // the choice is visible in a smaller window, too
}

func TestClientsMouse(t *testing.T) {
	m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
	c := clientsOf(m)
	top := len(frame{m}.head())
	send(m, tea.MouseClickMsg{X: 10, Y: top + 4, Button: tea.MouseLeft})
	must.Equal(t, selectedName(m), "dan", "selected")
	at := tea.MouseClickMsg{X: 10, Y: top + c.Layout().EntriesTop, Button: tea.MouseLeft}
	send(m, at)
	must.Equal(t, m.front().Selected().Lock.Path, "/jobs/idle", "on")
	receives(t, m, at, "chain", "zk:/jobs/idle")
}

func TestEmptyClientsSayWhy(t *testing.T) {
	down := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Down, Error: "refused"}
	quiet := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
	for _, test := range []struct {
		name string
		s    *inspect.Snapshot
		want string
	}{
		{"down", inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{down}, nil), "there may be holders"},
		{"nothing", inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{quiet}, nil), "No client holds or waits"},
		{"tokens", inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{quiet}, []*inspect.Lock{fixture.Thin()}), "No client is identified"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := inClients(t, Options{}, 80, 24, test.s, screen.Subject{})
			wantText(t, m, test.want)
		})
	}
	m := inClients(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{down}, nil), screen.Subject{})
	keysShow(t, m, "w", "No deadlock found in the parts that could be read", "zk cannot be reached")
	l := fixture.Orders()
	l.Waiters[0].Owner = inspect.Owner{}
	m = inClients(t, Options{}, 200, 24, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{quiet}, []*inspect.Lock{l}), screen.Subject{})
	press(m, "w")
	wantText(t, m, "No deadlock among the identified clients,", "zk: 1 of 4 contenders is unidentified (no session). Deadlocks involving it cannot be detected.")
	keysShow(t, m, "w", "1 unidentified, not listed")
	keysShow(t, m, "/ worker-3 enter", "worker-3")
	wantNoText(t, m, "unidentified") // it is not among the filtered ones
}

// A command makes the list once per snapshot, outside Update.
func TestClientsAreListedWhileInFront(t *testing.T) {
	t.Parallel()
	p := start(t, Options{}, 100, 30)
	p.show(fixture.BlockedClients(t))
	p.wait("/dl/a")
	p.keys("c")
	p.wait("6 clients", "deadlock")
	p.show(queues(t, fixture.QueueOf("/dl/a", time.Hour, fixture.Ann)))
	p.wait("idle")
	p.keys("w")
	p.wait("No deadlock")
	p.keys("\x1b")
	p.wait("what it holds")
}

// Once the cursor has moved, rows keep their order until the user comes back. A new client comes
// last, and one that has gone keeps its row for a while.
func TestClientsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	clock := fixture.Noon
	row := regexp.MustCompile(`(?m)^[^a-z]*(ann|bob|dan|eve)\b.*?(idle)?$`)
	listed := func(m *Model) (list []string) {
		table, _, _ := strings.Cut(content(m), "what it holds")
		for _, found := range row.FindAllStringSubmatch(table, -1) {
			list = append(list, strings.TrimSpace(found[1]+" "+found[2]))
		}
		return list
	}
	m := inClients(t, Options{Now: func() time.Time { return clock }}, 80, 24,
		queues(t, fixture.QueueOf("/x", time.Hour, fixture.Ann, fixture.Bob), fixture.QueueOf("/y", time.Hour, fixture.Dan)), screen.Subject{})
	press(m, "j")
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"ann", "bob", "dan"}},
		{time.Second, []string{"ann idle", "bob", "dan", "eve"}},
		{9 * time.Second, []string{"ann idle", "bob", "dan", "eve"}},
		{time.Second, []string{"bob", "dan", "eve"}},
	} {
		if step.after > 0 {
			clock = clock.Add(step.after)
			showClients(m, queues(t, fixture.QueueOf("/y", time.Hour, fixture.Dan, fixture.Eve, fixture.Bob)))
		}
		must.Same(t, listed(m), step.want, "after", step.after)
		must.Equal(t, selectedName(m), "bob", "after", step.after, "selected")
		wantText(t, m, fmt.Sprint(len(step.want))+" clients")
	}
	press(m, "esc", "c")
	makeClients(m)
	must.Same(t, listed(m), []string{"dan", "eve", "bob"}, "after coming back")
	showClients(m, queues(t, fixture.QueueOf("/y", time.Hour, fixture.Bob, fixture.Eve, fixture.Dan)))
	must.Same(t, listed(m), []string{"bob", "eve", "dan"}, "before the cursor moves")
	press(m, "G")
	showClients(m, queues(t, fixture.QueueOf("/y", time.Hour, fixture.Dan)))
	press(m, "s") // drops idle clients
	must.Same(t, listed(m), []string{"dan"}, "sorted by name")
}

// A client without holds and waits keeps its row for a while, and its empty pane takes no keys.
func TestIdleClientIsCounted(t *testing.T) {
	m := inClients(t, Options{Now: func() time.Time { return fixture.Noon }}, 80, 24,
		queues(t, fixture.QueueOf("/x", time.Hour, fixture.Ann), fixture.QueueOf("/y", time.Hour, fixture.Dan, fixture.Bob)), screen.Subject{})
	keysShow(t, m, "/ a n enter", "2 of 3 clients")
	press(m, "end", "tab") // into ann's pane
	showClients(m, queues(t, fixture.QueueOf("/y", time.Hour, fixture.Dan, fixture.Bob)))
	wantText(t, m, "2 of 3 clients")
	must.Equal(t, selectedName(m), "ann", "on")
	press(m, "k")
	must.Equal(t, selectedName(m), "dan", "k leads to")
}

// A client with several owners is found by each, even one without entries, and has one name everywhere.
func TestClientIsFoundByAnyOwner(t *testing.T) {
	t.Parallel()
	app, batch := fixture.Person{Name: "app-1", Session: 9}, fixture.Person{Name: "batch-1", Session: 9}
	m := inClients(t, Options{}, 120, 36, queues(t, fixture.QueueOf("/x", time.Hour, app),
		fixture.QueueOf("/y", time.Minute, batch, fixture.Dan), fixture.QueueOf("/z", time.Minute, fixture.Dan, fixture.Eve)), screen.Subject{})
	keysShow(t, m, "/ batch-1 enter", "1 of 3 clients", "app-1 and 1 more", "owners app-1, batch-1")
	keysShow(t, m, "w", "batch-1 holds up 2 contenders across 2 locks", "client app-1 and 1 more")
	press(m, "w")
	showClients(m, queues(t, fixture.QueueOf("/x", time.Hour, app), fixture.QueueOf("/z", time.Minute, fixture.Dan, fixture.Eve)))
	wantText(t, m, "1 of 3 clients", "app-1 and 1 more")
}
