package inspect_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
)

// A single read of the locks on a Redis server.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if err := server.Set("lock:report", "worker-3"); err != nil {
		panic(err)
	}
	server.SetTTL("lock:report", time.Minute)

	source := redissource.New(redissource.Config{
		Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{server.Addr()}}}, Once: true,
	})
	observer := inspect.NewObserver(time.Now, source)
	if err := observer.Run(context.Background()); err != nil {
		panic(err)
	}
	for lock := range observer.Snapshot().Locks() {
		fmt.Println(lock.ID, lock.State, lock.Holders[0].Name)
	}
	// Output: redis:lock:report held worker-3
}
