package act_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops/act"
)

// Free a lock whose holder is gone: preview, then execute.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if err := server.Set("lock:report", "worker-3"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	audit, err := act.OpenAudit(time.Now, filepath.Join(dir, "audit.jsonl"), "example", "")
	if err != nil {
		panic(err)
	}
	defer audit.Close()

	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	target := act.Target{Name: "redis", Servers: []string{server.Addr()}}
	releaser := act.NewRedis([]redis.UniversalClient{client}, target, time.Second, audit)
	preview, err := releaser.Preview(ctx, act.Request{
		ID: inspect.ID{Backend: "redis", Path: "lock:report"}, Owner: "worker-3", Why: "TICKET-1: its host burnt down",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("held by", preview.Seen.Name)
	result, err := releaser.Execute(ctx, preview, "yes")
	fmt.Println("released:", result.Released, err)
	// Output:
	// held by worker-3
	// released: true <nil>
}
