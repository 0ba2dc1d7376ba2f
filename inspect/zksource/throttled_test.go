package zksource_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestThrottledRequestsAreAskedAgain(t *testing.T) {
	t.Parallel()
	for name, cfg := range generations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			throttling := map[int32]bool{3: true, 4: true, 8: true, 12: true, 22: true, 106: true} // reads and watches
			var on atomic.Bool
			cfg.Throttled = func(op int32) bool { return on.Load() && throttling[op] && asked.Add(1)%3 == 1 }
			zks := servertest.StartEmbeddedZooKeeper(t, cfg)
			c := client(t, zks)
			create(t, c, "/locks", "", 0)
			const locks = 5
			for i := range locks {
				create(t, c, fmt.Sprint("/locks/", i), "", 0)
				create(t, c, fmt.Sprint("/locks/", i, "/", guid, "__lock__"), "a", contender)
			}
			on.Store(true)
			v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{"/locks"}})
			all := func() bool {
				for i := range locks {
					if l := v.Locks[fmt.Sprint("/locks/", i)]; l == nil || len(l.Holders) == 0 || l.Holders[0].Owner.Label != "a" {
						return false
					}
				}
				return true
			}
			var b *inspect.Backend
			v.Await("all", func() bool { b = v.Backend; return all() && b.FirstPass })
			if many := strings.Contains(b.Reading, "many reads per request"); many == (cfg.WithoutMultiRead || cfg.WithoutAddWatch) {
				t.Errorf("reading: %q", b.Reading)
			}
			if len(b.Unseen) > 0 || asked.Load() < 4 {
				t.Errorf("unseen %v after %d requests", b.Unseen, asked.Load())
			}
		})
	}
}

func TestThrottlingServerIsNamed(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Throttled: func(op int32) bool { return op == 22 }})
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Timeout: 4 * time.Second})
	if b := v.Backend; b.State != inspect.Down || !strings.Contains(b.Error, "throttles") {
		t.Errorf("%s: %q", b.State, b.Error)
	}
}
