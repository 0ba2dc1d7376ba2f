package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/finding"
	"lockscope/inspect/redissource"
	"lockscope/inspect/zksource"
	"lockscope/internal/connect"
)

// source makes the Source of a target. once: one pass and done; only: a single lock of it.
func (a *app) source(t connect.Target, s setup, once bool, only string) (inspect.Source, error) {
	config, err := t.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Name, err)
	}
	if t.Service != connect.ZooKeeper {
		c := redissource.Config{
			Backend: t.Name, Masters: t.RedisOptions(config), Match: t.Match, Custom: s.recipes, Only: only, Once: once,
			Budget: a.redisBudget(once),
		}
		if once {
			c.Timeout = a.timeout
		}
		return redissource.New(c), nil
	}
	c := zksource.Config{
		Backend: t.Name, Servers: t.Servers, Roots: t.Roots, Only: only, TLS: config, Dial: t.Dialer(), Chroot: t.Chroot, Auth: t.Secrets.Login.Digest(),
		Admin: t.Admin, AdminUser: t.Secrets.Admin.Username, AdminPassword: string(t.Secrets.Admin.Password),
		Once: once, Timeout: a.timeout, Budget: a.zkBudget(once),
	}
	if c.AdminTLS, err = t.AdminTLS.Config(); err != nil {
		return nil, fmt.Errorf("target %s: AdminServer: %w", t.Name, err)
	}
	return zksource.New(c), nil
}

// sources are the Sources of all targets of a setup.
func (a *app) sources(s setup, once bool, only string) ([]inspect.Source, error) {
	var sources []inspect.Source
	for _, t := range s.targets {
		source, err := a.source(t, s, once, only)
		if err != nil {
			return nil, err
		}
		sources = append(sources, inspect.Recognise(source, s.recipes))
	}
	return sources, nil
}

// observer watches all targets of a setup, or makes one pass over them; only: a single lock of it.
func (a *app) observer(s setup, once bool, only string) (*inspect.Observer, error) {
	sources, err := a.sources(s, once, only)
	if err != nil {
		return nil, err
	}
	observer := inspect.NewObserver(a.Now, sources...)
	observer.Diagnose(finding.Rules(), a.stuckAfter)
	observer.Advise(s.reach())
	observer.Expect(s.expectations())
	observer.Mute(a.mutes())
	observer.Name(a.hosts(s))
	return observer, nil
}

// look reads the targets once.
func (a *app) look(ctx context.Context, s setup, only string) (*inspect.Snapshot, error) {
	if s.recording != "" {
		snapshot, err := a.lookAtRecording(s.recording)
		if err != nil {
			return nil, err
		}
		snapshot = snapshot.WithHosts(a.hosts(s))
		return snapshot, nil
	}
	observer, err := a.observer(s, true, only)
	if err != nil {
		return nil, err
	}
	return a.lookWith(ctx, observer)
}

// lookAgain reads the targets once, after an earlier look at them, which may be nil.
func (a *app) lookAgain(ctx context.Context, s setup, before *inspect.Snapshot) (*inspect.Snapshot, error) {
	observer, err := a.observer(s, true, "")
	if err != nil {
		return nil, err
	}
	observer.After(before)
	return a.lookWith(ctx, observer)
}

func (a *app) lookWith(ctx context.Context, observer *inspect.Observer) (*inspect.Snapshot, error) {
	if err := a.observeOnce(ctx, observer); err != nil {
		return nil, err
	}
	return observer.Snapshot(), ctx.Err()
}

// exitOf is the exit code of a look: an error for every backend that could not be read in full.
func (a *app) exitOf(backends []*inspect.Backend) error {
	for _, b := range backends {
		if b.State == inspect.Down {
			continue // reported below, and the cause that nothing of it was seen
		}
		for _, f := range b.Findings {
			a.say("%s: %s: %s (%s)", b.Name, f.Rule, f.Message, f.Advice())
		}
	}
	return a.exitOfStates(backends)
}

// exitOfStates is the same for who prints the backends' findings in another way.
func (a *app) exitOfStates(backends []*inspect.Backend) error {
	var failed error
	for _, b := range backends {
		if unseen(b) {
			failed = exitError{code: exitUnreachable}
			a.say("backend %s is %s: %s", b.Name, b.State, withCheck(describe.Failure(b)))
		}
	}
	return failed
}

// unseen reports whether a backend could not be read in full.
func unseen(b *inspect.Backend) bool { return b.State != inspect.Connected }

// printJSON writes v as indented JSON.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// oneOf checks the value of an -o flag.
func oneOf(output string, allowed ...string) error {
	for _, o := range allowed {
		if output == o {
			return nil
		}
	}
	return usageError("-o %q: give one of %s", output, strings.Join(allowed, ", "))
}
