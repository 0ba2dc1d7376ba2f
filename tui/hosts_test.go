package tui

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// A host has its configured name on the chain, in the list of clients and in filters. The details keep
// the address.
func TestHostsHaveTheirNames(t *testing.T) {
	t.Parallel()
	rule := must.Have(inspect.NewHostRule("10.0.9.0/24", "", "billing-1"))(t)
	l := fixture.QueueOf("/locks/a", time.Minute, fixture.Ann, fixture.Bob)
	l.Holders[0].Owner.Client = "10.0.9.7:50312"
	s := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}).WithHosts(&inspect.Hosts{Rules: []inspect.HostRule{rule}})
	m := model(t, Options{}, 120, 36, s)
	press(m, "enter")
	wantText(t, m, "billing-1:50312", "10.0.9.7:50312", "named billing-1")
	press(m, "esc", "/", "client=billing", "enter")
	wantText(t, m, "/locks/a")
}

// A domain that all hosts share is left out only in lists where names would be cut.
func TestCutNamesOmitSharedDomain(t *testing.T) {
	t.Parallel()
	var locks []*inspect.Lock
	for i := range 3 {
		who := fixture.Person{Name: fmt.Sprintf("app-%d.production.example.net:4001", i), Session: int64(i + 1)}
		locks = append(locks, fixture.QueueOf(fmt.Sprintf("/locks/%d", i), time.Minute, who))
	}
	s := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), locks)
	m := model(t, Options{}, 60, 24, s)
	wantText(t, m, "app-1:4001")
	wantNoText(t, m, "app-1.prod")
	press(m, "enter")
	wantText(t, m, "app-0:4001", "● app-0.production.example.net:4001")
	press(m, "esc", "c")
	makeClients(m)
	wantText(t, m, "app-1:4001")
	m = model(t, Options{}, 200, 50, s)
	wantText(t, m, "app-1.production.example.net:4001")
}
