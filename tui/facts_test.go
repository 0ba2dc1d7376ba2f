package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
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
		m := model(t, Options{}, width, 30, inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{l}), "enter")
		wantText(t, m, "cart-1 has held it for 2.4s: 4 of 5 votes, can lose 1 · valid 7.9s", "?        connection refused", "● yes    cart-1")
		wantNoText(t, m, "ROLE", "  UP", "dial tcp", "clock")
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

// An age by an unchecked clock is marked wherever it is drawn.
func TestUncheckedClockAgesAreMarked(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for i := range l.Waiters {
		l.Waiters[i].Since, l.Waiters[i].Czxid = fixture.Ago(time.Hour), 3
	}
	known, unknown := fixture.Backends(), fixture.Backends()
	known[0].Clock, unknown[0].Clock = inspect.LeaderClock{From: 1, Known: true}, inspect.LeaderClock{From: 1}
	for _, one := range []struct {
		list []*inspect.Backend
		mark string
	}{{known, ""}, {unknown, "~"}} {
		m := model(t, Options{}, 120, 40, inspect.NewSnapshot(fixture.Noon, one.list, []*inspect.Lock{l}))
		wantText(t, m, " "+one.mark+"1h00m")
		goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
		wantText(t, m, "longest wait "+one.mark+"1h00m", "  "+one.mark+"1h00m ")
		shows(t, m, "j", "in the queue for "+one.mark+"1h00m")
	}
}

// A host has its configured name on the chain, in the list of clients and in filters. The details keep
// the address.
func TestHostsHaveTheirNames(t *testing.T) {
	t.Parallel()
	rule := must.Have(inspect.NewHostRule("10.0.9.0/24", "", "billing-1"))(t)
	l := fixture.QueueOf("/locks/a", time.Minute, fixture.Ann, fixture.Bob)
	l.Holders[0].Owner.Client = "10.0.9.7:50312"
	s := snapshotOf(l).WithHosts(&inspect.Hosts{Rules: []inspect.HostRule{rule}})
	m := model(t, Options{}, 120, 36, s)
	shows(t, m, "enter", "billing-1:50312", "10.0.9.7:50312", "named billing-1")
	shows(t, m, "esc / client=billing enter", "/locks/a")
}

// A domain that all hosts share is left out only in lists where names would be cut.
func TestCutNamesOmitSharedDomain(t *testing.T) {
	t.Parallel()
	var locks []*inspect.Lock
	for i := range 3 {
		who := fixture.Person{Name: fmt.Sprintf("app-%d.production.example.net:4001", i), Session: int64(i + 1)}
		locks = append(locks, fixture.QueueOf(fmt.Sprintf("/locks/%d", i), time.Minute, who))
	}
	s := snapshotOf(locks...)
	m := model(t, Options{}, 60, 24, s)
	wantText(t, m, "app-1:4001")
	wantNoText(t, m, "app-1.prod")
	shows(t, m, "enter", "app-0:4001", "● app-0.production.example.net:4001")
	press(m, "esc", "c")
	makeClients(m)
	wantText(t, m, "app-1:4001")
	m = model(t, Options{}, 200, 50, s)
	wantText(t, m, "app-1.production.example.net:4001")
}
