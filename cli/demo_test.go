package cli

import (
	"context"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/sandbox"
)

// The Lab's expiry of a holder's session is reported as an expiry.
func TestASessionExpiredInTheSandboxIsReportedAsThat(t *testing.T) {
	box, err := sandbox.Start("fair", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	targets, err := connect.ParseTargets(box.Targets())
	if err != nil {
		t.Fatal(err)
	}
	a := &app{Environment: Environment{Now: time.Now, Getenv: func(string) string { return t.TempDir() }}, options: options{timeout: time.Second, stuckAfter: time.Minute}}
	s := setup{targets: targets, named: true}
	observer, err := a.observer(s, false, "")
	if err != nil {
		t.Fatal(err)
	}
	feed := observer.Subscribe()
	ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
	done := make(chan error, 1)
	go func() { done <- observer.Run(ctx) }()
	defer func() {
		stop()
		<-done
	}()
	faults := sandboxFaults{box, observer, targets}
	ended := make(map[int64]bool)
	for {
		change, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("no end of a hold of the sessions %v was reported: %v", ended, err)
		}
		for _, e := range change.Events {
			if e.Contender == nil || e.Contender.Owner.Session == 0 {
				continue
			}
			session := e.Contender.Owner.Session
			if e.Kind == inspect.EventExpired && ended[session] {
				return
			}
			if e.Kind == inspect.EventAcquired && len(ended) < 20 { // some give it back before
				ended[session] = faults.ExpireSession(session) == nil
			}
		}
	}
}
