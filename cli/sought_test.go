package cli

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// An empty list says what we looked for, and which other databases hold keys.
func TestNothingFoundSaysWhatWasSought(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	fill := func(db int, keys ...string) {
		c := redis.NewClient(&redis.Options{Addr: m.Addr, DB: db})
		defer c.Close()
		for _, key := range keys {
			must.Succeed(t, c.Set(t.Context(), key, "1", 0).Err())
		}
	}
	fill(0, "cache:a", "block:7")
	fill(1, "lock:a", "lock:b", "cache:b")
	target := "redis://" + m.Addr
	for _, command := range []string{"ls", "doctor"} {
		got := run(t, command, target)
		text := got.stdout + got.stderr
		for _, want := range []string{
			"looked for *lock*, *mutex*, *semaphore*", "among 2 keys of database 0", "database 1 has 3 keys: try " + target + "/1",
		} {
			if got.code != 0 || !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %+v", command, want, got)
			}
		}
	}
	if got := run(t, "ls", target, "-o", "json"); !strings.Contains(strings.Join(strings.Fields(got.stdout), ""), `"among":2,"elsewhere":[{"database":1,"keys":3}]`) {
		t.Errorf("json: %s", got.stdout)
	}
	if got := run(t, "ls", target+"?match=queue:*"); !strings.Contains(got.stderr, "looked for queue:*; database 1") {
		t.Errorf("one pattern: %+v", got)
	}
	if got := run(t, "ls", target+"/1"); strings.Contains(got.stderr, "looked for") || !strings.Contains(got.stdout, "lock:a") {
		t.Errorf("locks were found: %+v", got)
	}
	if got := run(t, "show", "redis:lock:none", target); strings.Contains(got.stderr+got.stdout, "looked for") {
		t.Errorf("one lock by its name: %+v", got)
	}
}

func TestNothingFoundNamesTheRoots(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		if got := run(t, "doctor", "zk://"+server.Addr+"/zookeeper"); !strings.Contains(got.stdout, "looked below /zookeeper, among ") {
			t.Errorf("%+v", got)
		}
	})
}
