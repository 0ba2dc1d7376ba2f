package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/screen"
)

// demoTour plays the recording behind the screenshots to a model, up to a time and by the recording's
// clock. It calls drawn after each snapshot.
func demoTour(t *testing.T, until time.Duration, drawn func(m *Model)) *Model {
	t.Helper()
	played, err := recording.Open(time.Now, "../screenshots/tour.jsonl.gz", recording.Speed(0), recording.Kept())
	must.Succeed(t, err)
	observer := inspect.NewObserver(played.Now, played)
	observer.Diagnose(finding.Rules(), 10*time.Second)
	m := model(t, Options{Now: played.Now, Sandbox: true}, 120, 36, nil)
	err = observer.Film(inspect.PastStep, func(emit func(inspect.Update)) error { return played.To(until, emit) }, func(s *inspect.Snapshot) {
		send(m, snapshotArrivedMsg{snapshot: s}, tickedMsg{m.ticking})
		if drawn != nil {
			drawn(m)
		}
	})
	must.Succeed(t, err)
	return m
}

// A new user's first questions to the demo take at most five keys: who blocks this lock, is it fair,
// what goes into the ticket.
func TestThreeTasksTakeFewKeys(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]struct {
		keys []string
		seen []string // on the screen
	}{
		"who blocks this":           {[]string{"enter"}, []string{"zk:/locks/accounts", "transfer-1 (127.0.0.1:45306) has held it for 45s · 3 waiting · next: transfer-2", "lockscope release zk:/locks/ledger --owner"}},
		"who blocks the fifth":      {[]string{"j", "j", "j", "j", "enter"}, []string{"zk:/locks/payments", "payment-1", "has held it for", "4 waiting · next", "stuck-holder"}},
		"who blocks most":           {[]string{"c"}, []string{"BLOCKS", "sort: blocks the most"}},
		"is it fair":                {[]string{"t"}, []string{"zk:/locks/accounts", "acquired too rarely to judge fairness"}},
		"is the fifth fair":         {[]string{"j", "j", "j", "j", "t"}, []string{"zk:/locks/payments", "fair: no overtaking"}},
		"what goes into the ticket": {[]string{"Y", "enter"}, []string{"Ticket of zk:/locks/accounts", "writing the file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := demoTour(t, 45*time.Second, nil)
			if len(task.keys) > 5 {
				t.Fatalf("%d keys", len(task.keys))
			}
			for _, k := range task.keys {
				press(m, k)
				if m.inFront == screen.Clients {
					makeClients(m)
				}
			}
			wantText(t, m, task.seen...)
		})
	}
}

// lineOf is the screen line of the cursor.
func lineOf(m *Model) int {
	for i, l := range splitLines(content(m)) {
		if strings.HasPrefix(l, m.theme.Glyphs.Cursor) {
			return i
		}
	}
	return -1
}

// A moment of a recording is drawn with its past: plots of the minutes before, and keys to go back.
func TestAMomentHasItsPast(t *testing.T) {
	t.Parallel()
	past := inspect.NewPast(inspect.PastKept, inspect.PastStep, inspect.PastBudget)
	var last *inspect.Snapshot
	demoTour(t, 20*time.Second, func(m *Model) {
		last = m.snapshot
		past.Add(last)
	})
	m := model(t, Options{Past: past, Now: func() time.Time { return last.TakenAt }, Replay: true}, 120, 36, last)
	plots := 0
	for _, line := range splitLines(content(m)) {
		if !strings.Contains(line, "zk:/locks/payments") {
			continue
		}
		if plots++; !strings.ContainsAny(line, "▁▂▃▄▅▆▇█") {
			t.Errorf("the past is not plotted: %q", line)
		}
	}
	must.True(t, plots != 0, "the lock is not in the list", content(m))
	press(m, "[")
	wantText(t, m, "5s ago, paused")
}
