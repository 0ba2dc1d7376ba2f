package tui

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// lineAt returns the index of the first line that contains a text; -1 if none does.
func lineAt(m *Model, text string) int {
	return slices.IndexFunc(splitLines(content(m)), func(l string) bool { return strings.Contains(l, text) })
}

// The lines below a queue stay in place while the queue grows and shrinks. If it stays short, they
// move up after a while.
func TestPanesBelowAQueueStayPut(t *testing.T) {
	t.Parallel()
	people := []fixture.Person{fixture.Ann, fixture.Bob, fixture.Cat, fixture.Dan, fixture.Eve}
	for _, key := range []string{"", "enter"} {
		now := fixture.Noon
		m := model(t, Options{Now: func() time.Time { return now }}, 120, 60, nil)
		at := func(after time.Duration, n int) int {
			now = fixture.Noon.Add(after)
			l := fixture.QueueOf("/jobs/cart", time.Minute, people[:n]...)
			deliver(m, inspect.NewSnapshot(now, fixture.Backends(), []*inspect.Lock{l}))
			return lineAt(m, " selected ")
		}
		at(0, 5)
		if key != "" {
			press(m, key)
		}
		want := at(0, 5)
		for i, n := range []int{1, 4, 2} {
			must.Equal(t, at(time.Duration(i+1)*2*time.Second, n), want, key, "with a queue of", n)
		}
		at(11*time.Second, 2)
		must.True(t, at(22*time.Second, 2) < want, key, "with a queue that stays short the details stay at line")
	}
}

// A session's line stays where it is when the client's counts change.
func TestAClientsSessionStaysPut(t *testing.T) {
	m := model(t, Options{}, 120, 36, nil)
	show := func(locks ...*inspect.Lock) int {
		b := fixture.Backends()
		deliver(m, fixture.ObservedOf(t, inspect.Update{Backend: b[0], Sessions: fixture.SessionTable(fixture.Ann, fixture.Bob), Put: locks}))
		makeClients(m)
		return lineAt(m, "session 0x")
	}
	show(fixture.QueueOf("/dl/a", time.Hour, fixture.Ann, fixture.Bob))
	press(m, "c")
	calm := show(fixture.QueueOf("/dl/a", time.Hour, fixture.Ann, fixture.Bob))
	must.True(t, calm >= 0, "no session")
	a, b := fixture.QueueOf("/dl/a", time.Hour, fixture.Ann, fixture.Bob), fixture.QueueOf("/dl/b", time.Hour, fixture.Bob, fixture.Ann)
	must.Equal(t, show(a, b), calm, "line of the session")
	press(m, "j", "k")
	show()
	wantText(t, m, "idle", "BLOCKED BY")
}

// The columns do not move with the filter.
func TestColumnsOnlyGrow(t *testing.T) {
	m := model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{
		fixture.QueueOf("/locks/a-rather-long-name/of-a-lock", time.Minute, fixture.Ann), fixture.QueueOf("/locks/b", time.Minute, fixture.Bob),
	}))
	before := lineWith(t, m, "KIND")
	press(m, "/", "locks/b", "enter")
	must.Equal(t, lineWith(t, m, "KIND"), before, "the columns with a filter")
}

// Until the first order is final, the list says that it is provisional.
func TestProvisionalOrderIsAnnounced(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, nil)
	list := []*inspect.Lock{fixture.Orders(), fixture.Readers()}
	first := fixture.Backends()
	first[1].FirstPass = false
	receives(t, m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(now, first, list)}, "still scanning")
	now = now.Add(time.Second)
	receives(t, m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(now, fixture.Backends(), list)}, "still reading")
	now = now.Add(4 * time.Second)
	send(m, tickedMsg{m.ticking})
	wantNoText(t, m, "still")
}

// This program's own holds are marked, and r releases them.
func TestOwnHoldsAreMarked(t *testing.T) {
	host := must.Have(os.Hostname())(t)
	me := fixture.Person{Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Session: 1}
	other := fixture.Person{Name: "elsewhere:1", Session: 2}
	m := model(t, Options{Release: newFakeReleaser().of, Lab: newFakeLab()}, 120, 36, fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: []*inspect.Lock{
		fixture.QueueOf("/jobs/mine", time.Minute, me), fixture.QueueOf("/jobs/theirs", time.Minute, other),
	}}))
	for _, key := range []string{"1", "c"} {
		if press(m, key); key == "c" {
			makeClients(m)
		}
		must.Contain(t, lineWith(t, m, me.Name), "(you)", key)
		wantNone(t, lineWith(t, m, other.Name), "(you)")
	}
	goTo(m, screen.Chain, screen.Subject{Lock: fixture.Id("zk:/jobs/mine")})
	wantText(t, m, me.Name+" (you)", "r release yours")
	keysRun(t, m, "x", "It is yours: Esc, then r releases it")
}

// A holder known only by its label counts as a client.
func TestLabelledHoldersAreClients(t *testing.T) {
	l := inspect.KeyLock(fixture.Id("redis:lock:pay"), []inspect.Vote{fixture.Vote(1, "x", 20*time.Second)}, fixture.Noon)
	l.Holders = []inspect.Contender{{Name: "x", State: inspect.Holding, Count: 1, Owner: inspect.Owner{Label: "web-3:2211"}}}
	l.Waiters = []inspect.Contender{{Name: "a77b01", State: inspect.Waiting, Count: 1}}
	b := fixture.Backends()
	for _, width := range []int{80, 120} {
		m := model(t, Options{}, width, 36, inspect.NewSnapshot(fixture.Noon, b, []*inspect.Lock{l}), "c")
		makeClients(m)
		wantText(t, m, "web-3:2211", "1 client ", "1 unidentified")
	}
}

// A muted finding is marked where its lock is, and counted.
func TestMutedFindingIsMarkedAndCounted(t *testing.T) {
	l := fixture.Orders()
	f := fixture.Trouble("persistent-contender", inspect.Critical, "")
	f.Muted = &inspect.Muted{Until: fixture.In(1 << 40), Reason: "known", By: "me"}
	l.Findings = []inspect.Finding{f}
	m := model(t, Options{Mutes: &fakeMutes{}}, 120, 36, snapshotOf(l))
	must.Contain(t, lineWith(t, m, "● "+l.ID.String()), "✖ muted")
	wantText(t, m, "✖ persistent-contender (muted)", "muted by me until ", " · 1 muted")
	wantNoText(t, m, "1 critical")
	keysShow(t, m, "f", "(muted) "+f.Message, "muted by me until ", ": known")
	receives(t, m, tea.WindowSizeMsg{Width: 80, Height: 24}, "M unmute")
}

// Messages, troubles of backends and lost locks are shown in their own line, and move no row or key.
func TestMessagesMoveNoRow(t *testing.T) {
	for _, key := range []string{"", "f", "e", "c", "b", "L", "t"} {
		m := model(t, Options{}, 80, 24, nil)
		deliver(m, inspect.NewSnapshot(fixture.Noon, nil, []*inspect.Lock{fixture.Orders(), fixture.Readers()}))
		if key != "" {
			press(m, key)
		}
		between := func() string {
			lines := splitLines(content(m))
			return strings.Join(slices.Concat(lines[2:22], lines[23:]), "\n")
		}
		before := between()
		m.Flash("copied a rather long text that goes on and on, over the whole width of the window and beyond its end")
		fits(t, m)
		must.Equal(t, between(), before, key, "a message changed the page")
		m.feedError = errors.New("end of the recording")
		fits(t, m)
		must.True(t, between() == before || key == "" || key == "b", key, "a backend's trouble changed the page")
		wantText(t, m, "no more updates", "copied a rather long")
		press(m, "?")
		m.Report(screen.Loss{Lock: fixture.Orders().ID, Why: "the session expired", At: fixture.Noon})
		wantText(t, m, "LOST  zk:/locks/orders")
	}
}

// Rows of a backend that does not answer look old: their ages stop and become lower bounds, and their
// sign is the one for unknown.
func TestLostBackendRowsLookOld(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, nil)
	backends := fixture.Backends()
	backends[0].State, backends[0].HeardAt = inspect.Down, fixture.Noon
	deliver(m, inspect.NewSnapshot(fixture.Noon, backends, []*inspect.Lock{fixture.Orders(), fixture.Readers()}))
	row := func(lock string) string { return lineWith(t, m, "? "+lock) }
	must.Contain(t, row("zk:/locks/orders"), "≥13m58s")
	now = now.Add(time.Minute)
	send(m, tickedMsg{m.ticking})
	must.Contain(t, row("zk:/locks/orders"), "≥13m58s", "a minute later")
	must.Contain(t, row("zk:/locks/billing"), "1m00s old", "a minute later")
	press(m, "enter") // the pane looks old, too
	held := lineWith(t, m, "holds")
	now = now.Add(13 * time.Second)
	receives(t, m, tickedMsg{m.ticking}, "read 1m13s ago: ")
	must.Equal(t, strings.ReplaceAll(lineWith(t, m, "holds"), "read 1m13s ago", "read 1m00s ago"), held, "the hold later")
}

// A row shows its age if its backend is down, or if it is polled too seldom.
func TestOldRowsSayHowOld(t *testing.T) {
	for _, tt := range []struct {
		name   string
		age    time.Duration
		polled bool
		zk     inspect.BackendState
		old    string // its rows with an age
	}{
		{"its backend is down", 42 * time.Second, false, inspect.Down, "/locks/nightly"},
		{"it is polled too seldom", 42 * time.Second, true, inspect.Connected, "/locks/nightly lock:left"},
		{"it was polled just now", 2 * time.Second, true, inspect.Connected, ""},
		{"its changes are reported", 42 * time.Second, false, inspect.Connected, ""},
	} {
		list := fixture.Backends()
		list[0].State = tt.zk
		queue, key, reported := fixture.FreeLock(), fixture.Minority(), fixture.Thin()
		queue.ReadAt, queue.Polled = fixture.Ago(tt.age), tt.polled
		key.ReadAt, key.Polled, key.Findings = fixture.Ago(tt.age), tt.polled, nil
		reported.ReadAt = fixture.Ago(tt.age)
		m := model(t, Options{}, 160, 36, inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{queue, key, reported}))
		for _, row := range []string{"/locks/nightly", "lock:left", "lock:cart:42"} {
			old := regexp.MustCompile(row + ".*42s old").MatchString(content(m))
			must.Equal(t, old, strings.Contains(tt.old, row), tt.name, row)
		}
	}
}
