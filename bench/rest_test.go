package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// atRest is the length of the measurement, in which several pings of each connection fall.
const atRest = 20 * time.Second

// BenchmarkAtRest watches 1,000 locks that nobody touches and reports the requests that reach the servers meanwhile, by their own
// counters.
func BenchmarkAtRest(b *testing.B) {
	b.Run("zookeeper", func(b *testing.B) {
		server := servertest.StartZooKeeper(b)
		conn := connect(b, server.Addr)
		for i := range 1000 {
			mustLock(b, conn, fmt.Sprintf("/lock-%04d", i))
		}
		conn.Close() // its heartbeats would count
		perSecond(b, zksource.New(zksource.Config{Backend: "s", Servers: []string{server.Addr}}), func() float64 { return zkPackets(b, server.Addr) })
	})
	for name, match := range map[string]string{"redis-push": "lock:*", "redis-poll": "*lock*"} {
		b.Run(name, func(b *testing.B) {
			server := servertest.StartRedis(b)
			client := redis.NewClient(&redis.Options{Addr: server.Addr})
			b.Cleanup(func() { client.Close() })
			for i := range 1000 {
				if err := client.Set(b.Context(), fmt.Sprintf("lock:%d", i), fmt.Sprintf("%032d", i), time.Hour).Err(); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, redisSource(server, []string{match}), func() float64 { return redisCommands(b, client) })
		})
	}
}

func mustLock(b *testing.B, conn *zk.Conn, dir string) {
	acl := zk.WorldACL(zk.PermAll)
	_, err := conn.Create(dir, nil, 0, acl)
	if err == nil { // persistent: it stays when the connection is closed
		_, err = conn.Create(dir+"/0123456789abcdef0123456789abcdef__lock__", nil, zk.FlagSequence, acl)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// perSecond runs a source until it has seen all and reports how fast a server's counter then grows.
func perSecond(b *testing.B, source inspect.Source, counter func() float64) {
	for b.Loop() {
		observer := inspect.NewObserver(time.Now, source)
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			observer.Run(ctx)
			close(ended)
		}()
		sub := observer.Subscribe()
		for s := observer.Snapshot(); s.Len() < 1000 || !s.Backends[0].FirstPass; {
			next, err := sub.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			s = next
		}
		time.Sleep(3 * time.Second) // the last of the first pass
		before, cpu := counter(), processTime()
		time.Sleep(atRest) // the span that is measured
		b.ReportMetric((counter()-before)/atRest.Seconds(), "requests/s")
		b.ReportMetric(100*(processTime()-cpu).Seconds()/atRest.Seconds(), "core-%")
		sub.Close()
		cancel()
		<-ended
	}
}

// processTime is the CPU time that this process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// zkPackets reads the packets received from srvr.
func zkPackets(b *testing.B, addr string) float64 {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		b.Fatal(err)
	}
	return counterIn(b, conn, "Received: ")
}

// redisCommands reads total_commands_processed from INFO.
func redisCommands(b *testing.B, client *redis.Client) float64 {
	info, err := client.Info(b.Context(), "stats").Result()
	if err != nil {
		b.Fatal(err)
	}
	return counterIn(b, strings.NewReader(info), "total_commands_processed:")
}

func counterIn(b *testing.B, r io.Reader, name string) float64 {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("no %q in the server's answer", name)
	return 0
}
