package tui

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// showing is a model that shows the chain of its only lock.
func showing(t *testing.T, o Options, width, height int, l *inspect.Lock) *Model {
	t.Helper()
	m := model(t, o, width, height, snapshotOf(l))
	goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
	fits(t, m)
	return m
}

func TestReadersAreGrouped(t *testing.T) {
	for _, size := range sizes {
		m := showing(t, Options{}, size.width, size.height, library(6))
		goldenScreen(t, fmt.Sprintf("chain-group-%dx%d", size.width, size.height), m)
	}
	m := showing(t, Options{}, 80, 24, library(6))
	wantText(t, m, "▸ 6 readers", "writer-1", "▸ 5 readers", "6 readers hold it", "6 readers · the first in the queue for 50s", "reader-a, reader-b")
	wantNoText(t, m, "10.2.0.1:53122")
	shows(t, m, "enter", "▾ 6 readers", "10.2.0.1:53122", "enter close")
	shows(t, m, "j j", "● reader-b · holds")
	shows(t, m, "h", "▸ 6 readers", "enter open") // closes the group and selects it
	shows(t, m, "j", "○ writer-1 · waits")
	hides(t, m, "h", "▸ chain")
}

// A few readers have a row each. A problem of one reader among many is shown on the group.
func TestGroupsHideNothingThatMatters(t *testing.T) {
	wantText(t, showing(t, Options{}, 120, 30, library(3)), "reader-a", "reader-b", "reader-c", "▸ 5 readers", "⇢ 30")
	l := library(6)
	l.Waiters[3].Watch = inspect.Missing
	wantText(t, showing(t, Options{}, 120, 30, l), "⇥✖ 1 not")
}

// The cursor stays on its reader while the group is open, and moves to the group when the reader
// joins a closed one.
func TestCursorFollowsIntoAGroup(t *testing.T) {
	m := showing(t, Options{}, 120, 36, library(3))
	shows(t, m, "j j", "● reader-c · holds")
	deliver(m, snapshotOf(library(4)))
	wantText(t, m, "▸ 4 readers", "● 4 readers · ")
	shows(t, m, "l j j j", "● reader-c · holds")
	l := library(6)
	l.Holders = l.Holders[1:]
	deliver(m, snapshotOf(l))
	wantText(t, m, "▾ 5 readers", "● reader-c · holds")
}

// A group is not a contender: a release needs one.
func TestGroupCannotBeReleased(t *testing.T) {
	f := newFakeReleaser()
	m := showing(t, Options{Release: f.of}, 120, 36, library(6))
	refuses(t, m, "x")
	wantText(t, m, "this is a group: open it")
	press(m, "enter", "j")
	must.True(t, press(m, "x") != nil, "a reader cannot be released")
}

func TestBlockedHolderNamesRootBlocker(t *testing.T) {
	orders, other := fixture.Orders(), fixture.Readers()
	other.Kind = inspect.KindMutex
	other.Holders = other.Holders[:1]
	other.Waiters = other.Waiters[:1]
	other.Waiters[0].Owner.Session, other.Waiters[0].Owner.Label = orders.Holders[0].Owner.Session, orders.Holders[0].Owner.Label
	other.Waiters[0].Watches = other.Holders[0].Name
	other.Holders[0].HeldSince = fixture.Ago(3 * time.Minute)
	s := snapshotOf(orders, other)
	m := model(t, Options{}, 120, 36, s)
	m.Go(screen.Chain, screen.Subject{Lock: orders.ID})
	settle(t, m, m.navigate())
	wantText(t, m, "→ its holder is itself blocked on zk:/locks/billing, which reader-1 holds for 3m00s (o goes there)")
	shows(t, m, "o", "zk:/locks/billing  mutex", "reader-1 (10.2.0.0:53122)")
	wantNoText(t, m, "its holder itself")
	press(m, "esc")
	free := *other
	free.Holders = nil
	deliver(m, snapshotOf(orders, &free))
	wantNoText(t, m, "its holder itself")
}

// A client that writes may also read. It counts as one holder, not two.
func TestReadingWriterIsOneHolder(t *testing.T) {
	l := library(2)
	l.Holders[0].Mode, l.Holders[1].Owner = recipe.Exclusive, l.Holders[0].Owner
	wantText(t, showing(t, Options{}, 120, 36, l), "reader-a holds it with 2 entries")
	l.Holders[1].Owner.Session++
	wantText(t, showing(t, Options{}, 120, 36, l), "2 hold it")
}

// Enter on a contender shows its owner's other holds and waits.
func TestEnterOpensTheOwner(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	shows(t, m, "j enter", "▸ clients")
	shows(t, m, "esc", "▸ chain", "○ worker-7 · waits")
}

// A slash in a queue searches the owners and hides nothing. The letters after it are not commands.
func TestOwnersAreFoundInTheQueue(t *testing.T) {
	t.Parallel()
	m := opened(t, Options{Lab: newFakeLab()}, 120, 36, fixture.Orders().ID)
	at := func(want string) {
		t.Helper()
		_, c, _ := (acting{m.world}).selected()
		must.Equal(t, c.Owner.Label.Raw(), want)
	}
	press(m, "/")
	shows(t, m, "worker-7", "1 of 4 found", "worker-3", "worker-1")
	at("worker-7")
	for range 2 {
		press(m, "backspace")
	}
	shows(t, m, "enter n", "/ worker", "3 of 4 found")
	at("worker-1")
	press(m, "n")
	at("worker-3")
	press(m, "N")
	at("worker-1")
	fits(t, m)
	hides(t, m, "esc", "found")
	must.Equal(t, m.inFront, screen.Chain, "esc leads to")
}

// On screens without a filter, letters after a slash are not commands either.
func TestLettersAfterSlashAreNotCommands(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := onScreen(t, Options{Lab: newFakeLab()}, e.name, 120, 36, true)
		press(m, "/")
		press(m, "app")
		press(m, "esc")
		must.True(t, !m.HasDialog() && !m.paused, e.name, "a letter was a command")
		must.Equal(t, m.inFront, e.name)
	}
}

// The cursor follows the holder until the user moves it, and then its client. A client that leaves
// keeps its row until it returns. Opened from the list, the chain starts at the holder again.
func TestTheChainsCursorFollowsAClient(t *testing.T) {
	t.Parallel()
	queue := func(people ...fixture.Person) *inspect.Snapshot {
		return snapshotOf(fixture.QueueOf("/jobs/cart", time.Minute, people...))
	}
	m := opened(t, Options{}, 120, 36, fixture.Id("zk:/jobs/cart"))
	for _, step := range []struct {
		keys []string
		now  *inspect.Snapshot
		row  string // under the cursor
		says string
	}{
		{nil, queue(fixture.Ann, fixture.Bob, fixture.Cat), "ann", "selected · follows the holder"},
		{nil, queue(fixture.Bob, fixture.Cat), "bob", "selected · follows the holder"},
		{[]string{"j", "k"}, queue(fixture.Bob, fixture.Cat), "bob", "selected · follows this client"},
		{nil, queue(fixture.Cat), "bob has left the queue", "selected · follows this client"},
		{nil, queue(fixture.Cat, fixture.Dan, fixture.Bob), "bob", "○ bob · waits"},
		{nil, queue(fixture.Cat, fixture.Dan), "bob has left the queue", "selected"},
		{[]string{"k"}, queue(fixture.Cat, fixture.Dan), "dan", "○ dan · waits"},
		{[]string{"t", "esc"}, queue(fixture.Cat, fixture.Dan), "dan", "○ dan · waits"},
		{[]string{"H", "enter"}, queue(fixture.Cat, fixture.Dan), "cat", "selected · follows the holder"},
	} {
		press(m, step.keys...)
		deliver(m, step.now)
		must.Contain(t, lineWith(t, m, "▸  "), step.row, step.keys)
		wantText(t, m, step.says)
	}
}

// If a contender watches a node behind it, its row shows that watch, as its finding does.
func TestAWatchBehindIsShown(t *testing.T) {
	t.Parallel()
	l := fixture.Readers()
	l.Findings = []inspect.Finding{{
		Rule: "lost-wakeup", Severity: inspect.Info, Message: "watches a node behind it", Subject: l.Holders[0].Subject(),
		Evidence: map[string]any{"instead": l.Waiters[0].Name.String()},
	}}
	m := showing(t, Options{}, 120, 36, l)
	wantText(t, m, "⇢ 13")
}

// A sequence number is shown in full, however many locks were created before.
func TestLongNumbersAreNotCut(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for i := range int32(300) {
		l.Waiters = append(l.Waiters, fixture.Znode(1234567+i, "late", 0, nil, 0))
	}
	m := model(t, Options{}, 80, 24, snapshotOf(l))
	shows(t, m, "enter G", " 1234866 ")
}
