package tui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// While locks are granted, queue up, get findings, go and come many times a second, the order of the default
// list changes at most once in five seconds, and the cursor's line has the same lock as long as no user
// moves it.
func TestRowsMoveSeldom(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	for _, keys := range [][]string{nil, {"j", "j", "j"}, {"G"}} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			now := fixture.Noon
			m := model(t, Options{Now: func() time.Time { return now }}, 100, 40, nil)
			locks := make(map[inspect.ID]*inspect.Lock)
			for i := range 20 {
				id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/l%02d", i)}
				locks[id] = fixture.SomeLock(id, i)
			}
			publish := func(ids ...inspect.ID) {
				var list []*inspect.Lock
				for _, l := range locks {
					list = append(list, l)
				}
				send(m, snapshotArrivedMsg{snapshot: changed(ids, list...)})
			}
			publish()
			press(m, keys...)
			start := locksOf(m).Current.Lock
			r := rand.New(rand.NewPCG(7, 7))
			var lastChange time.Time
			order, changes := listed(m), 0
			for range 300 { // a minute
				now = now.Add(200 * time.Millisecond)
				id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/l%02d", r.IntN(20))}
				if locks[id] != nil && r.IntN(10) == 0 {
					delete(locks, id)
				} else {
					locks[id] = fixture.SomeLock(id, r.IntN(1000))
				}
				publish(id)
				if r.IntN(3) == 0 {
					send(m, tickedMsg{m.ticking})
				}
				after := listed(m)
				if reordered(order, after) {
					if changes++; now.Sub(lastChange) < 5*time.Second {
						t.Fatalf("another order after %v", now.Sub(lastChange))
					}
					lastChange = now
				}
				order = after
				if got := locksOf(m).Current.Lock; keys != nil && got != start {
					t.Fatalf("the cursor is on %v, not %v", got, start)
				}
			}
			if changes < 5 {
				t.Errorf("the order changed %d times: it does not follow", changes)
			}
			fits(t, m)
		})
	}
}

// reordered reports whether two of those that are in both lists changed places.
func reordered(before, after []string) bool {
	in := func(list []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(list, s) }
	}
	return !slices.Equal(slices.DeleteFunc(slices.Clone(before), in(after)), slices.DeleteFunc(slices.Clone(after), in(before)))
}

// Whatever there is to tell, a toast, a backend in trouble or a lost lock of ours, is in a line of its
// own: the rows and the keys stay where they are.
func TestWhatIsReportedMovesNoRow(t *testing.T) {
	for _, key := range []string{"", "f", "e", "c", "b", "L", "t"} {
		m := model(t, Options{}, 80, 24, nil)
		send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, nil, []*inspect.Lock{fixture.Orders(), fixture.Readers()})})
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
		if after := between(); after != before {
			t.Errorf("%q: a toast changed the page:\n%s", key, after)
		}
		m.feedError = errors.New("end of the recording")
		fits(t, m)
		if after := between(); after != before && key != "" && key != "b" {
			t.Errorf("%q: a trouble changed the page:\n%s", key, after)
		}
		wantText(t, m, "no more updates", "copied a rather long")
		press(m, "?")
		m.Report(screen.Loss{Lock: fixture.Orders().ID, Why: "the session expired", At: fixture.Noon})
		wantText(t, m, "LOST  zk:/locks/orders")
	}
}

// Rows of a backend that does not answer look old: their ages stop, as lower bounds, and their sign is
// the one for unknown.
func TestRowsOfALostBackendLookOld(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, nil)
	backends := fixture.Backends()
	backends[0].State, backends[0].HeardAt = inspect.Down, fixture.Noon
	send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, backends, []*inspect.Lock{fixture.Orders(), fixture.Readers()})})
	row := func(lock string) string {
		for _, l := range splitLines(content(m)) {
			if strings.Contains(l, "? "+lock) {
				return l
			}
		}
		return ""
	}
	if before := row("zk:/locks/orders"); !strings.Contains(before, "≥13m58s") {
		t.Errorf("%q", before)
	}
	now = now.Add(time.Minute)
	send(m, tickedMsg{m.ticking})
	if after := row("zk:/locks/orders"); !strings.Contains(after, "≥13m58s") {
		t.Errorf("a minute later: %q", after)
	}
	if after := row("zk:/locks/billing"); !strings.Contains(after, "1m00s old") {
		t.Errorf("a minute later: %q", after)
	}
}
