package finding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// kazooThread is one of the threads that share a session, with its own label.
type kazooThread struct {
	session     *zk.Conn
	root, label string
}

// queue enters a lock's queue.
func (k kazooThread) queue(lock string) (node string, err error) {
	return k.session.Create(k.root+lock+"/0123456789abcdef0123456789abcdef__lock__", []byte(k.label),
		zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
}

// acquire queues and waits until it is first.
func (k kazooThread) acquire(ctx context.Context, lock string) (node string, err error) {
	if node, err = k.queue(lock); err != nil {
		return "", err
	}
	for {
		nodes, _, events, err := k.session.ChildrenW(k.root + lock)
		if err != nil {
			return "", err
		}
		first := slices.MinFunc(nodes, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
		if strings.HasSuffix(node, first) {
			return node, nil
		}
		select {
		case <-events:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// work takes two locks in order, keeps them for a while or until hold ends, and releases them.
func (k kazooThread) work(ctx, hold context.Context, first, second string) error {
	one, err := k.acquire(ctx, first)
	if err != nil {
		return err
	}
	two, err := k.acquire(ctx, second)
	if err != nil {
		return err
	}
	select {
	case <-time.After(inspect.SettleFor * 3 / 2): // longer than a deadlock must last to be reported
	case <-hold.Done():
	}
	return errors.Join(k.session.Delete(two, -1), k.session.Delete(one, -1))
}

// Threads that share sessions and take locks in one order are not in a deadlock. Two threads that
// wait for each other are, as long as they wait.
func TestThreadsOfSharedSessions(t *testing.T) {
	t.Parallel()
	server, root := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}), servertest.UniquePath(t)
	locks := []string{"/a", "/b", "/c", "/d"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sessions []*zk.Conn
	for range 3 {
		sessions = append(sessions, servertest.ConnectZooKeeper(t, server.Addr, 10*time.Second))
	}
	for _, name := range append([]string{"", "/x", "/y"}, locks...) {
		must.Have(sessions[0].Create(root+name, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	}
	one, other := kazooThread{sessions[0], root, "one"}, kazooThread{sessions[1], root, "other"}
	for _, step := range []struct {
		who  kazooThread
		lock string
	}{{one, "/x"}, {other, "/y"}, {one, "/y"}, {other, "/x"}} {
		must.Have(step.who.queue(step.lock))(t)
	}
	var threads sync.WaitGroup
	working, stop := context.WithCancel(ctx)
	for i := range 12 {
		k := kazooThread{sessions[i%3], root, fmt.Sprint("thread ", i)}
		threads.Go(func() {
			for n := i; working.Err() == nil; n++ {
				if err := k.work(ctx, working, locks[n%3], locks[n%3+1]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer threads.Wait()
	defer stop()

	o := inspect.NewObserver(time.Now, zksource.New(zksource.Config{Backend: "zk", Servers: []string{server.Addr}, Roots: []string{root}}))
	o.Diagnose(Rules(), time.Hour)
	sub := o.Subscribe()
	defer sub.Close()
	watching, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- o.Run(watching) }()
	var found time.Time
	for found.IsZero() || time.Since(found) < 8*time.Second {
		s := must.Have(sub.Next(ctx))(t)
		in := map[string]bool{}
		for l := range s.Locks() {
			in[strings.TrimPrefix(l.ID.Path, root)] = slices.ContainsFunc(l.Findings, func(f inspect.Finding) bool { return f.Rule == "deadlock" })
		}
		if in["/x"] && in["/y"] && found.IsZero() {
			found = time.Now()
		}
		if !found.IsZero() && (!in["/x"] || !in["/y"]) || in["/a"] || in["/b"] || in["/c"] || in["/d"] {
			t.Fatalf("in a deadlock: %v", in)
		}
	}
	end()
	must.Be(t, <-done, nil)
}
