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
	state, file string // the directory of the audit file, and the file
}

func newWriteModeTest(t *testing.T) *writeModeTest {
	server := servertest.StartEmbeddedRedis(t)
	targets := must.Have(connect.ParseTargets([]string{"redis://" + server.Addr}))(t)
	state := filepath.Join(t.TempDir(), "lockscope")
	a := &app.App{
		Environment: app.Environment{Stderr: os.Stderr, Getenv: func(string) string { return "" }, Now: time.Now},
		Options:     app.Options{Timeout: time.Minute},
	}
	file := filepath.Join(state, "audit.jsonl")
	newLab := func(s app.Setup, forget func(inspect.ID), armed func() bool) Lab {
		return hold.NewLab(a, s, forget, armed)
	}
	w := newWriting(a, app.Setup{Targets: targets}, file, inspect.NewObserver(time.Now), newLab)
	t.Cleanup(w.close)
	releaser, ok := w.all.Of("redis")
	must.True(t, ok, "no releaser")
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
	must.Succeed(a, a.client.Set(a.ctx, key, value, time.Minute).Err())
	request := act.Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: value}
	p := must.Have(a.releaser.Preview(a.ctx, request))(a)
	must.True(a, p.Refused == "" && p.Seen != nil, "preview", p)
	return must.Have(a.releaser.Execute(a.ctx, p, "typed"))(a)
}

func (a *writeModeTest) forbidden(when string) {
	a.Helper()
	r := a.release("lock:a")
	must.Equal(a, r.Reason, act.ReadOnly, when, "a release")
	must.Equal(a, a.client.Exists(a.ctx, "lock:a").Val(), 1, when, "keys")
	_, err := a.acquire()
	must.True(a, err != nil, when, "a lock was taken")
}

// Previews are always possible. Actions and acquisitions require that writing is allowed, which
// requires the audit file, and are recorded in it.
func TestWritingIsArmedAndDisarmed(t *testing.T) {
	a := newWriteModeTest(t)
	a.forbidden("at first")
	must.Succeed(t, os.WriteFile(a.state, nil, 0o600)) // blocks the directory
	must.True(t, a.w.arm(true) != nil, "armed without an audit file")
	a.forbidden("without an audit file")
	must.Succeed(t, os.Remove(a.state))
	must.Succeed(t, a.w.arm(true))
	must.True(t, a.release("lock:a").Released, "armed, and not released")
	held := must.Have(a.acquire())(t)
	must.Be(t, held.Release(a.ctx), nil)
	must.Succeed(t, a.w.arm(false))
	a.forbidden("disarmed")
	must.Succeed(t, a.w.arm(true))
	must.True(t, a.release("lock:b").Released, "armed again, and not released")
	trail, err := act.ReadTrail(a.file)
	if err != nil || len(trail.Records) != 3 || trail.Records[1].Action != "acquire" || trail.Records[1].Outcome != "released" {
		t.Errorf("trail %+v, %v", trail, err)
	}
}
