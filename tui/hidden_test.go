package tui

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// A reopened screen looks as if it had been in front all the time.
func TestHiddenScreensStayCurrent(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	for _, e := range screenList() {
		t.Run(string(e.name), func(t *testing.T) {
			now := fixture.Ago(time.Minute)
			o := Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}, Now: func() time.Time { return now }}
			shown, hidden := model(t, o, 120, 36, fixture.Everything()), model(t, o, 120, 36, fixture.Everything())
			holder, _ := fixture.Orders().Holders[0].Identity("zk")
			about := screen.Subject{Lock: fixture.Orders().ID, Owner: holder}
			open := func(m *Model, to screen.Name) {
				m.Go(to, about)
				settle(t, m, send(m, nil))
			}
			open(shown, e.name)
			other := screen.Backends
			if e.name == other {
				other = screen.Chain
			}
			open(hidden, other)
			for step := range 5 {
				now = now.Add(10 * time.Second)
				list := []*inspect.Lock{fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Minority(), fixture.UnknownLock(), fixture.Hostile()}
				new := fixture.Sick("zk:/locks/new", fixture.Trouble("herd", inspect.Warning, ""))
				if step > 1 {
					list = append(list, new)
				}
				s := inspect.NewSnapshot(now, fixture.Backends(), list)
				s.Changed = []inspect.ID{fixture.Thin().ID, fixture.Split().ID, new.ID}
				if step == 2 {
					s.Events = []inspect.Event{
						{Kind: inspect.EventAppeared, At: now, Lock: new.ID},
						{Kind: inspect.EventFinding, At: now, Lock: new.ID, Finding: &new.Findings[0]},
					}
				}
				for _, m := range []*Model{shown, hidden} {
					settle(t, m, send(m, snapshotArrivedMsg{snapshot: s}))
				}
			}
			open(hidden, e.name)
			if e.name == screen.Clients { // their list is made at its own pace
				makeClients(shown)
				makeClients(hidden)
			}
			sorted := regexp.MustCompile(`sorted [0-9:]+`) // one of them was opened again
			view := func(m *Model) string { return sorted.ReplaceAllString(m.front().View(), "") }
			must.Equal(t, cmp.Diff(view(shown), view(hidden)), "")
		})
	}
}
