package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

const (
	directories = 2000
	contenders  = 10
)

// BenchmarkZooKeeperDiscovery finds 2,000 locks of 10 contenders each, without a budget, and compares with the same
// requests sent bare and pipelined.
func BenchmarkZooKeeperDiscovery(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	dirs := fill(b, connect(b, server.Addr))
	b.Run("bare-children", func(b *testing.B) {
		conn := connect(b, server.Addr)
		for b.Loop() {
			pipelined(b, 256, dirs, func(_ int, dir string) error {
				_, _, err := conn.Children(dir)
				return err
			})
		}
	})
	b.Run("bare-reads", func(b *testing.B) {
		conns := []*zk.Conn{connect(b, server.Addr), connect(b, server.Addr), connect(b, server.Addr)}
		for b.Loop() {
			bareReads(b, conns, dirs)
		}
	})
	b.Run("lockscope", func(b *testing.B) { // each look beside bare multiReads of the same
		conn := tap(b, server.Addr)
		conn.bareReads(b, dirs) // the server has compiled what it needs
		rounds := map[string][]float64{}
		for b.Loop() {
			start := time.Now()
			conn.bareReads(b, dirs)
			bare := time.Since(start)
			first, listed, complete := discover(b, server.Addr)
			for what, d := range map[string]time.Duration{"bare-multiread": bare, "first": first, "listed": listed, "complete": complete} {
				rounds[what+"-ms"] = append(rounds[what+"-ms"], d.Seconds()*1000)
			}
			rounds["x-bare"] = append(rounds["x-bare"], complete.Seconds()/bare.Seconds())
		}
		b.ReportMetric(0, "ns/op")
		for what, values := range rounds {
			slices.Sort(values)
			b.ReportMetric(values[len(values)/2], what)
		}
	})
}

func connect(b testing.TB, addr string) *zk.Conn {
	b.Helper()
	return connectFor(b, addr, 10*time.Second)
}

// connectFor is connect, with a session of that timeout.
func connectFor(b testing.TB, addr string, timeout time.Duration) *zk.Conn {
	b.Helper()
	conn, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

// fill makes the locks, as Curator writes them; these clients take turns in each queue.
func fill(b *testing.B, clients ...*zk.Conn) []string {
	b.Helper()
	conn := clients[0]
	acl := zk.WorldACL(zk.PermAll)
	if _, err := conn.Create("/locks", nil, 0, acl); err != nil {
		b.Fatal(err)
	}
	dirs := make([]string, directories)
	for i := range dirs {
		dirs[i] = fmt.Sprintf("/locks/job-%04d", i)
	}
	pipelined(b, 64, dirs, func(i int, dir string) error {
		if _, err := conn.Create(dir, nil, 0, acl); err != nil {
			return err
		}
		for c := range contenders {
			name := fmt.Sprintf("%s/_c_%08x-0000-4000-8000-%012x-lock-", dir, i, c)
			if _, err := clients[c%len(clients)].Create(name, []byte("10.0.0.1"), zk.FlagEphemeralSequential, acl); err != nil {
				return err
			}
		}
		return nil
	})
	return dirs
}

// pipelined calls f for each path, width of them at the same time.
func pipelined(b testing.TB, width int, paths []string, f func(i int, path string) error) {
	b.Helper()
	next := make(chan int)
	var group sync.WaitGroup
	for range width {
		group.Go(func() {
			for i := range next {
				if err := f(i, paths[i]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	group.Wait()
}

// bareReads lists all directories and reads all their children, 192 requests under way on three connections.
func bareReads(b *testing.B, conns []*zk.Conn, dirs []string) {
	b.Helper()
	var mu sync.Mutex
	var nodes []string
	pipelined(b, 192, dirs, func(i int, dir string) error {
		children, _, err := conns[i%len(conns)].Children(dir)
		mu.Lock()
		defer mu.Unlock()
		for _, c := range children {
			nodes = append(nodes, dir+"/"+c)
		}
		return err
	})
	pipelined(b, 192, nodes, func(i int, node string) error {
		_, _, err := conns[i%len(conns)].Get(node)
		return err
	})
}

// discover runs one pass and returns the times to the first lock, to all of them with the lengths of their queues, and
// to all contenders.
func discover(b *testing.B, addr string) (first, listed, complete time.Duration) {
	b.Helper()
	s := zksource.New(zksource.Config{
		Backend: "zk", Servers: []string{addr}, Roots: []string{"/locks"}, Once: true,
		Budget: zksource.Budget{Unlimited: true},
	})
	lengths := map[inspect.ID]bool{}
	read := map[inspect.ID]bool{}
	start := time.Now()
	err := s.Run(context.Background(), func(u inspect.Update) {
		for _, l := range u.Put {
			if l.Contention() == contenders {
				lengths[l.ID] = true
			}
			if l.Contention() == contenders && l.Waiters[contenders-2].Owner.Session != 0 {
				read[l.ID] = true
			}
		}
		now := time.Since(start)
		if first == 0 && len(lengths) > 0 {
			first = now
		}
		if listed == 0 && len(lengths) == directories {
			listed = now
		}
		if complete == 0 && len(read) == directories {
			complete = now
		}
	})
	if err != nil || complete == 0 {
		b.Fatalf("%d locks listed, %d read: %v", len(lengths), len(read), err)
	}
	return first, listed, complete
}
