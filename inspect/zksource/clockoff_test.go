package zksource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func rulesOf(found []inspect.Finding) (rules []string) {
	for _, f := range found {
		rules = append(rules, f.Rule)
	}
	return rules
}

// The server's clock is hours off, and a waiter has just queued behind a new holder. Our own
// connection or the AdminServer's date shows the offset, and no lock is stuck.
func TestSingleLookDetectsWrongClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
			zks.Embedded.SetClock(ahead)
			contended(t, zks, "/l")
			b, l := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}})
			if off := b.ClockOffset() - ahead; !b.ClockKnown() || off.Abs() > b.Clock.Within+time.Millisecond {
				t.Errorf("the offset %+v is wrong by %v", b.Clock, off)
			}
			must.True(t, !slices.Contains(rulesOf(l.Findings), "stuck-holder"), l.Findings)
			must.True(t, slices.Contains(rulesOf(b.Findings), "clock-skew"), b.Findings)
			snapshot := observe(t, zksource.Config{Servers: []string{zks.Addr}})
			held := describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}.Held(l, &l.Holders[0])
			if held.Known == describe.About || held.Duration > time.Hour {
				t.Errorf("held %v", held)
			}
		})
	}
}

// No release is advised if the server's clock is unknown.
func TestUnknownClockAdvisesNoRelease(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Words: []string{"srvr"}})
	zks.Embedded.SetClock(-2 * time.Hour)
	contended(t, zks, "/l")
	b, l := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}})
	must.True(t, !b.ClockKnown(), b.Clock)
	i := slices.Index(rulesOf(l.Findings), "stuck-holder")
	if i < 0 {
		t.Fatalf("%+v", l.Findings)
	}
	if f := l.Findings[i]; f.Severity != inspect.Warning || f.Confidence != recipe.Possible || strings.Contains(f.Advice(), "release") || !strings.Contains(f.Advice(), "date") {
		t.Errorf("%+v", f)
	}
	snapshot := observe(t, zksource.Config{Servers: []string{zks.Addr}})
	held := describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}.Held(l, &l.Holders[0])
	if held.Known != describe.About || !strings.Contains(held.String(), "about 2h") {
		t.Errorf("held %v", held)
	}
}

func TestFutureNodeRevealsFastClock(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Words: []string{"srvr"}})
	zks.Embedded.SetClock(2 * time.Hour)
	contended(t, zks, "/l")
	b, _ := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}})
	if off := b.ClockOffset(); b.ClockKnown() || off < 2*time.Hour-time.Minute || off > 2*time.Hour {
		t.Errorf("%+v", b.Clock)
	}
}

// The clock is the leader's, whichever member we are connected to.
func TestSingleLookUsesLeadersClock(t *testing.T) {
	t.Parallel()
	e, _, cfg := ensembleLock(t, servertest.EnsembleConfig{})
	cfg.Admin = nil
	e.Leader(t)
	for range 6 {
		if b, l := lookWithRules(t, cfg); !b.ClockKnown() || l == nil || b.Clock.Offset.Abs() > b.Clock.Within {
			t.Errorf("%+v, servers %+v", b.Clock, b.Servers)
		}
	}
}
