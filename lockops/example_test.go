package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/lockops"
)

// A ZooKeeper lock, shared with Curator clients of the same path.
func ExampleNewZKMutex() {
	ctx := context.Background()
	session, err := lockops.NewZKSession(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	hold, err := lockops.NewZKMutex(session, "/locks/report", lockops.WithLabel("reporter")).Acquire(waiting)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = writeReport(hold.Context(), hold) // its context ends when the lock is lost
	fmt.Println(errors.Join(err, hold.Release(ctx)))
}

// A writer downgrades to a reader of the same read-write lock, without another writer in between.
func ExampleNewZKRWMutex() {
	ctx := context.Background()
	session, err := lockops.NewZKSession(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	lock := lockops.NewZKRWMutex(session, "/locks/report", lockops.WithReentry())
	write, err := lock.Write().Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = writeReport(write.Context(), write)
	read, readErr := lock.Read().Acquire(write.Context()) // granted at once
	if err := errors.Join(err, readErr, write.Release(ctx)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.Name(), "reads along with other readers", read.Release(ctx))
}

// A lock over five Redis masters, tried once.
func ExampleNewRedlock() {
	ctx := context.Background()
	var masters []*redis.UniversalOptions
	for _, addr := range []string{"r1:6379", "r2:6379", "r3:6379", "r4:6379", "r5:6379"} {
		masters = append(masters, &redis.UniversalOptions{Addrs: []string{addr}})
	}
	session, err := lockops.NewRedisSession(ctx, masters)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	hold, err := lockops.NewRedlock(session, "lock:report", lockops.WithTTL(10*time.Second)).TryAcquire(ctx)
	var node *lockops.NodeError
	switch {
	case errors.Is(err, lockops.ErrHeld):
		fmt.Println("another client is doing it")
		return
	case errors.As(err, &node):
		fmt.Println(node.Node, "did not answer:", node.Err)
		return
	}
	err = writeReport(hold.Context(), hold)
	fmt.Println(errors.Join(err, hold.Release(ctx)))
}

func writeReport(ctx context.Context, hold *lockops.Hold) error {
	token, _ := hold.Token() // the storage should reject older tokens
	_, _ = ctx, token
	return nil
}
