package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/act"
)

// Releasers force-release locks on a setup's backends. Each connects on first use, so that a viewer
// has no writing connection.
type Releasers struct {
	app   *App
	setup Setup
	audit *act.Audit
	// Forcing is called with the holder that is about to be forced out; may be nil.
	Forcing func(inspect.ID, inspect.Untrusted)

	mu       sync.Mutex
	disarmed bool // actions are refused
	made     map[string]act.Releaser
	closes   []func()
}

// NewReleasers opens the default audit file, without which no action is allowed.
func (a *App) NewReleasers(s Setup) (*Releasers, error) {
	audit, err := a.OpenAudit(s, "")
	if err != nil {
		return nil, err
	}
	r := a.NewPreviewers(s)
	r.audit = audit
	return r, nil
}

// OpenAudit opens an audit file, the default one if path is empty, with a copy in syslog if the configuration asks
// for one.
func (a *App) OpenAudit(s Setup, path string) (*act.Audit, error) {
	if path == "" {
		var err error
		if path, err = act.DefaultAuditPath(a.Getenv); err != nil {
			return nil, err
		}
	}
	audit, err := act.OpenAudit(a.Now, path, Version, s.ProfileName)
	if err != nil || s.Config.Audit != "syslog" {
		return audit, err
	}
	place, err := openSyslog(a.Syslog)
	if err != nil {
		err = fmt.Errorf("audit: %w (start syslog, or remove audit: syslog from the configuration)", err)
		return nil, errors.Join(err, audit.Close())
	}
	audit.CopyTo(place)
	return audit, nil
}

// NewPreviewers returns releasers without an audit file; they can only preview.
func (a *App) NewPreviewers(s Setup) *Releasers {
	return &Releasers{app: a, setup: s, made: make(map[string]act.Releaser)}
}

// Close ends all connections, and closes the audit file.
func (r *Releasers) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.closes {
		f()
	}
	if r.audit != nil {
		_ = r.audit.Close() // every line was synced when it was written
	}
}

// Of returns the releaser of a backend; false if no target has that name.
func (r *Releasers) Of(backend string) (act.Releaser, bool) {
	for _, t := range r.setup.Targets {
		if t.Name == backend {
			return lazyReleaser{r, t}, true
		}
	}
	return nil, false
}

// Ender returns the act.Ender of a backend.
func (r *Releasers) Ender(ctx context.Context, backend string) (act.Ender, error) {
	if t, err := r.setup.Backend(backend); err == nil && t.Service == connect.ZooKeeper {
		return &act.ZooKeeper{}, nil // asks no server: there is nothing to do
	}
	return capable[act.Ender](ctx, r, backend, "no client can be ended")
}

// Sweeper returns the act.Sweeper of a backend.
func (r *Releasers) Sweeper(ctx context.Context, backend string) (act.Sweeper, error) {
	return capable[act.Sweeper](ctx, r, backend, "it has no directories")
}

// capable connects to a backend whose releaser implements T; lacks is the error if it does not.
func capable[T any](ctx context.Context, r *Releasers, backend, lacks string) (able T, err error) {
	t, err := r.setup.Backend(backend)
	if err != nil {
		return able, err
	}
	releaser, err := r.connected(ctx, t)
	if err != nil {
		return able, err
	}
	able, ok := releaser.(T)
	if !ok {
		return able, fmt.Errorf("backend %s: %s", backend, lacks)
	}
	return able, nil
}

// lazyReleaser is an act.Releaser that connects on first use.
type lazyReleaser struct {
	all    *Releasers
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
	if !l.all.Armed() {
		return act.Result{Reason: act.ReadOnly, Seen: p.Seen}, nil
	}
	releaser, err := l.all.connected(ctx, l.target)
	if err != nil {
		return act.Result{}, err
	}
	if l.all.Forcing != nil && p.Seen != nil {
		l.all.Forcing(p.Request.ID, p.Seen.Name)
	}
	return releaser.Execute(ctx, p, confirmed)
}

func (r *Releasers) connected(ctx context.Context, t connect.Target) (act.Releaser, error) {
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

// PerMaster limits one request to one Redis master, including connecting, which takes 2 s at round
// trips of 300 ms.
const PerMaster = 5 * time.Second

func (r *Releasers) connect(ctx context.Context, t connect.Target) (act.Releaser, func(), error) {
	config, err := t.TLS.Config()
	if err != nil {
		return nil, nil, err
	}
	if t.Service == connect.ZooKeeper {
		session, err := r.zooKeeper(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		releaser := act.NewZooKeeper(session.Conn(),
			act.Target{Name: t.Name, Servers: t.Servers, Chroot: t.Chroot, Now: r.app.Now}, r.audit, r.setup.recipes...)
		return releaser, func() { session.Close(); releaser.Close() }, nil
	}
	addrs, options := t.Servers, t.RedisOptions(config)
	if t.Service == connect.RedisSentinel {
		ctx, cancel := context.WithTimeout(ctx, PerMaster)
		defer cancel()
		master, err := connect.SentinelMaster(ctx, *options[0])
		if err != nil {
			return nil, nil, err
		}
		addrs = []string{master} // shown in previews; the client itself follows failovers
	}
	var masters []redis.UniversalClient
	for _, o := range options {
		o.ContextTimeoutEnabled, o.MaxRetries, o.PoolSize = true, -1, 2
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = PerMaster, PerMaster, PerMaster
		masters = append(masters, redis.NewUniversalClient(o))
	}
	if len(masters) == 1 {
		addrs = addrs[:1]
	}
	stop := func() {
		for _, m := range masters {
			_ = m.Close() // no request is in flight
		}
	}
	return act.NewRedis(masters, act.Target{Name: t.Name, Servers: addrs, DB: t.DB, Now: r.app.Now}, PerMaster, r.audit,
		r.setup.recipes...), stop, nil
}

func (r *Releasers) zooKeeper(ctx context.Context, t connect.Target) (*lockops.ZKSession, error) {
	options, err := ZKOptions(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.app.Timeout)
	defer cancel()
	return r.app.ZKSession(ctx, r.setup, t, options...)
}

// Arm allows or forbids actions; previews are always possible. Actions go to the audit file at
// path, or the default one, which is returned if it is opened here.
func (r *Releasers) Arm(on bool, path string) (opened *act.Audit, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on && r.audit == nil {
		if opened, err = r.app.OpenAudit(r.setup, path); err != nil {
			return nil, err
		}
		r.audit = opened
		clear(r.made) // running previews keep their releasers, which cannot act
	}
	r.disarmed = !on
	return opened, nil
}

// Armed reports whether actions are allowed.
func (r *Releasers) Armed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.audit != nil && !r.disarmed
}
