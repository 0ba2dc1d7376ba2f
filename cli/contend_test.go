package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestContendReportsToTheLetter(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		got := run(t, "contend", "zk:"+path, "zk://"+server.Addr, "-n", "4", "--hold", "2ms", "--think", "1ms", "--rounds", "5", "--seed", "9", "-o", "json")
		var j map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != 0 || got.stderr != "" {
			t.Fatalf("%v: %+v", err, got)
		}
		for name, want := range map[string]any{
			"lock": "zk:" + path, "kind": "mutex", "contenders": 4.0, "grants": 20.0, "inversions": 0.0, "jain": 1.0, "overlaps": 0.0, "seed": 9.0,
		} {
			if j[name] != want {
				t.Errorf("%s is %v, want %v", name, j[name], want)
			}
		}
		for _, name := range []string{"handoff_ms", "wait_ms"} {
			q, _ := j[name].(map[string]any)
			for _, part := range []string{"p50", "p99", "max"} {
				if v, ok := q[part].(float64); !ok || v <= 0 {
					t.Errorf("%s.%s is %v", name, part, q[part])
				}
			}
		}
		if v, ok := j["duration_ms"].(float64); !ok || v < 10 {
			t.Errorf("duration_ms is %v", j["duration_ms"])
		}
		if v, ok := j["requests_per_grant"].(float64); !ok || v < 3 {
			t.Errorf("requests_per_grant is %v", j["requests_per_grant"])
		}
		run(t, "show", "zk:"+path, "zk://"+server.Addr).wants(t, 1, "", "")
	})
}

func TestContendOfReadersAndWriters(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		args := []string{"contend", "zk:" + path, "zk://" + server.Addr, "-n", "6", "--kind", "read,read,write", "--hold", "2ms", "--think", "1ms", "--rounds", "5"}
		got := run(t, append(args, "-o", "json")...)
		var j map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != 0 || got.stderr != "" {
			t.Fatalf("%v: %+v", err, got)
		}
		if j["kind"] != "read,read,write" || j["grants"] != 30.0 || j["overlaps"] != 0.0 || j["inversions"] != 0.0 {
			t.Errorf("%s", got.stdout)
		}
		got = run(t, args...)
		for _, want := range []string{"read,read,write (curator)", "6 contenders", "fairness  ", "inversions", "Jain", "no grant while an excluding holder had it"} {
			if got.code != 0 || !strings.Contains(got.stdout, want) {
				t.Errorf("%q is missing: %+v", want, got)
			}
		}
	})
}

func TestContendRefuses(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	target := "redis://" + server.Addr
	server.Mini.Set("lock:a", "somebody's")
	server.Mini.SetTTL("lock:a", time.Minute)
	got := run(t, "contend", "redis:lock:a", target, "-n", "2", "--rounds", "1")
	if got.code != 1 || !strings.Contains(got.stderr, "--yes") || got.stdout != "" {
		t.Errorf("a lock of others: %+v", got)
	}
	got = run(t, "contend", "redis:lock:a", target, "-n", "2", "--for", "200ms", "--yes", "-o", "json")
	if got.code != 1 || !strings.Contains(got.stdout, `"jain": null`) || !strings.Contains(got.stdout, `"p50": null`) {
		t.Errorf("a held lock: %+v", got)
	}
	if v, _ := server.Mini.Get("lock:a"); v != "somebody's" || len(server.Mini.Keys()) != 1 {
		t.Errorf("the keys are %v", server.Mini.Keys())
	}
	file := configFile(t, "profiles: {prod: {targets: ['"+target+"'], read_only: true}}")
	run(t, "contend", "redis:lock:b", "-p", "prod", "--config", file).wants(t, 1, "", "read_only")
	server.Stop(t)
	if got := run(t, "contend", "redis:lock:b", target, "--timeout", "1s"); got.code != 3 || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("no server: %+v", got)
	}
	run(t, "contend", "zk:/b", "zk://127.0.0.1:1", "--timeout", "500ms").wants(t, 3, "", "")
	for args, says := range map[string]string{
		"-n 0": "-n", "-n 9999": "-n", "--for 1s --rounds 2": "one of them", "--hold -1s": "--hold", "--rounds -1": "--rounds",
		"--kind fast,mutex": "--kind", "-o yaml": "text, json", "--recipe kazoo": "--recipe",
	} {
		got := run(t, append([]string{"contend", "redis:a", "redis://h"}, strings.Fields(args)...)...)
		if got.code != 2 || !strings.Contains(got.stderr, says) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/config.yaml"
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// An interrupted run reports what it has, and leaves nothing.
func TestInterruptedContentionReports(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		cmd, _ := started(t, "contend", "zk:"+path, "zk://"+server.Addr, "-n", "3", "--hold", "1h", "--for", "1h")
		conn := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
		for queued := 0; queued < 3; {
			children, _, changed, err := conn.ChildrenW(path)
			if err != nil {
				_, _, changed, err = conn.ExistsW(path)
			}
			must.Succeed(t, err)
			if queued = len(children); queued < 3 {
				<-changed
			}
		}
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		if there, _, err := conn.Exists(path); there || err != nil {
			t.Errorf("%s is there: %v", path, err)
		}
	})
}
