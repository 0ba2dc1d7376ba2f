package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/lockops"
)

// exampleRedis starts an in-process Redis and a session with it.
func exampleRedis() (server *miniredis.Miniredis, session *lockops.RedisSession, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	session, err = lockops.NewRedisSession(context.Background(), []*redis.UniversalOptions{{Addrs: []string{server.Addr()}}})
	if err != nil {
		panic(err)
	}
	return server, session, func() {
		session.Close()
		server.Close()
	}
}

// Runs a function under a Redis lock. Other clients cannot get the lock meanwhile, and no key is
// left afterwards.
func ExampleDo_redis() {
	ctx := context.Background()
	server, session, end := exampleRedis()
	defer end()
	lock := lockops.NewRedisMutex(session, "lock:report", lockops.WithoutToken())
	err := lockops.Do(ctx, lock, func(context.Context) error {
		_, err := lock.TryAcquire(ctx)
		fmt.Println("another client:", errors.Is(err, lockops.ErrHeld))
		return nil
	})
	fmt.Println(err, server.Keys())
	// Output:
	// another client: true
	// <nil> []
}

// Without renewal, a lock expires after its TTL unless it is extended.
func ExampleHold_Extend_redis() {
	ctx := context.Background()
	server, session, end := exampleRedis()
	defer end()
	lock := lockops.NewRedisMutex(session, "lock:payout", lockops.WithTTL(time.Minute), lockops.WithoutRenewal())
	hold, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	server.FastForward(40 * time.Second)
	fmt.Println(server.TTL("lock:payout"))
	fmt.Println(hold.Extend(ctx), server.TTL("lock:payout"))
	server.FastForward(time.Minute) // it was not extended in time
	fmt.Println(errors.Is(hold.Extend(ctx), lockops.ErrLost), errors.Is(context.Cause(hold.Context()), lockops.ErrLost))
	_ = hold.Release(ctx)
	// Output:
	// 20s
	// <nil> 1m0s
	// true true
}

// A key can expire while its holder is paused and cannot notice. A resource that checks the fencing
// token rejects the holder's late writes.
func ExampleHold_Token_redis() {
	ctx := context.Background()
	server, session, end := exampleRedis()
	defer end()
	lock, resource := lockops.NewRedisMutex(session, "lock:report"), new(store)
	stopped, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	old, _ := stopped.Token()
	server.FastForward(time.Minute)
	second, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := second.Token()
	fmt.Println(resource.write(token, "new"))
	fmt.Println(resource.write(old, "late"))
	fmt.Println(errors.Is(stopped.Release(ctx), lockops.ErrLost), second.Release(ctx))
	// Output:
	// <nil>
	// a newer holder was here
	// true <nil>
}

// A function acquires a lock that its caller may already hold. The last release frees the lock.
func ExampleWithReentry_redis() {
	ctx := context.Background()
	server, session, end := exampleRedis()
	defer end()
	lock := lockops.NewRedisFairMutex(session, "lock:report", lockops.WithReentry())
	outer, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := lock.Acquire(outer.Context())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outer.Release(ctx), server.Exists("lock:report"))
	fmt.Println(inner.Release(ctx), server.Exists("lock:report"))
	// Output:
	// <nil> true
	// <nil> false
}

// Locks on a client that the program already has. Timeouts and retries must be left to the lock.
func ExampleAdoptRedis() {
	ctx := context.Background()
	server, _, end := exampleRedis()
	defer end()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	session, err := lockops.AdoptRedis(ctx, []redis.UniversalClient{client})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = lockops.Do(ctx, lockops.NewRedisMutex(session, "lock:report"), func(context.Context) error {
		return client.Set(ctx, "report", "done", 0).Err()
	})
	session.Close() // the client stays open
	fmt.Println(err, client.Get(ctx, "report").Val())
	// Output: <nil> done
}
