package app

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
)

// Refused secrets are read again after renewEvery. While they stay the same, the pause grows up to
// renewSeldom, since a command that prints secrets may put load on its service.
const (
	renewEvery  = 10 * time.Second
	renewSeldom = 5 * time.Minute
)

// renewal reads the secrets of a setup again while a command runs.
type renewal struct {
	*App
	setup   Setup
	read    func(context.Context) (Setup, error)
	refused chan struct{}
}

// RenewSecrets lets the secrets of a profile change while a command runs. It sets up the same
// arguments again after a server has refused the secrets, and after each hangup. Call it before
// anything connects, and stop at the end.
func (a *App) RenewSecrets(ctx context.Context, s *Setup, args []string, hangups <-chan os.Signal) (stop func()) {
	r := &renewal{App: a, refused: make(chan struct{}, 1)}
	same := *a
	same.Profile = s.ProfileName // the configuration may have another default by then
	r.read = func(ctx context.Context) (Setup, error) { return same.setUp(ctx, args, true) }
	if s.ProfileName != "" {
		for i := range s.Targets {
			s.Targets[i].Renewal = connect.NewRenewal(s.Targets[i].Secrets, r.ask)
		}
	}
	r.setup = *s
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx, hangups) })
	return func() { cancel(); running.Wait() }
}

// ask requests that the secrets be read again. It does not block.
func (r *renewal) ask() {
	select {
	case r.refused <- struct{}{}:
	default: // already requested
	}
}

func (r *renewal) run(ctx context.Context, hangups <-chan os.Signal) {
	last, pause := time.Now(), renewEvery
	for {
		hangup, quiet := false, false
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			hangup = true
		case <-r.refused:
			quiet = time.Since(last) > renewSeldom
			select {
			case <-ctx.Done():
			case <-hangups:
				hangup = true
			case <-time.After(time.Until(last.Add(pause))):
			}
		}
		if ctx.Err() != nil {
			return
		}
		changed := r.again(ctx, hangup)
		switch {
		case changed || quiet:
			pause = renewEvery
		case !hangup:
			pause = min(2*pause, renewSeldom)
		}
		last = time.Now()
	}
}

// again reads the secrets, and reports whether any changed. A failure leaves them as they are.
func (r *renewal) again(ctx context.Context, hangup bool) (changed bool) {
	if r.setup.ProfileName == "" {
		r.Say("SIGHUP: no profile to read passwords from")
		return false
	}
	fresh, err := r.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.Say("passwords could not be read again: %v", err)
		}
		return false
	}
	same := func(a, b connect.Target) bool { return a.Name == b.Name && a.SameServers(b) }
	for _, t := range r.setup.Targets {
		i := slices.IndexFunc(fresh.Targets, func(other connect.Target) bool { return same(t, other) })
		changed = i >= 0 && t.Renewal.Set(fresh.Targets[i].Secrets) || changed
	}
	others := hangup && !slices.EqualFunc(r.setup.Targets, fresh.Targets, same)
	if others {
		r.Say("profile %q has different targets now: restart to use them", r.setup.ProfileName)
	}
	switch {
	case changed:
		r.Say("profile %q has new passwords", r.setup.ProfileName)
	case hangup && !others:
		r.Say("profile %q has the same passwords as before", r.setup.ProfileName)
	}
	return changed
}
