package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
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
		m := model(t, Options{}, width, 30, inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{l}))
		press(m, "enter")
		wantText(t, m, "cart-1 has held it for 2.4s: 4 of 5 votes, can lose 1 · valid 7.9s", "?        connection refused", "● yes    cart-1")
		wantNoText(t, m, "ROLE", "  UP", "dial tcp", "clock")
		fits(t, m)
	}
}

func TestDialogWords(t *testing.T) {
	t.Parallel()
	m := inConfirm(t, newFakeReleaser())
	wantText(t, m, "Sends    · delete", "esc cancel", "[ Release ]")
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
