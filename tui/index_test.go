package tui

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// With very many locks, sorting and filtering run in commands, and the list keeps following the locks.
func TestManyLocksAreSortedInBackground(t *testing.T) {
	list := fixture.ManyLocks(screen.AtOnce + 1)
	m := New(t.Context(), plain(Options{}))
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	first := send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, fixture.Backends(), list)})
	wantText(t, m, "Sorting 1001 locks")
	send(m, answers(first)...)
	wantText(t, m, "1001 locks")
	wantNoText(t, m, "Sorting")
	early := press(m, "/", "9") // overtaken
	late := press(m, "9")
	list[999] = fixture.SomeLock(inspect.ID{Backend: "zk", Path: "/app-099/other-99"}, 1)
	ids := []inspect.ID{{Backend: "zk", Path: "/app-099/lock-000999"}, {Backend: "zk", Path: "/app-099/other-99"}}
	send(m, snapshotArrivedMsg{snapshot: changed(ids, list...)})
	wantText(t, m, "filtering")
	send(m, answers(early)...)
	wantText(t, m, "filtering")
	send(m, answers(late)...)
	must.True(t, !slices.Contains(listed(m), "/app-099/lock-000999"), "a lock gone during the command is listed")
	must.True(t, slices.Contains(listed(m), "/app-099/other-99"), "a lock found during the command is missing")
	fits(t, m)
}

// answers runs commands, including batches, and collects the messages for screens.
func answers(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case answeredMsg:
		return []tea.Msg{msg}
	case tea.BatchMsg:
		var all []tea.Msg
		for _, c := range msg {
			all = append(all, answers(c)...)
		}
		return all
	default:
		return nil
	}
}

func TestAgeFilterIsEvaluatedAgain(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, fixture.Everything())
	press(m, "/", "age>25s kind=rw")
	wantText(t, m, "0 of 8 locks")
	now = fixture.In(6 * time.Second)
	send(m, tickedMsg{m.ticking})
	wantText(t, m, "1 of 8 locks", "zk:/locks/billing")
}

// While a condition is half typed, the rows stay, and the cursor returns to its old place.
func TestHalfTypedFilterKeepsTheRows(t *testing.T) {
	m := model(t, Options{}, 140, 24, fixture.Everything())
	press(m, "G", "/", "held>5")
	wantText(t, m, "held>5: use a time", "zk:/locks/billing")
	fits(t, m)
	press(m, "m")
	wantText(t, m, "2 of 8 locks")
	press(m, "backspace", "backspace")
	wantText(t, m, "2 of 8 locks", "use a time")
	for range 5 {
		press(m, "backspace")
	}
	must.Equal(t, locksOf(m).Current.Lock.Path, "/locks/nightly", "the cursor is on")
}

// A gauge's full length is the longest TTL seen, even while another screen is in front.
func TestGaugesKeepTheirLength(t *testing.T) {
	l := fixture.Thin()
	p := playing(t, Options{}, l, 120, 36)
	press(p.Model, "b")
	p.at(0, func(l *inspect.Lock) {
		for i := range l.Masters {
			if !l.Masters[i].ExpiresAt.IsZero() {
				l.Masters[i].ExpiresAt = p.clock().Add(3 * time.Second)
			}
		}
		l.Holders[0].ExpiresAt = p.clock().Add(3 * time.Second)
	})
	press(p.Model, "esc")
	wantText(t, p.Model, "╌   3.0s")
	must.True(t, p.snapshot.Lock(l.ID).LongestTTL() >= 2*time.Minute, "full length")
}
