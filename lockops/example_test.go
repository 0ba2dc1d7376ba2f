package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/zkserver"
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

// exampleZK starts an in-process ZooKeeper and a session with it.
func exampleZK() (addr string, session *lockops.ZKSession, end func()) {
	server, err := zkserver.Start(zkserver.Config{})
	if err != nil {
		panic(err)
	}
	session, err = lockops.NewZKSession(context.Background(), []string{server.Addr()})
	if err != nil {
		panic(err)
	}
	return server.Addr(), session, func() {
		session.Close()
		_ = server.Close()
	}
}

// store rejects writes with a token older than the newest it has seen.
type store struct {
	mu     sync.Mutex
	newest uint64
	text   string
}

func (s *store) write(token uint64, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.newest {
		return errors.New("a newer holder was here")
	}
	s.newest, s.text = token, text
	return nil
}

// A function acquires a lock that its caller may already hold.
func ExampleWithReentry() {
	ctx := context.Background()
	_, session, end := exampleZK()
	defer end()
	lock := lockops.NewZKMutex(session, "/locks/report", lockops.WithReentry())
	fmt.Println(lockops.Do(ctx, lock, func(ctx context.Context) error {
		return lockops.Do(ctx, lock, func(context.Context) error {
			fmt.Println("inside twice")
			return nil
		})
	}))
	// Output:
	// inside twice
	// <nil>
}

// Locks on a connection that the program already has.
func ExampleAdoptZKConn() {
	ctx := context.Background()
	addr, _, end := exampleZK()
	defer end()
	dialer := lockops.NewZKDialer(nil)
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithDialer(dialer.Dial), zk.WithLogInfo(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for range events { // the program handles them
		}
	}()
	defer conn.Close()
	session, err := lockops.AdoptZKConn(ctx, conn, dialer)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = lockops.Do(ctx, lockops.NewZKMutex(session, "/locks/report"), func(context.Context) error { return nil })
	session.Close() // the connection stays open
	_, _, getErr := conn.Get("/locks")
	fmt.Println(err, getErr)
	// Output: <nil> <nil>
}

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

// Runs a function under a lock. Its context ends with the caller's, or when the lock is lost. Other
// clients cannot get the lock meanwhile, and no key is left afterwards.
func ExampleDo() {
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

// Before a step that must not happen twice, Extend confirms with the servers that the lock is still
// held. Without renewal, a Redis lock expires after its TTL unless it is extended.
func ExampleHold_Extend() {
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
func ExampleHold_Token() {
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
