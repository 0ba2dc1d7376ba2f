package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/internal/servertest"
	"lockscope/lockops/act"
	"lockscope/tui/lab"
)

// TestWritingIsArmedAndDisarmed: previews are possible all the time; nothing is done to locks of others, and none is taken,
// unless writing is allowed, which needs the audit file; what is done is in it.
func TestWritingIsArmedAndDisarmed(t *testing.T) {
	server := servertest.StartRedis(t)
	const value = "YWFhYWFhYWFhYWFhYWFhYQ=="
	targets, err := connect.ParseTargets([]string{"redis://" + server.Addr})
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	a := &app{Environment: Environment{Stderr: os.Stderr, Getenv: func(string) string { return "" }, Now: time.Now}, options: options{timeout: time.Minute}}
	path := filepath.Join(state, "lockscope", "audit.jsonl")
	w := a.newWriting(setup{targets: targets}, path, inspect.NewObserver(time.Now))
	defer w.close()
	releaser, ok := w.all.of("redis")
	if !ok {
		t.Fatal("no releaser")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	order := lab.Order{Lock: inspect.ID{Backend: "redis", Path: "lock:mine"}, Kind: "mutex", Try: true}
	acquire := func() (lab.Held, error) { return w.lab.Acquire(ctx, order, func(string) {}) }
	client := newRedisClient(t, server.Addr)
	release := func(key string) act.Result {
		t.Helper()
		client.Set(ctx, key, value, time.Minute)
		p, err := releaser.Preview(ctx, act.Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: value})
		if err != nil || p.Refused != "" || p.Seen == nil {
			t.Fatalf("preview %+v, %v", p, err)
		}
		result, err := releaser.Execute(ctx, p, "typed")
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	forbidden := func(when string) {
		t.Helper()
		if r := release("lock:a"); r.Released || r.Reason != act.ReadOnly || client.Exists(ctx, "lock:a").Val() != 1 {
			t.Errorf("%s: %+v", when, r)
		}
		if _, err := acquire(); err == nil {
			t.Errorf("%s: a lock was taken", when)
		}
	}
	forbidden("at first")
	if err := os.WriteFile(filepath.Join(state, "lockscope"), nil, 0o600); err != nil { // where the directory is to be
		t.Fatal(err)
	}
	if err := w.arm(true); err == nil {
		t.Error("armed without an audit file")
	}
	forbidden("without an audit file")
	if err := os.Remove(filepath.Join(state, "lockscope")); err != nil {
		t.Fatal(err)
	}
	if err := w.arm(true); err != nil {
		t.Fatal(err)
	}
	if r := release("lock:a"); !r.Released {
		t.Errorf("armed: %+v", r)
	}
	held, err := acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := w.arm(false); err != nil {
		t.Fatal(err)
	}
	forbidden("disarmed")
	if err := w.arm(true); err != nil {
		t.Fatal(err)
	}
	if r := release("lock:b"); !r.Released {
		t.Errorf("armed again: %+v", r)
	}
	trail, err := act.ReadTrail(path)
	if err != nil || len(trail.Records) != 3 || trail.Records[1].Action != "acquire" || trail.Records[1].Outcome != "released" {
		t.Errorf("trail %+v, %v", trail, err)
	}
}
