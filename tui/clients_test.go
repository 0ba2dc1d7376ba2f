package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

// told is a source that tells what it was given and ends.
type told []inspect.Update

func (t told) Run(_ context.Context, emit func(inspect.Update)) error {
	for _, u := range t {
		emit(u)
	}
	return nil
}

func (told) Focus([]inspect.ID) {}

// observedOf is what an observer makes of updates: with sessions and cycles.
func observedOf(t testing.TB, updates ...inspect.Update) *inspect.Snapshot {
	t.Helper()
	o := inspect.NewObserver(func() time.Time { return noon }, told(updates))
	if err := o.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return o.Snapshot()
}

// person is a session of a small number; its label is its name.
type person struct {
	name    string
	session int64
}

var (
	ann = person{"ann", 1}
	bob = person{"bob", 2}
	cat = person{"cat", 3}
	dan = person{"dan", 4}
	eve = person{"eve", 5}
	fay = person{"fay", 6}
)

// queueOf is a lock of these, the first of whom holds it for so long; each of the others came a second after the one before.
func queueOf(name string, held time.Duration, people ...person) *inspect.Lock {
	l := &inspect.Lock{
		ID: id("zk:" + name), Kind: inspect.KindMutex, Recipe: "kazoo", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: noon,
	}
	for i, p := range people {
		c := inspect.Contender{
			Name: inspect.Untrusted(fmt.Sprintf("%s__lock__%010d", p.name, i)), Sequence: int32(i), Sequential: true, Count: 1, Czxid: int64(i + 1),
			State: inspect.Waiting, Since: ago(held - time.Duration(i)*time.Second), BlockedBelow: len(people) - 1 - i,
			Owner: inspect.Owner{Label: inspect.Untrusted(p.name), Session: p.session},
		}
		if i == 0 {
			c.State, c.HeldSince = inspect.Holding, c.Since
			l.Holders = append(l.Holders, c)
			continue
		}
		c.Watches = inspect.Untrusted(fmt.Sprintf("%s__lock__%010d", people[i-1].name, i-1))
		l.Waiters = append(l.Waiters, c)
	}
	if len(people) == 1 {
		l.State = inspect.StateHeld
	}
	return l
}

func sessionTable(people ...person) map[int64]inspect.Session {
	m := make(map[int64]inspect.Session)
	for _, p := range people {
		m[p.session] = inspect.Session{
			ID: p.session, Client: fmt.Sprintf("10.2.0.%d:5312%d", p.session, p.session), Server: "10.1.0.2:2181", Timeout: 30 * time.Second,
			LastContact: ago(time.Duration(p.session) * time.Second), Established: ago(2 * time.Hour),
		}
	}
	return m
}

// tangled is a deadlock of ann and bob, behind which cat waits; dan holds up eve, who holds up fay; and a Redis lock of
// which nobody is known.
func tangled(t testing.TB) *inspect.Snapshot {
	t.Helper()
	token := inspect.KeyLock(id("redis:lock:report"), []inspect.Vote{vote(1, "f3a9c1", 20*time.Second)}, noon)
	token.Waiters, token.State = []inspect.Contender{{Name: "a77b01", State: inspect.Waiting, Count: 1}}, inspect.StateContended
	b := backends()
	return observedOf(t,
		inspect.Update{Backend: b[0], Sessions: sessionTable(ann, bob, dan, eve), Put: []*inspect.Lock{
			queueOf("/dl/a", 14*time.Minute, ann, bob, cat), queueOf("/dl/b", 13*time.Minute, bob, ann),
			queueOf("/jobs/ledger", 3*time.Hour, dan, eve), queueOf("/jobs/mail", 50*time.Minute, eve, fay), queueOf("/jobs/idle", time.Minute, dan),
		}},
		inspect.Update{Backend: b[1], Put: []*inspect.Lock{token}},
	)
}

// inClients is a model with the clients in front, their list made.
func inClients(t *testing.T, o Options, width, height int, s *inspect.Snapshot, about subject) *Model {
	t.Helper()
	m := model(t, o, width, height, s)
	m.Go(clientsScreen, about)
	m.navigate()
	makeClients(m)
	return m
}

// makeClients does what the command for a new list does.
func makeClients(m *Model) {
	c := m.screens[clientsScreen].(*clients)
	c.making = false
	send(m, answeredMsg{clientsScreen, clientsListedMsg{list: listClients(m.snapshot)}})
}

func TestGoldenClients(t *testing.T) {
	t.Parallel()
	pages := []struct {
		name string
		keys []string
	}{{"clients", nil}, {"clients-entries", []string{"enter", "j"}}, {"waitgraph", []string{"w"}}}
	for _, page := range pages {
		for _, size := range sizes {
			for _, ascii := range []bool{false, true} {
				name := fmt.Sprintf("%s-%dx%d", page.name, size.width, size.height)
				if ascii {
					name += "-ascii"
				}
				t.Run(name, func(t *testing.T) {
					m := inClients(t, Options{Title: "prod-eu", Theme: theme.Options{ASCII: ascii}}, size.width, size.height, tangled(t), subject{})
					press(m, page.keys...)
					fits(t, m)
					golden(t, name, content(m))
					if text := content(m); ascii && !isASCII(text) {
						t.Errorf("not ASCII:\n%s", text)
					}
				})
			}
		}
	}
}

func TestWhoBlocksMost(t *testing.T) {
	var got []string
	for _, r := range listClients(tangled(t)).rows {
		got = append(got, fmt.Sprintf("%s holds %d waits %d blocks %d ring %v", r.name, r.holds, r.waits, r.blocks, r.ring))
	}
	want := []string{
		"bob holds 1 waits 1 blocks 2 ring true", "ann holds 1 waits 1 blocks 2 ring true",
		"dan holds 2 waits 0 blocks 2 ring false", // eve, and fay behind eve
		"eve holds 1 waits 1 blocks 1 ring false", "fay holds 0 waits 1 blocks 0 ring false", "cat holds 0 waits 1 blocks 0 ring false",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A client that stands twice in a queue blocks those behind it once.
func TestBlockedAreCountedOnce(t *testing.T) {
	s := observedOf(t, inspect.Update{Backend: backends()[0], Put: []*inspect.Lock{queueOf("/a", time.Minute, ann, ann, bob, cat), queueOf("/b", time.Minute, ann, dan)}})
	r := listClients(s).rows[0]
	if r.name != "ann" || r.blocks != 3+1 {
		t.Errorf("%s blocks %d", r.name, r.blocks)
	}
}

func TestWaitGraph(t *testing.T) {
	describe := func(g *waitGraph) string {
		var parts []string
		for _, r := range g.rings {
			var links []string
			for _, l := range r.links {
				links = append(links, fmt.Sprintf("%s has %s wants %s", describe.Owner(l.has.Contender), l.has.Lock.ID.Path, l.wants.Lock.ID.Path))
			}
			free := "nobody"
			if r.cheapest >= 0 {
				free = describe.Owner(r.links[r.cheapest].has.Contender)
			}
			parts = append(parts, fmt.Sprintf("ring: %s; free %s; %d behind", strings.Join(links, ", "), free, r.behind))
		}
		for _, x := range g.tangles {
			var rows []string
			for _, r := range x.rows {
				rows = append(rows, strings.Repeat(">", r.depth)+r.lock.ID.Path)
			}
			parts = append(parts, fmt.Sprintf("tangle: %s; %d wait", strings.Join(rows, " "), x.waiting))
		}
		for _, b := range g.blind {
			parts = append(parts, fmt.Sprintf("blind: %d of %d on %s", b.unknown, b.of, b.backend))
		}
		return strings.Join(parts, "\n")
	}
	m := time.Minute
	nobody := person{"?", 0}
	election := queueOf("/e", m, ann, cat)
	election.Kind = inspect.KindElection
	for _, test := range []struct {
		name  string
		locks []*inspect.Lock
		want  string
	}{
		{"nothing", nil, ""},
		{"one queue", []*inspect.Lock{queueOf("/a", m, ann, bob, cat)}, ""},
		{
			"a ring of two: the one that blocks fewest is freed",
			[]*inspect.Lock{queueOf("/a", 2*m, ann, bob, cat), queueOf("/b", m, bob, ann)},
			"ring: bob has /b wants /a, ann has /a wants /b; free bob; 1 behind",
		},
		{
			"a ring of two: else the youngest",
			[]*inspect.Lock{queueOf("/a", m, ann, bob), queueOf("/b", 2*m, bob, ann)},
			"ring: bob has /b wants /a, ann has /a wants /b; free ann; 0 behind",
		},
		{
			"a ring of three",
			[]*inspect.Lock{queueOf("/a", m, ann, bob), queueOf("/b", m, bob, cat), queueOf("/c", m, cat, ann)},
			"ring: bob has /b wants /a, ann has /a wants /c, cat has /c wants /b; free bob; 0 behind",
		},
		{
			"what hangs on a ring stands behind it",
			[]*inspect.Lock{queueOf("/a", m, ann, bob, cat), queueOf("/b", 2*m, bob, ann), queueOf("/c", m, cat, dan, eve)},
			"ring: bob has /b wants /a, ann has /a wants /b; free bob; 3 behind",
		},
		{
			"a chain over three locks",
			[]*inspect.Lock{queueOf("/a", m, ann, bob), queueOf("/b", m, bob, cat), queueOf("/c", m, cat, dan, eve)},
			"tangle: /a >/b >>/c; 4 wait",
		},
		{
			"who holds up most is first",
			[]*inspect.Lock{queueOf("/a", m, ann, bob), queueOf("/b", m, bob, fay), queueOf("/c", m, cat, dan), queueOf("/d", m, dan, eve, nobody)},
			"tangle: /c >/d; 3 wait\ntangle: /a >/b; 2 wait\nblind: 1 of 9 on zk",
		},
		{"candidates do other things", []*inspect.Lock{election, queueOf("/b", m, bob, ann)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := observedOf(t, inspect.Update{Backend: backends()[0], Put: test.locks})
			g := buildWaitGraph(s)
			if diff := cmp.Diff(test.want, describe(g)); diff != "" {
				t.Error(diff)
			}
			for _, x := range g.tangles { // the culprit of every lock in it is the first one's holder
				for _, r := range x.rows {
					if e, ok := s.Culprit(r.lock); !ok || e.Lock != x.rows[0].lock {
						t.Errorf("culprit of %s is on %v", r.lock.ID, e.Lock.ID)
					}
				}
			}
		})
	}
}

// A cycle that has just come apart is not drawn.
func TestCycleThatIsGone(t *testing.T) {
	s := tangled(t)
	gone := inspect.Cycle{Locks: []inspect.ID{id("zk:/x"), id("zk:/y")}, Owners: []string{"a", "b"}}
	if _, ok := closeRing(s, gone); ok {
		t.Error("a ring of locks that are gone")
	}
	gone.Locks = []inspect.ID{id("zk:/dl/a"), id("zk:/dl/b")}
	if _, ok := closeRing(s, gone); ok {
		t.Error("a ring of people who are gone")
	}
}

func selectedName(m *Model) string {
	if r := m.screens[clientsScreen].(*clients).row(); r != nil {
		return r.name
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
		{"its locks", []string{"j", "j", "tab", "j"}, "dan", "zk:/jobs/idle"},
		{"enter goes to its locks", []string{"j", "j", "enter", "j"}, "dan", "zk:/jobs/idle"},
		{"and esc back", []string{"j", "j", "enter", "j", "esc", "j"}, "eve", "zk:/jobs/mail"},
		{"last and first", []string{"G", "g"}, "bob", "zk:/dl/b"},
		{"filter by name", []string{"/", "f", "a", "y", "enter"}, "fay", "zk:/jobs/mail"},
		{"filter by lock and sign", []string{"/", "d", "e", "a", "d", "l", "enter", "j"}, "ann", "zk:/dl/a"},
		{"found and the filter left", []string{"/", "f", "a", "y", "esc"}, "fay", "zk:/jobs/mail"},
		{"the graph and back", []string{"w", "w"}, "bob", "zk:/dl/b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := inClients(t, Options{}, 80, 24, tangled(t), subject{})
			press(m, test.keys...)
			if got := selectedName(m); got != test.want {
				t.Errorf("selected %q, want %q", got, test.want)
			}
			if got := m.front().Selected().lock.String(); got != test.on {
				t.Errorf("on %q, want %q", got, test.on)
			}
			fits(t, m)
		})
	}
}

func TestClientsOpenAtAnOwnerAndTheChainAtALock(t *testing.T) {
	s := tangled(t)
	m := opened(t, Options{}, 120, 36, id("zk:/jobs/mail"))
	send(m, snapshotArrivedMsg{snapshot: s})
	press(m, "g", "c")
	makeClients(m)
	if got := selectedName(m); got != "eve" {
		t.Fatalf("opened at %q", got)
	}
	wantText(t, m, "waits      zk:/jobs/ledger", "10.2.0.5:53125", "lasts 25s at least")
	press(m, "enter", "j", "enter")
	wantText(t, m, "chain", "dan (10.2.0.4:53124) holds it")
	press(m, "esc")
	wantText(t, m, "what it holds and waits for")
}

func TestClientsOpenAtALocksHolder(t *testing.T) {
	m := inClients(t, Options{}, 120, 36, tangled(t), subject{lock: id("zk:/jobs/ledger")})
	if got := selectedName(m); got != "dan" {
		t.Errorf("opened at %q", got)
	}
}

func TestGraphOpensTheChain(t *testing.T) {
	t.Parallel()
	m := inClients(t, Options{}, 80, 24, tangled(t), subject{})
	press(m, "w")
	wantText(t, m, "deadlock: 2 clients", "What to do: stop bob", "▲ dan holds up 2 contenders over 2 locks")
	press(m, "G")
	wantText(t, m, "redis: of 2 of 2 contenders")
	fits(t, m)
	press(m, "g", "j", "j", "j", "j", "enter")
	wantText(t, m, "chain", "zk:/jobs/ledger", "dan (10.2.0.4:53124) holds it")
}

// The cursor stays on its client when the order changes.
func TestClientSelectionFollows(t *testing.T) {
	m := inClients(t, Options{}, 80, 24, tangled(t), subject{})
	press(m, "j", "j", "j", "j") // fay
	s := observedOf(t, inspect.Update{Backend: backends()[0], Put: []*inspect.Lock{queueOf("/jobs/mail", time.Hour, fay, ann, bob), queueOf("/dl/a", time.Hour, ann)}})
	send(m, snapshotArrivedMsg{snapshot: s})
	makeClients(m)
	if got := selectedName(m); got != "fay" || m.screens[clientsScreen].(*clients).table.at != 0 {
		t.Errorf("selected %q", got)
	}
	s = observedOf(t, inspect.Update{Backend: backends()[0], Put: []*inspect.Lock{queueOf("/dl/a", time.Hour, ann)}})
	send(m, snapshotArrivedMsg{snapshot: s})
	makeClients(m)
	wantText(t, m, "it holds nothing and waits for nothing any more", "idle")
	if got := selectedName(m); got != "fay" {
		t.Errorf("the cursor went to %q while its client rested", got)
	}
	s = observedOf(t, inspect.Update{Backend: backends()[0], Put: []*inspect.Lock{queueOf("/dl/a", time.Hour, ann, fay)}})
	send(m, snapshotArrivedMsg{snapshot: s})
	makeClients(m)
	if got := selectedName(m); got != "fay" {
		t.Errorf("the cursor went to %q when its client came again", got)
	}
	wantNoText(t, m, "idle")
}

func TestClientsMouse(t *testing.T) {
	m := inClients(t, Options{}, 80, 24, tangled(t), subject{})
	c := m.screens[clientsScreen].(*clients)
	top := len(m.head())
	send(m, tea.MouseClickMsg{X: 10, Y: top + 4, Button: tea.MouseLeft})
	if got := selectedName(m); got != "dan" {
		t.Fatalf("selected %q", got)
	}
	at := tea.MouseClickMsg{X: 10, Y: top + c.layout().entriesTop + 1, Button: tea.MouseLeft}
	send(m, at)
	if got := m.front().Selected().lock.Path; got != "/jobs/idle" {
		t.Fatalf("on %q", got)
	}
	send(m, at)
	wantText(t, m, "chain", "zk:/jobs/idle")
}

func TestClientsSayWhyThereAreNone(t *testing.T) {
	down := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Down, Error: "refused"}
	quiet := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
	for _, test := range []struct {
		name string
		s    *inspect.Snapshot
		want string
	}{
		{"down", inspect.NewSnapshot(noon, []*inspect.Backend{down}, nil), "does not say that nobody holds"},
		{"nothing", inspect.NewSnapshot(noon, []*inspect.Backend{quiet}, nil), "Nobody holds a lock"},
		{"tokens", inspect.NewSnapshot(noon, []*inspect.Backend{quiet}, []*inspect.Lock{thin()}), "Nobody is known"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := inClients(t, Options{}, 80, 24, test.s, subject{})
			wantText(t, m, test.want)
			fits(t, m)
		})
	}
	m := inClients(t, Options{}, 80, 24, inspect.NewSnapshot(noon, []*inspect.Backend{down}, nil), subject{})
	press(m, "w")
	wantText(t, m, "No deadlock where we could look", "zk cannot be reached")
}

func TestEveryClientsFrameFits(t *testing.T) {
	t.Parallel()
	s := tangled(t)
	long := queueOf("/"+strings.Repeat("deep/", 40)+"lock", time.Hour, person{strings.Repeat("x", 90), 91}, person{"evil\x1b[31m\u202e", 92})
	var locks []*inspect.Lock
	for l := range s.Locks() {
		locks = append(locks, l)
	}
	s = observedOf(t, inspect.Update{Backend: backends()[0], Put: append(locks, long)})
	for width := minWidth; width <= 220; width += 7 {
		m := inClients(t, Options{}, width, 24+width%9, s, subject{lock: long.ID})
		fits(t, m)
		press(m, "tab")
		fits(t, m)
		press(m, "w")
		fits(t, m)
		press(m, "w", "/", "q")
		fits(t, m)
	}
}

// The program itself has the list made, once and not in Update, and again when the snapshot is another.
func TestClientsAreListedWhileInFront(t *testing.T) {
	t.Parallel()
	p := start(t, Options{}, 100, 30)
	p.show(tangled(t))
	p.wait("/dl/a")
	p.keys("c")
	p.wait("6 clients", "deadlock")
	p.show(observedOf(t, inspect.Update{Backend: backends()[0], Put: []*inspect.Lock{queueOf("/dl/a", time.Hour, ann)}}))
	p.wait("1 client ")
	p.keys("w")
	p.wait("No deadlock")
	p.keys("\x1b")
	p.wait("what it holds")
}

func BenchmarkListClients100000Locks(b *testing.B) {
	var locks []*inspect.Lock
	for i := range 100_000 {
		one := func(j int) person {
			n := (i*10 + j) % 5000
			return person{fmt.Sprintf("worker-%d", n), int64(1 + n)}
		}
		locks = append(locks, queueOf(fmt.Sprintf("/locks/%06d", i), time.Hour, one(0), one(1), one(2)))
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := inspect.NewSnapshot(noon, backends(), locks) // its owners are not listed yet
		b.StartTimer()
		listClients(s)
	}
}
