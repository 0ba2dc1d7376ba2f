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
		var reads []time.Duration
		r := &renewal{App: &App{Environment: Environment{Stderr: io.Discard}}, refused: make(chan struct{}, 1)}
		r.setup = Setup{ProfileName: "p", Targets: []connect.Target{{Name: "redis"}}}
		r.setup.Targets[0].Renewal = connect.NewRenewal(connect.Secrets{}, r.ask)
		r.read = func(context.Context) (Setup, error) {
			reads = append(reads, time.Since(start))
			time.Sleep(time.Second)
			fresh := Setup{ProfileName: "p", Targets: []connect.Target{{Name: "redis"}}}
			if len(reads) == 8 {
				fresh.Targets[0].Secrets.Login.Password = "new"
			}
			return fresh, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.run(ctx, nil) }()
		for time.Since(start) < 1230*time.Second {
			r.ask()
			time.Sleep(time.Second)
		}
		stop()
		<-ended
		want := []time.Duration{10, 31, 72, 153, 314, 615, 916, 1217, 1228}
		for i := range want {
			want[i] *= time.Second
		}
		must.Same(t, reads, want, "read at")
	})
}
