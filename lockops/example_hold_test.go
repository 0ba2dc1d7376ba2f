package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

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

// Runs a function under a lock. Its context ends with the caller's, or when the lock is lost.
func ExampleDo() {
	_, session, end := exampleZK()
	defer end()
	lock := lockops.NewZKMutex(session, "/locks/report")
	err := lockops.Do(context.Background(), lock, func(ctx context.Context) error {
		fmt.Println("inside, lost:", ctx.Err() != nil)
		return nil
	})
	fmt.Println(err)
	// Output:
	// inside, lost: false
	// <nil>
}

// Before a step that must not happen twice, confirm with the servers that the lock is still held.
func ExampleHold_Extend() {
	ctx := context.Background()
	_, session, end := exampleZK()
	defer end()
	hold, err := lockops.NewZKMutex(session, "/locks/payout").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = hold.Extend(ctx)
	deadline, ok := hold.Deadline()
	fmt.Println(err, ok, time.Until(deadline) > time.Second)
	fmt.Println(hold.Release(ctx))
	// Output:
	// <nil> true true
	// <nil>
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

// A resource that checks the fencing token rejects a holder that was paused and does not know that
// it lost the lock.
func ExampleHold_Token() {
	ctx := context.Background()
	_, session, end := exampleZK()
	defer end()
	lock, resource := lockops.NewZKMutex(session, "/locks/report"), new(store)
	first, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	old, _ := first.Token()
	_ = first.Release(ctx) // in practice, lost while the process was paused
	second, err := lock.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := second.Token()
	fmt.Println(resource.write(token, "new"))
	fmt.Println(resource.write(old, "late"))
	_ = second.Release(ctx)
	// Output:
	// <nil>
	// a newer holder was here
}

// A function acquires a lock that its caller may already hold.
func ExampleWithReentry() {
	ctx := context.Background()
	_, session, end := exampleZK()
	defer end()
	lock := lockops.NewZKMutex(session, "/locks/report", lockops.WithReentry())
	err := lockops.Do(ctx, lock, func(ctx context.Context) error {
		return lockops.Do(ctx, lock, func(context.Context) error {
			fmt.Println("inside twice")
			return nil
		})
	})
	plain := lockops.NewZKMutex(session, "/locks/report")
	again := lockops.Do(ctx, plain, func(ctx context.Context) error {
		_, err := plain.Acquire(ctx)
		return err
	})
	fmt.Println(err, errors.Is(again, lockops.ErrReentry))
	// Output:
	// inside twice
	// <nil> true
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
