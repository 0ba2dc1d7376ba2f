package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
	"lockscope/lockops"
	"lockscope/lockops/act"
)

// releasers force-release locks of a setup's backends. Each connects when it is first used, so that who only looks
// has no writing connection.
type releasers struct {
	app   *app
	setup setup
	audit *act.Audit
	// forcing is called with the holder that is about to be freed; may be nil.
	forcing func(inspect.ID, inspect.Untrusted)

	mu       sync.Mutex
	disarmed bool // nothing is executed
	made     map[string]act.Releaser
	closes   []func()
}

// newReleasers opens the audit file, the default one where path is empty: no audit, no action.
func (a *app) newReleasers(s setup, path string) (*releasers, error) {
	audit, err := a.openAudit(s, path)
	if err != nil {
		return nil, err
	}
	r := a.newPreviewers(s)
	r.audit = audit
	return r, nil
}

// openAudit opens an audit file, the default one where path is empty.
func (a *app) openAudit(s setup, path string) (*act.Audit, error) {
	if path == "" {
		var err error
		if path, err = act.DefaultAuditPath(a.Getenv); err != nil {
			return nil, err
		}
	}
	return act.OpenAudit(a.Now, path, Version, s.profileName)
}

// newPreviewers are releasers without an audit file, which so can only preview.
func (a *app) newPreviewers(s setup) *releasers {
	return &releasers{app: a, setup: s, made: make(map[string]act.Releaser)}
}

func (r *releasers) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.closes {
		f()
	}
	if r.audit != nil {
		_ = r.audit.Close() // every line was synced when it was written
	}
}

// of is the releaser of a backend; false when no target has that name.
func (r *releasers) of(backend string) (act.Releaser, bool) {
	for _, t := range r.setup.targets {
		if t.Name == backend {
			return lazyReleaser{r, t}, true
		}
	}
	return nil, false
}

// ender connects to a backend, to end connections of its clients.
func (r *releasers) ender(ctx context.Context, backend string) (act.Ender, error) {
	t, err := r.setup.backend(backend)
	if err != nil {
		return nil, err
	}
	if t.Service == connect.ZooKeeper {
		return &act.ZooKeeper{}, nil // which asks no server: there is nothing to be done
	}
	releaser, err := r.connected(ctx, t)
	if err != nil {
		return nil, err
	}
	ender, ok := releaser.(act.Ender)
	if !ok {
		return nil, fmt.Errorf("backend %s: no client can be ended", backend)
	}
	return ender, nil
}

// sweeper connects to a backend, to delete directories that locks left behind.
func (r *releasers) sweeper(ctx context.Context, backend string) (act.Sweeper, error) {
	t, err := r.setup.backend(backend)
	if err != nil {
		return nil, err
	}
	releaser, err := r.connected(ctx, t)
	if err != nil {
		return nil, err
	}
	sweeper, ok := releaser.(act.Sweeper)
	if !ok {
		return nil, fmt.Errorf("backend %s: it has no directories", backend)
	}
	return sweeper, nil
}

// lazyReleaser is an act.Releaser that connects at its first use.
type lazyReleaser struct {
	all    *releasers
	target connect.Target
}

func (l lazyReleaser) Preview(ctx context.Context, r act.Request) (act.Preview, error) {
	releaser, err := l.all.connected(ctx, l.target)
	if err != nil {
		return act.Preview{Request: r}, err
	}
	return releaser.Preview(ctx, r)
}

func (l lazyReleaser) Execute(ctx context.Context, p act.Preview, confirmed string) (act.Result, error) {
	if !l.all.armed() {
		return act.Result{Reason: act.ReadOnly, Seen: p.Seen}, nil
	}
	releaser, err := l.all.connected(ctx, l.target)
	if err != nil {
		return act.Result{}, err
	}
	if l.all.forcing != nil && p.Seen != nil {
		l.all.forcing(p.Request.ID, p.Seen.Name)
	}
	return releaser.Execute(ctx, p, confirmed)
}

func (r *releasers) connected(ctx context.Context, t connect.Target) (act.Releaser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if made, ok := r.made[t.Name]; ok {
		return made, nil
	}
	made, stop, err := r.connect(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", act.ErrUnreachable, err)
	}
	r.made[t.Name] = made
	r.closes = append(r.closes, stop)
	return made, nil
}

// perMaster limits the answer of one Redis master to one request of a release. Connecting counts: over a
// round trip of 300 ms that alone takes 2 s.
const perMaster = 5 * time.Second

func (r *releasers) connect(ctx context.Context, t connect.Target) (act.Releaser, func(), error) {
	config, err := t.TLS.Config()
	if err != nil {
		return nil, nil, err
	}
	if t.Service == connect.ZooKeeper {
		session, err := r.zooKeeper(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		releaser := act.NewZooKeeper(session.Conn(), act.Target{Name: t.Name, Servers: t.Servers, Chroot: t.Chroot, Now: r.app.Now}, r.audit, r.setup.recipes...)
		return releaser, func() { session.Close(); releaser.Close() }, nil
	}
	addrs, options := t.Servers, t.RedisOptions(config)
	if t.Service == connect.RedisSentinel {
		ctx, cancel := context.WithTimeout(ctx, perMaster)
		defer cancel()
		master, err := connect.SentinelMaster(ctx, *options[0])
		if err != nil {
			return nil, nil, err
		}
		addrs = []string{master} // as it is shown; the client follows it
	}
	var masters []redis.UniversalClient
	for _, o := range options {
		o.ContextTimeoutEnabled, o.MaxRetries, o.PoolSize = true, -1, 2
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = perMaster, perMaster, perMaster
		masters = append(masters, redis.NewUniversalClient(o))
	}
	if len(masters) == 1 {
		addrs = addrs[:1]
	}
	stop := func() {
		for _, m := range masters {
			_ = m.Close() // nothing is under way any more
		}
	}
	return act.NewRedis(masters, act.Target{Name: t.Name, Servers: addrs, DB: t.DB, Now: r.app.Now}, perMaster, r.audit), stop, nil
}

func (r *releasers) zooKeeper(ctx context.Context, t connect.Target) (*lockops.ZKSession, error) {
	options, err := zkOptions(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.app.timeout)
	defer cancel()
	return r.app.zkSession(ctx, r.setup, t, options...)
}

// quorumWithin limits asking the servers why no session can be had with them.
const quorumWithin = 3 * time.Second

// zkSession is a session with a target's servers. Where none can be had, the error reports a missing quorum.
func (a *app) zkSession(ctx context.Context, s setup, t connect.Target, options ...lockops.ZKOption) (*lockops.ZKSession, error) {
	session, err := lockops.NewZKSession(ctx, t.Servers, options...)
	if err == nil || !connect.Unreachable(err) || errors.Is(ctx.Err(), context.Canceled) {
		return session, err
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), quorumWithin)
	defer cancel()
	s.targets = []connect.Target{t}
	if snapshot, lookErr := a.look(asking, s, "/"); lookErr == nil {
		if why := describe.Failure(snapshot.Backend(t.Name)); strings.Contains(why, "no quorum") {
			return nil, fmt.Errorf("%w: %s", err, why)
		}
	}
	return nil, err
}

// zkOptions are a target's options for a session of the lock package.
func zkOptions(t connect.Target) ([]lockops.ZKOption, error) {
	config, err := t.TLS.Config()
	if err != nil {
		return nil, err
	}
	return zkOptionsWith(t, config), nil
}

// zkOptionsWith are zkOptions with a TLS configuration; nil: no TLS.
func zkOptionsWith(t connect.Target, config *tls.Config) []lockops.ZKOption {
	options := []lockops.ZKOption{lockops.WithTLS(config), lockops.WithDialContext(t.Dialer()), lockops.WithChroot(t.Chroot)}
	if login := t.Secrets.Login; login.Username != "" {
		options = append(options, lockops.WithDigest(login.Username, string(login.Password)))
	}
	return options
}
