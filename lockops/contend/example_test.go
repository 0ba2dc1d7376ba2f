package contend_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
)

// Four contenders acquire a fair lock three times each.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	fair, _ := lockops.KindNamed(lockops.OnRedis, "fair")
	target := contend.NewRedis(contend.Redis{
		Site:    contend.Site{Name: "lock:try", Kinds: []lockops.Kind{fair}},
		Masters: []*redis.UniversalOptions{{Addrs: []string{server.Addr()}}},
	})
	run, err := contend.Start(context.Background(), target, contend.Config{Contenders: 4, Hold: time.Millisecond, Rounds: 3})
	if err != nil {
		panic(err)
	}
	report, err := run.Wait()
	fmt.Println(report.Grants, "grants,", report.Overlaps, "overlaps,", err)
	// Output: 12 grants, 0 overlaps, <nil>
}
