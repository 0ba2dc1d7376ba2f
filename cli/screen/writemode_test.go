package screen

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/hold"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/lab"
)

// writeModeTest is a program that may be allowed to write, and a server.
type writeModeTest struct {
	*testing.T
	ctx         context.Context
	w           *writing
	releaser    act.Releaser
	client      *redis.Client
	state, file string // the audit file, and the state directory
}

func newWriteModeTest(t *testing.T) *writeModeTest {
	server := servertest.StartRedis(t)
	targets := must.Have(connect.ParseTargets([]string{"redis://" + server.Addr}))(t)
	state := t.TempDir()
	a := &app.App{Environment: app.Environment{Stderr: os.Stderr, Getenv: func(string) string { return "" }, Now: time.Now}, Options: app.Options{Timeout: time.Minute}}
	file := filepath.Join(state, "lockscope", "audit.jsonl")
	newLab := func(s app.Setup, forget func(inspect.ID), armed func() bool) Lab {
		return hold.NewLab(a, s, forget, armed)
	}
	w := newWriting(a, app.Setup{Targets: targets}, file, inspect.NewObserver(time.Now), newLab)
	t.Cleanup(w.close)
	releaser, ok := w.all.Of("redis")
	if !ok {
		t.Fatal("no releaser")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return &writeModeTest{t, ctx, w, releaser, server.Client(t), state, file}
}

func (a *writeModeTest) acquire() (lab.Held, error) {
	order := lab.Order{Lock: inspect.ID{Backend: "redis", Path: "lock:mine"}, Kind: "mutex", Try: true}
	return a.w.lab.Acquire(a.ctx, order, func(string) {})
}

// release takes a lock with another client and releases it by force.
func (a *writeModeTest) release(key string) act.Result {
	a.Helper()
	const value = "YWFhYWFhYWFhYWFhYWFhYQ=="
	a.client.Set(a.ctx, key, value, time.Minute)
	p, err := a.releaser.Preview(a.ctx, act.Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: value})
	if err != nil || p.Refused != "" || p.Seen == nil {
		a.Fatalf("preview %+v, %v", p, err)
	}
	result, err := a.releaser.Execute(a.ctx, p, "typed")
	if err != nil {
		a.Fatal(err)
	}
	return result
}

func (a *writeModeTest) arm(on bool) {
	a.Helper()
	if err := a.w.arm(on); err != nil {
		a.Fatal(err)
	}
}

func (a *writeModeTest) forbidden(when string) {
	a.Helper()
	if r := a.release("lock:a"); r.Released || r.Reason != act.ReadOnly || a.client.Exists(a.ctx, "lock:a").Val() != 1 {
		a.Errorf("%s: %+v", when, r)
	}
	if _, err := a.acquire(); err == nil {
		a.Errorf("%s: a lock was taken", when)
	}
}

// Previews are always possible. Actions and acquisitions require that writing is allowed, which
// requires the audit file, and are recorded in it.
func TestWritingIsArmedAndDisarmed(t *testing.T) {
	a := newWriteModeTest(t)
	a.forbidden("at first")
	must.Succeed(t, os.WriteFile(filepath.Join(a.state, "lockscope"), nil, 0o600)) // blocks the directory
	must.True(t, a.w.arm(true) != nil, "armed without an audit file")
	a.forbidden("without an audit file")
	must.Succeed(t, os.Remove(filepath.Join(a.state, "lockscope")))
	a.arm(true)
	if r := a.release("lock:a"); !r.Released {
		t.Errorf("armed: %+v", r)
	}
	held := must.Have(a.acquire())(t)
	must.Be(t, held.Release(a.ctx), nil)
	a.arm(false)
	a.forbidden("disarmed")
	a.arm(true)
	if r := a.release("lock:b"); !r.Released {
		t.Errorf("armed again: %+v", r)
	}
	trail, err := act.ReadTrail(a.file)
	if err != nil || len(trail.Records) != 3 || trail.Records[1].Action != "acquire" || trail.Records[1].Outcome != "released" {
		t.Errorf("trail %+v, %v", trail, err)
	}
}
