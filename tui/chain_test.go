package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// showing is a model that shows the chain of its only lock.
func showing(t *testing.T, o Options, width, height int, l *inspect.Lock) *Model {
	t.Helper()
	return goTo(model(t, o, width, height, snapshotOf(l)), screen.Chain, screen.Subject{Lock: l.ID})
}

func TestReadersAreGrouped(t *testing.T) {
	for _, size := range sizes {
		m := showing(t, Options{}, size.width, size.height, library(6))
		goldenScreen(t, fmt.Sprintf("chain-group-%dx%d", size.width, size.height), m)
	}
	m := showing(t, Options{}, 80, 24, library(6))
	wantNoText(t, m, "10.2.0.1:53122")
	keysShow(t, m, "enter", "▾ 6 readers", "10.2.0.1:53122", "enter close")
	keysShow(t, m, "j j", "● reader-b · holds")
	keysShow(t, m, "h", "▸ 6 readers", "enter open") // closes the group and selects it
	keysShow(t, m, "j", "○ writer-1 · waits")
	keysHide(t, m, "h", "▸ chain")
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
	keysShow(t, m, "j j", "● reader-c · holds")
	receives(t, m, snapshotArrivedMsg{snapshot: snapshotOf(library(4))}, "▸ 4 readers", "● 4 readers · ")
	keysShow(t, m, "l j j j", "● reader-c · holds")
	l := library(6)
	l.Holders = l.Holders[1:]
	receives(t, m, snapshotArrivedMsg{snapshot: snapshotOf(l)}, "▾ 5 readers", "● reader-c · holds")
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
	keysShow(t, m, "o", "zk:/locks/billing  mutex", "reader-1 (10.2.0.0:53122)")
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
	keysShow(t, m, "j enter", "▸ clients")
	keysShow(t, m, "esc", "▸ chain", "○ worker-7 · waits")
}

// A slash in a queue searches the owners and hides nothing. The letters after it are not commands.
func TestOwnersAreFoundInTheQueue(t *testing.T) {
	m := opened(t, Options{Lab: newFakeLab()}, 120, 36, fixture.Orders().ID)
	at := func(want string) {
		t.Helper()
		_, c, _ := (acting{m.world}).selected()
		must.Equal(t, c.Owner.Label.Raw(), want)
	}
	keysShow(t, m, "/ worker-7", "1 of 4 found", "worker-3", "worker-1")
	at("worker-7")
	keysShow(t, m, "backspace backspace enter n", "/ worker", "3 of 4 found")
	at("worker-1")
	press(m, "n")
	at("worker-3")
	press(m, "N")
	at("worker-1")
	fits(t, m)
	keysHide(t, m, "esc", "found")
	must.Equal(t, m.inFront, screen.Chain, "esc leads to")
}

// On screens without a filter, letters after a slash are not commands either.
func TestLettersAfterSlashAreNotCommands(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := onScreen(t, Options{Lab: newFakeLab()}, e.name, 120, 36, true)
		press(m, "/", "app", "esc")
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
	l := fixture.Readers()
	l.Findings = []inspect.Finding{{
		Rule: "lost-wakeup", Severity: inspect.Info, Message: "watches a node behind it", Subject: l.Holders[0].Subject(),
		Evidence: map[string]any{"instead": l.Waiters[0].Name.String()},
	}}
	wantText(t, showing(t, Options{}, 120, 36, l), "⇢ 13")
}

// A sequence number is shown in full, however many locks were created before.
func TestLongNumbersAreNotCut(t *testing.T) {
	l := fixture.Orders()
	for i := range int32(300) {
		l.Waiters = append(l.Waiters, fixture.Znode(1234567+i, "late", 0, nil, 0))
	}
	wantText(t, model(t, Options{}, 80, 24, snapshotOf(l), "enter", "G"), " 1234866 ")
}

// fairQueue is a Redisson fair lock whose first waiter is dead, with a finding about it.
func fairQueue() *inspect.Lock {
	l := inspect.KeyLock(fixture.Id("redis:fair"), []inspect.Vote{fixture.Vote(0, uuid(0)+":12", 20*time.Second)}, fixture.Noon)
	l.Recipe, l.State, l.Confidence = "redisson", inspect.StateContended, recipe.Certain
	for i := range 3 {
		c := inspect.Contender{Name: inspect.Untrusted(fmt.Sprintf("%s:%d", uuid(i+1), 33)), State: inspect.Waiting, Dead: i == 0}
		c.ExpiresAt, c.Owner = fixture.In(time.Duration(i+1)*time.Minute), inspect.Owner{Process: inspect.Process{LibraryID: inspect.Untrusted(uuid(i + 1)), Thread: "33"}}
		l.Waiters = append(l.Waiters, c)
	}
	release := fixture.Act(inspect.VerbRelease, "if its client is gone", l.ID, l.Waiters[0].Name)
	release.Waiter, release.Command = true, release.Command+" --waiter"
	l.Findings = []inspect.Finding{{
		Rule: "stale-fair-queue", Severity: inspect.Warning, Message: "1 of 3 waiters is most likely gone",
		Steps: []inspect.Step{
			fixture.Say("wait: Redisson drops each within 5 min"),
			release,
			fixture.Say("or restart Redisson, and tell its users"),
		},
	}}
	return l
}

func uuid(i int) string { return fmt.Sprintf("%08x-9d1b-4c38-b7f4-2a1c6f9e0a11", i) }

func TestRedisQueueIsReadable(t *testing.T) {
	for _, size := range sizes {
		m := showing(t, Options{}, size.width, size.height, fairQueue())
		goldenScreen(t, fmt.Sprintf("chain-fair-%dx%d", size.width, size.height), m)
		keysShow(t, m, "j j", "nothing keeps its entry alive", "thread 33 · instance "+uuid(1))
	}
}

func TestRedisReadersAndPermitsAreListed(t *testing.T) {
	l := inspect.KeyLock(fixture.Id("redis:rw"), []inspect.Vote{fixture.Vote(0, "x", 20*time.Second)}, fixture.Noon)
	l.Kind, l.Recipe = inspect.KindRW, "redisson"
	l.Holders = nil
	for i := range 2 {
		l.Holders = append(l.Holders, inspect.Contender{
			Name: inspect.Untrusted(uuid(i) + ":1"), State: inspect.Holding, Mode: recipe.Shared, ExpiresAt: fixture.In(time.Minute),
		})
	}
	wantText(t, showing(t, Options{}, 80, 24, l), "2 readers hold it", uuid(0)+":1", uuid(1)+":1", "read, 1m00s left")
	l.Kind, l.Limit = inspect.KindSemaphore, 3
	l.Holders = l.Holders[:1]
	wantText(t, showing(t, Options{}, 80, 24, l), "1 of 3 permits used", uuid(0)+":1")
}

// The advice is shown in full, and its commands can be pasted into a shell.
func TestAdviceIsNotCut(t *testing.T) {
	l := fairQueue()
	m := showing(t, Options{}, 80, 24, l)
	said := strings.Join(strings.Fields(strings.ReplaceAll(content(m), "\\\n", " ")), " ")
	for _, part := range l.Findings[0].Phrases() {
		must.Contain(t, said, part.Text)
	}
}

func TestLongQueueCountIsWhole(t *testing.T) {
	l := fixture.Orders()
	for i := range 300 {
		l.Waiters = append(l.Waiters, inspect.Contender{Name: inspect.Untrusted(fmt.Sprint("w", i)), State: inspect.Waiting})
	}
	unseen := inspect.KeyLock(fixture.Id("redis:unseen"), []inspect.Vote{fixture.Vote(0, "x", 20*time.Second)}, fixture.Noon)
	unseen.State, unseen.WaitersAtLeast = inspect.StateContended, 2
	m := model(t, Options{}, 120, 36, snapshotOf(l, unseen))
	wantText(t, m, " 303 ", " ≥2 ")
	send(m, tea.WindowSizeMsg{Width: 110, Height: 36}) // wide enough for bars, too narrow for trends
	wantText(t, m, "▇▇▇▇ 303", "▇▇ ≥2")
}

// The hold time of a key that existed before watching began is a lower bound.
func TestEarlierHoldIsLowerBound(t *testing.T) {
	l := inspect.KeyLock(fixture.Id("redis:old"), []inspect.Vote{fixture.Vote(0, "mine", 20*time.Second)}, fixture.Noon)
	l.Holders[0].Seen = fixture.Noon.Add(-90 * time.Second)
	wantText(t, model(t, Options{}, 120, 36, snapshotOf(l)), "≥1m30s")
	wantText(t, showing(t, Options{}, 120, 36, l), "for at least 1m30s (already held at 11:58:30)")
}

// A recent start of a master is shown only if the rule found that it lost the key, or may have.
func TestRestartMarkNeedsLostKey(t *testing.T) {
	const lost, maybe, mark = "absent, restarted within the TTL", "absent, up for less than the TTL", "▲3.0s"
	found := func(master int, c recipe.Confidence) inspect.Finding {
		f := inspect.Finding{Rule: "master-restarted", Severity: inspect.Warning, Confidence: c}
		f.Subject.Server = inspect.Untrusted(fixture.Vote(master, "", 0).Addr)
		return f
	}
	for name, tt := range map[string]struct {
		votes   string
		found   []inspect.Finding
		is, not []string
	}{
		"written after the start": {"aaa-", nil, []string{"absent  "}, []string{lost, maybe, mark}},
		"lost":                    {"aaa-", []inspect.Finding{found(4, recipe.Likely)}, []string{lost, mark}, []string{maybe}},
		"may be lost":             {"aaa-", []inspect.Finding{found(4, recipe.Possible)}, []string{maybe, mark}, []string{lost}},
		"another one lost it":     {"aa--", []inspect.Finding{found(3, recipe.Likely)}, []string{lost, "▲41d"}, []string{maybe, mark}},
		"it has it again":         {"aaaa", []inspect.Finding{found(4, recipe.Likely)}, []string{"3.0s"}, []string{"absent", mark}},
		"released":                {"----", nil, []string{"absent  "}, []string{lost, maybe, mark}},
	} {
		var votes []inspect.Vote
		for i, v := range strings.ReplaceAll(tt.votes, "-", " ") {
			votes = append(votes, fixture.Vote(i+1, strings.TrimSpace(string(v)), 7*time.Second))
		}
		l := inspect.KeyLock(fixture.Id("redis:lock:cart:42"), votes, fixture.Noon)
		l.Findings = tt.found
		t.Run(name, func(t *testing.T) {
			m := showing(t, Options{}, 120, 36, l)
			wantText(t, m, tt.is...)
			wantNoText(t, m, tt.not...)
		})
	}
}
