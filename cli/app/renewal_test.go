package app

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// A server refuses the password every second. The password is read less and less often until it
// changes, then as often as at first.
func TestRefusedPasswordsAreReadLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var pauses []time.Duration
		paused := start
		r := &renewal{App: &App{Environment: Environment{Stderr: io.Discard}}, refused: make(chan struct{}, 1)}
		r.setup = Setup{ProfileName: "p", Targets: []connect.Target{{Name: "redis"}}}
		r.setup.Targets[0].Renewal = connect.NewRenewal(connect.Secrets{}, r.ask)
		r.read = func(context.Context) (Setup, error) {
			pauses = append(pauses, time.Since(paused))
			time.Sleep(time.Second)
			paused = time.Now()
			fresh := Setup{ProfileName: "p", Targets: []connect.Target{{Name: "redis"}}}
			if len(pauses) == 8 {
				fresh.Targets[0].Secrets.Login.Password = "new"
			}
			return fresh, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.run(ctx, nil) }()
		for time.Since(start) < 1230*time.Second {
			r.ask() // a server refused
			time.Sleep(time.Second)
		}
		stop()
		<-ended
		const s = time.Second
		want := []time.Duration{
			renewEvery, 20 * s, 40 * s, 80 * s, 160 * s, renewSeldom, renewSeldom, renewSeldom, renewEvery,
		}
		must.Same(t, pauses, want, "pauses between reads")
	})
}
