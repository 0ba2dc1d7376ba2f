package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Labels of the two programs.
const (
	cartOnBoth = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	tillOnBoth = "1d5f1b2e-9d8a-4f6f-b1f0-a7c3d5e60719"
)

func (s snapshot) waiting() (n int) {
	for _, l := range s.Locks {
		n += len(l.Waiters)
	}
	return n
}

// deadlocks returns the advised command of each deadlock finding, and checks that each identifies
// the programs by their labels.
func (s snapshot) deadlocks(t *testing.T) (commands []string) {
	t.Helper()
	for _, l := range s.Locks {
		for _, f := range l.Findings {
			if f.Rule != "deadlock" {
				continue
			}
			locks, _ := f.Evidence["locks"].([]any)
			ties, _ := f.Evidence["ties"].([]any)
			if f.Confidence != "likely" || len(locks) != 2 || len(ties) != 2 {
				t.Fatalf("%s: %+v", l.ID, f)
			}
			first, second := ties[0].(map[string]any), ties[1].(map[string]any)
			must.Equal(t, first["certainty"], any("likely"), l.ID, "first tie")
			must.Contain(t, fmt.Sprint(first["by"], second["by"]), cartOnBoth, l.ID, "ties")
			commands = append(commands, commandOf(f.Steps))
		}
	}
	return commands
}

// Two programs, each with a kazoo and a redis-py client, wait for each other on ZooKeeper and
// Redis. doctor reports the deadlock on both locks, and how it identified the programs. Both
// continue after the advised release.
func TestDeadlockAcrossBothBackends(t *testing.T) {
	t.Parallel()
	zk, redis := servertest.StartZooKeeper(t), servertest.StartRedis(t)
	one := servertest.StartOnBoth(t, zk.Addr, redis.Addr, cartOnBoth, "/locks/orders", "lock:ledger", false)
	two := servertest.StartOnBoth(t, zk.Addr, redis.Addr, tillOnBoth, "/locks/orders", "lock:ledger", true)
	one.Expect(t, "waiting zookeeper")
	one.Expect(t, "acquired zookeeper")
	two.Expect(t, "acquired redis")
	targets := []string{"zk://" + zk.Addr + "/locks", "redis://" + redis.Addr + "?match=lock:*"}
	look := func() snapshot {
		return parse(t, run(t, append([]string{"doctor", "-o", "json"}, targets...)...).stdout)
	}
	waiting := func(n int) func() bool { return func() bool { return look().waiting() == n } }
	if got := look().deadlocks(t); got != nil {
		t.Fatalf("before any waiter: %v", got)
	}
	two.Send(t, "")
	two.Expect(t, "waiting zookeeper")
	must.Become(t, "one waits", waiting(1))
	if got := look().deadlocks(t); got != nil {
		t.Fatalf("one program waits: %v", got)
	}
	one.Send(t, "")
	one.Expect(t, "waiting redis")
	commands := look().deadlocks(t)
	if len(commands) != 2 || commands[0] != commands[1] {
		t.Fatalf("commands: %v", commands)
	}
	if got := run(t, append([]string{"show", "zk:/locks/orders"}, targets...)...); !strings.Contains(got.stdout, "deadlock across 2 locks") {
		t.Errorf("show of one lock: %+v", got)
	}
	args, other := wordsOf(t, commands[0]), targets[1]
	if strings.HasPrefix(args[1], "redis:") {
		other = targets[0]
	}
	if got := run(t, append(slices.Clone(args), other, "--dry-run")...); !strings.Contains(got.stderr+got.stdout, "breaks the deadlock") {
		t.Errorf("preview with both backends: %+v", got)
	}
	alone := run(t, append(slices.Clone(args), "--dry-run", "-o", "json")...)
	must.Contain(t, alone.stdout, `"deadlock": "unknown"`, "preview with one backend")
	must.Contain(t, alone.stdout, `"not_given"`, "preview with one backend")
	if got := run(t, append(args, "--yes")...); got.code != 0 {
		t.Fatalf("%v: %+v", args, got)
	}
	if strings.Contains(args[1], "redis") {
		one.Expect(t, "acquired redis")
	} else {
		two.Expect(t, "acquired zookeeper")
	}
	if got := look().deadlocks(t); got != nil {
		t.Errorf("after the release: %v", got)
	}
}
