package tui

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// The cursor follows the holder until the user moves it, and then its client. A client that leaves
// keeps its row until it returns. Opened from the list, the chain starts at the holder again.
func TestTheChainsCursorFollowsAClient(t *testing.T) {
	t.Parallel()
	queue := func(people ...fixture.Person) *inspect.Snapshot {
		return inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{fixture.QueueOf("/jobs/cart", time.Minute, people...)})
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
		send(m, snapshotArrivedMsg{snapshot: step.now})
		must.Contain(t, lineWith(t, m, "▸  "), step.row, step.keys)
		wantText(t, m, step.says)
		fits(t, m)
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
	m := opening(t, l, 120, 36)
	wantText(t, m, "⇢ 13")
}

// A sequence number is shown in full, however many locks were created before.
func TestLongNumbersAreNotCut(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for i := range int32(300) {
		l.Waiters = append(l.Waiters, fixture.Znode(1234567+i, "late", 0, nil, 0))
	}
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
	press(m, "enter", "G")
	wantText(t, m, " 1234866 ")
}
