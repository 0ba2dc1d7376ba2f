package finding

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// A master that accepts writes without waiting for its replicas is reported once, whatever locks it
// has. Replicas, masters without replicas, and masters that need theirs are not reported.
func TestReplicaFailover(t *testing.T) {
	t.Parallel()
	master := func(replicas int, needs bool) inspect.Server {
		return inspect.Server{Addr: "10.0.0.1:6379", State: inspect.ServerUp, Role: "master", Replicas: replicas, NeedsReplicas: needs}
	}
	for name, tt := range map[string]struct {
		servers []inspect.Server
		says    string // empty if nothing is found
	}{
		"a replica, not waited for":     {[]inspect.Server{master(1, false)}, "does not wait for its replica"},
		"replicas, not waited for":      {[]inspect.Server{master(3, false)}, "waits for none of its 3 replicas"},
		"several masters with replicas": {[]inspect.Server{master(2, false), master(2, true), master(1, false)}, "replicas, nor does 1 other:"},
		"no replica":                    {[]inspect.Server{master(0, false)}, ""},
		"min-replicas-to-write is set":  {[]inspect.Server{master(2, true)}, ""},
		"a replica of a replica":        {[]inspect.Server{{Addr: "10.0.0.2:6379", Role: "replica", Replicas: 1}}, ""},
		"unknown role":                  {[]inspect.Server{{Addr: "10.0.0.2:6379", Replicas: 1}}, ""},
	} {
		found := replicaFailover().rule().Backend(&inspect.Backend{Name: "redis", Kind: inspect.Redis, Servers: tt.servers}, now)
		if (len(found) == 1) != (tt.says != "") {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		for _, f := range found {
			readable(t, f)
			if f.Severity != inspect.Info || !strings.Contains(f.Message, tt.says) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// Many empty directories are reported with the command that finds the idle ones. A few are not.
func TestEmptyLocks(t *testing.T) {
	t.Parallel()
	b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Reach: inspect.Reach{Target: "zk://a:2181"}}
	for count, fires := range map[int]bool{0: false, manyEmpty - 1: false, manyEmpty: true} {
		b.Empty = inspect.EmptyDirs{Count: count, Oldest: now.Add(-time.Hour), Under: "/locks/o'k", UnderCount: count / 2}
		found := emptyLocks().rule().Backend(b, now)
		if (len(found) == 1) != fires {
			t.Errorf("%d: %+v", count, found)
			continue
		}
		for _, f := range found {
			readable(t, f)
			if want := `lockscope sweep 'zk:/locks/o'\''k' zk://a:2181 --idle 24h --max 1000 --dry-run`; !strings.HasSuffix(f.Advice(), want) || f.Evidence["under_count"] != count/2 {
				t.Errorf("%+v", f)
			}
		}
	}
}
