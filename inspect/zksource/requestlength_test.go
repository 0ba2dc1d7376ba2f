package zksource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

// A server ends the connection by which a longer request comes than it takes. It is asked for less at a time.
func TestAServerThatTakesShortRequestsOnlyIsRead(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, zks *servertest.ZooKeeper) {
		c := client(t, zks)
		create(t, c, "/locks", "", 0)
		lock := func(i int) string { return fmt.Sprintf("/locks/%s%03d", strings.Repeat("x", 150), i) }
		const locks = 100
		for i := range locks {
			create(t, c, lock(i), "", 0)
			create(t, c, lock(i)+"/"+guid+"__lock__", "a", contender)
		}
		for name, once := range map[string]bool{"one look": true, "a watch": false} {
			t.Run(name, func(t *testing.T) {
				cfg := zksource.Config{Backend: "zk", Servers: []string{zks.Addr}, Roots: []string{"/locks"}, Once: once, Timeout: 10 * time.Second}
				v, _ := watchHastily(t, cfg)
				var b inspect.Backend
				v.Await("all", func() bool {
					for i := range locks {
						if l := v.Locks[lock(i)]; l == nil || len(l.Holders) == 0 || l.Holders[0].Owner.Label != "a" {
							return false
						}
					}
					b = *v.Backend
					return b.FirstPass
				})
				if !strings.Contains(b.Reading, "many reads per request") || len(b.Unseen) > 0 {
					t.Errorf("reading: %q, unseen %v", b.Reading, b.Unseen)
				}
			})
		}
	}
	for _, most := range []int{8192, 600} {
		t.Run(fmt.Sprint("embedded ", most), func(t *testing.T) {
			t.Parallel()
			read(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{MaxRequest: most}))
		})
	}
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		zks := servertest.StartZooKeeper(t)
		zks.LimitRequests(t, 8192)
		read(t, zks)
	})
}

// What has a path that is longer than the requests that its server takes is unknown, and all else is read.
func TestAPathThatIsTooLongForItsServerIsUnknown(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/locks", "", 0)
	long := []string{"/locks/" + strings.Repeat("x", 9000), "/locks/" + strings.Repeat("y", 8500), "/locks/" + strings.Repeat("z", 12000)}
	for _, p := range append([]string{"/locks/a", "/locks/b"}, long...) {
		create(t, c, p, "", 0)
		create(t, c, p+"/"+guid+"__lock__", "a", contender)
	}
	create(t, c, "/locks/a/"+strings.Repeat("x", 8500)+"-lock-", "b", contender)
	zks.LimitRequests(t, 8192)
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{"/locks"}})
	v.Await("a first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
	reported := func(list []inspect.Unseen, p string) bool {
		for _, u := range list {
			if strings.HasSuffix(u.Read, " "+p) && strings.Contains(u.Reason, "jute.maxbuffer") && u.Where == zks.Addr {
				return true
			}
		}
		return false
	}
	v.Peek(func() {
		if l := v.Locks["/locks/b"]; l == nil || l.Holders[0].Owner.Label != "a" || l.Unseen != nil {
			t.Errorf("b: %+v", l)
		}
		for _, p := range long {
			if l := v.Locks[p]; l == nil && !reported(v.Backend.Unseen, p) || l != nil && !reported(l.Unseen, p) {
				t.Errorf("%.20s of %d: %+v; unseen %.300v", p, len(p), l, v.Backend.Unseen)
			}
		}
		if l := v.Locks["/locks/a"]; l == nil || len(l.Unseen) == 0 || !strings.Contains(l.Unseen[0].Reason, "jute.maxbuffer") {
			t.Errorf("a: %+v", l)
		}
	})
}
