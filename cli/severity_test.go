package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// graded maps a lock and rule to the finding's severity and whether it is muted.
type graded map[string]string

func (g graded) add(lock string, list []reportedFinding) {
	for _, f := range list {
		if f.Rule != "blind" { // differs, since each command reports its own refused reads
			g[lock+" "+f.Rule] = fmt.Sprintf("%s muted:%v", f.Severity, f.Muted != nil)
		}
	}
}

// sickLocks are locks with findings on embedded servers. It returns the targets and the expected
// findings. watch does not read tables of watches, so it lacks one.
func sickLocks(t *testing.T) (targets []string, want graded) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	w := &brokenServer{t: t, addr: zks.Addr}
	kept := w.session()
	w.hear(kept, w.create(kept, "/sick", "", 0)) // a client that queues just after the server's start may be reconnecting
	dir := func(name string) string { return w.create(kept, "/sick/"+name, "", 0) }
	unwatched, stuck := dir("unwatched"), dir("stuck")
	w.queue(unwatched, w.session())
	sleeper := w.session()
	w.hear(sleeper, w.queue(unwatched, sleeper)[0])
	w.queue(stuck, w.sessions(2)...)
	permits := w.create(kept, "/sick/permits", "2", 0)
	w.create(kept, "/sick/permits-__lock__", "", 0)
	for i, s := range w.sessions(3) {
		w.create(s, fmt.Sprintf("%s/0c4f1b2e9d8a4f6fb1f0a7c3d5e6%04x", permits, i), "client", zk.FlagEphemeral)
	}
	const token = "Y2NjY2NjY2NjY2NjY2NjYw=="
	single := servertest.StartEmbeddedRedis(t)
	masters, together := threeMasters(t)
	for _, key := range []string{"lock:kept", "lock:quiet", "named:kept"} {
		must.Succeed(t, single.Client(t).Set(t.Context(), key, token, 0).Err())
	}
	unnamed := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, unnamed.Client(t).Set(t.Context(), "lock:unnamed", "1", 0).Err())
	must.Succeed(t, masters[1].Client(t).Set(t.Context(), "lock:left", "x", time.Hour).Err())
	targets = []string{
		"zk://" + zks.Addr + "/sick", "redis://" + single.Addr + "?name=lone&match=lock:*&match=named:*",
		together + "?name=three&match=lock:*", "redis://" + unnamed.Addr + "?name=any",
	}
	return targets, graded{
		"zk:/sick/unwatched missing-watch":      "warning muted:false",
		"zk:/sick/unwatched stuck-holder":       "warning muted:false",
		"zk:/sick/stuck stuck-holder":           "warning muted:false",
		"zk:/sick/permits semaphore-overcommit": "critical muted:false",
		"lone:lock:kept no-ttl":                 "warning muted:false",
		"any:lock:unnamed no-ttl":               "info muted:false",
		"lone:named:kept no-ttl":                "warning muted:false",
		"lone:lock:quiet no-ttl":                "warning muted:true",
		"three:lock:left minority-leftover":     "warning muted:false",
	}
}

// All commands give a finding the same severity and mute. A command that reads less may omit a
// finding, but never reports a worse one.
func TestAFindingHasOneSeverity(t *testing.T) {
	t.Parallel()
	targets, want := sickLocks(t)
	env := home(t)
	ask := func(args ...string) string {
		got := runIn(t, t.Context(), env, append(args, "--stuck-after", "1ms", "--timeout", "1m")...)
		return got.stdout
	}
	if got := runIn(t, t.Context(), env, "mute", "lone:lock:quiet", "no-ttl", "--for", "1h", "--reason", "known"); got.code != 0 {
		t.Fatalf("mute: %+v", got)
	}
	for _, command := range []string{"ls", "doctor"} {
		got := graded{}
		for _, l := range parse(t, ask(append([]string{command, "-o", "json"}, targets...)...)).Locks {
			got.add(l.ID, l.Findings)
		}
		got.compare(t, command, want, true)
	}
	shown := graded{}
	for key := range want {
		id, _, _ := strings.Cut(key, " ")
		var l lock
		must.Succeed(t, json.Unmarshal([]byte(ask(append([]string{"show", id, "-o", "json"}, targets...)...)), &l))
		shown.add(id, l.Findings)
	}
	shown.compare(t, "show", want, true)
	watched(t, env, targets, len(want)-1).compare(t, "watch", want, false)
}

// watched returns the first findings that watch reports, at least most of them.
func watched(t *testing.T, env map[string]string, targets []string, most int) graded {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	got := graded{}
	var stdout output
	ended := make(chan int, 1)
	go func() {
		ended <- Main(ctx, append([]string{"watch", "-o", "jsonl", "--stuck-after", "1ms"}, targets...), writingTo(&stdout, io.Discard, env))
	}()
	must.Become(t, "findings from watch", func() bool {
		clear(got)
		for line := range strings.Lines(stdout.String()) {
			var e struct {
				Event, Lock string
				Finding     *reportedFinding
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == "finding" && e.Lock != "" {
				got.add(e.Lock, []reportedFinding{*e.Finding})
			}
		}
		return len(got) >= most
	})
	end()
	must.Equal(t, <-ended, 0, "watch: exit")
	return got
}

// compare checks the severities. With everything set, each finding must be present.
func (g graded) compare(t *testing.T, command string, want graded, everything bool) {
	t.Helper()
	for key, severity := range want {
		if got, there := g[key]; got != severity && (there || everything) {
			t.Errorf("%s: %s is %q, want %q", command, key, got, severity)
		}
	}
	for key, severity := range g {
		must.True(t, want[key] != "", command, "unexpected", key, severity)
	}
}
