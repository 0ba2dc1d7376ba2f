package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// BenchmarkFarZooKeeper looks at 2,000 locks of 10 contenders, by a screen's budget, on a server behind a long way.
func BenchmarkFarZooKeeper(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	dirs := fill(b, connect(b, server.Addr))
	for _, way := range []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(fmt.Sprint(way), func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			var listed, complete []time.Duration
			for b.Loop() {
				l, c := lookFrom(b, server.Addr, way, len(dirs))
				listed, complete = append(listed, l), append(complete, c)
			}
			slices.Sort(listed)
			slices.Sort(complete)
			b.ReportMetric(listed[len(listed)/2].Seconds()*1000, "listed-ms")
			b.ReportMetric(complete[len(complete)/2].Seconds()*1000, "complete-ms")
		})
	}
}

// lookFrom returns the times until all locks are listed and until all contenders are read, over a way that takes so long there and
// back.
func lookFrom(b *testing.B, addr string, way time.Duration, locks int) (listed, complete time.Duration) {
	b.Helper()
	s := zksource.New(zksource.Config{Backend: "zk", Servers: []string{addr}, Roots: []string{"/locks"}, Dial: farDial(way)})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	seen, read := map[inspect.ID]bool{}, map[inspect.ID]bool{}
	start := time.Now()
	err := s.Run(ctx, func(u inspect.Update) {
		for _, l := range u.Put {
			seen[l.ID] = true
			if l.Contention() == contenders && l.Waiters[contenders-2].Owner.Session != 0 {
				read[l.ID] = true
			}
		}
		if listed == 0 && len(seen) == locks {
			listed = time.Since(start)
		}
		if complete == 0 && len(read) == locks {
			complete = time.Since(start)
			cancel()
		}
	})
	if complete == 0 {
		b.Fatalf("%d locks listed, %d read: %v", len(seen), len(read), err)
	}
	return listed, complete
}

// farDial makes connections over a way that takes so long there and back, however much is on it.
func farDial(way time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil || way == 0 {
			return conn, err
		}
		time.Sleep(way) // what a handshake takes
		ours, its := net.Pipe()
		go carry(conn, its, way/2)
		go carry(its, conn, way/2)
		return ours, nil
	}
}

// carry passes on what it reads, each piece so much later, until one of both ends.
func carry(from, to net.Conn, late time.Duration) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1<<12)
	go func() {
		defer close(pieces)
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{bytes.Clone(buf[:n]), time.Now().Add(late)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due)) // the way
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	from.Close()
	to.Close()
	for range pieces { // until its reader has ended
	}
}

// farAddr is a port from which a server is so far, there and back.
func farAddr(b *testing.B, addr string, way time.Duration) string {
	b.Helper()
	if way == 0 {
		return addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			go carry(client, server, way/2)
			go carry(server, client, way/2)
		}
	}()
	return l.Addr().String()
}
