package screen

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/sandbox"
)

// observed observes a scenario's servers as demo does, until the test ends. The context limits waits.
func observed(t *testing.T, scenario string) (context.Context, sandboxFaults, *inspect.Subscription) {
	t.Helper()
	box := must.Have(sandbox.Start(scenario, 1))(t)
	t.Cleanup(box.Close)
	targets := must.Have(connect.ParseTargets(box.Targets()))(t)
	home := t.TempDir()
	a := &app.App{
		Environment: app.Environment{Now: time.Now, Getenv: func(string) string { return home }},
		Options:     app.Options{Timeout: 10 * time.Second, StuckAfter: time.Minute},
	}
	observer := must.Have(a.Observer(app.Setup{Targets: targets, Named: true}, false, ""))(t)
	feed := observer.Subscribe()
	ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
	done := make(chan error, 1)
	go func() { done <- observer.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return ctx, sandboxFaults{box, observer, targets}, feed
}

// A holder's session that expires is reported as expired, not as released.
func TestSandboxSessionExpiryIsReported(t *testing.T) {
	t.Parallel()
	ctx, faults, feed := observed(t, "fair")
	ended := make(map[int64]bool)
	for {
		change, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("no expiry of the sessions %v was reported: %v", ended, err)
		}
		for _, e := range change.Events {
			if e.Contender == nil || e.Contender.Owner.Session == 0 {
				continue
			}
			session := e.Contender.Owner.Session
			if e.Kind == inspect.EventExpired && ended[session] {
				return
			}
			if e.Kind == inspect.EventAcquired && len(ended) < 20 { // some holders release first
				ended[session] = faults.ExpireSession(session) == nil
			}
		}
	}
}

// The sandbox's servers evict nothing, so each hold ends with a release and a handoff to the next
// holder.
func TestSandboxReleasesAreNotEvictions(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	ctx, _, feed := observed(t, "redlock")
	for released, handed := false, false; !released || !handed; {
		change, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("released %v, handed over %v: %v", released, handed, err)
		}
		for _, e := range change.Events {
			if e.Lock.Backend != "redis" {
				continue
			}
			if e.Kind == inspect.EventEnded && !e.Unseen() {
				t.Fatalf("how %s ended is unknown", e.Lock)
			}
			released = released || e.Kind == inspect.EventReleased
			handed = handed || e.Kind == inspect.EventHandover
		}
	}
}
