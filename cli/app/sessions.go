package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
)

// quorumWithin limits asking the servers why no session can be made.
const quorumWithin = 3 * time.Second

// ZKSession connects to a target's servers. If that fails, the error says whether a quorum is
// missing.
func (a *App) ZKSession(
	ctx context.Context, s Setup, t connect.Target, options ...lockops.ZKOption,
) (*lockops.ZKSession, error) {
	session, err := lockops.NewZKSession(ctx, t.Servers, options...)
	if err == nil || !connect.Unreachable(err) || errors.Is(ctx.Err(), context.Canceled) {
		return session, err
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), quorumWithin)
	defer cancel()
	s.Targets = []connect.Target{t}
	if snapshot, lookErr := a.Look(asking, s, "/"); lookErr == nil {
		if why := describe.Failure(snapshot.Backend(t.Name)); strings.Contains(why, "no quorum") {
			return nil, fmt.Errorf("%w: %s", err, why)
		}
	}
	return nil, err
}

// ZKOptions returns the options for a session with a target.
func ZKOptions(t connect.Target) ([]lockops.ZKOption, error) {
	config, err := t.TLS.Config()
	if err != nil {
		return nil, err
	}
	options := []lockops.ZKOption{
		lockops.WithTLS(config), lockops.WithDialContext(t.Dialer()),
		lockops.WithChroot(t.Chroot),
	}
	if login := t.Present().Login; login.Username != "" {
		options = append(options, lockops.WithDigest(login.Username, string(login.Password)))
	}
	return options, nil
}
