package bench

import (
	"bufio"
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

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// atRest is the length of the measurement, in which every directory is compared with its Stat once.
const atRest = time.Minute

// untilRest is a little longer than clients need to reconnect after the start of a server.
const untilRest = 75 * time.Second

// BenchmarkAtRest watches 1,000 idle locks and reports the requests that the servers count, and our
// heartbeats separately. The client of "zookeeper-held" has a session of ten or forty seconds; that
// of "zookeeper-observed" has a session and no lock, like another observer.
func BenchmarkAtRest(b *testing.B) {
	for name, timeout := range map[string]time.Duration{
		"zookeeper": 0, "zookeeper-observed": 10 * time.Second, "zookeeper-held-10s": 10 * time.Second, "zookeeper-held-40s": 40 * time.Second,
	} {
		b.Run(name, func(b *testing.B) {
			server := servertest.StartZooKeeper(b)
			holder, flags, beats := connect(b, server.Addr), int32(zk.FlagSequence), 0.0
			if timeout > 0 {
				holder.Close()
				holder = connectFor(b, server.Addr, timeout)
				beats = 3 / timeout.Seconds() // the holder's, per second: go-zookeeper sends three per timeout
			}
			if strings.Contains(name, "held") {
				flags = zk.FlagEphemeralSequential
			}
			for i := range 1000 {
				mustLock(b, holder, fmt.Sprintf("/lock-%04d", i), flags)
			}
			if timeout == 0 {
				holder.Close() // its heartbeats would count
			}
			perSecond(b, zksource.New(zksource.Config{Backend: "s", Servers: []string{server.Addr}}), beats, func() float64 { return zkPackets(b, server.Addr) })
		})
	}
	for name, match := range map[string]string{"redis-push": "lock:*", "redis-poll": "*lock*"} {
		b.Run(name, func(b *testing.B) {
			server := servertest.StartRedis(b)
			client := server.Client(b)
			for i := range 1000 {
				must.Succeed(b, client.Set(b.Context(), fmt.Sprintf("lock:%d", i), fmt.Sprintf("%032d", i), time.Hour).Err())
			}
			perSecond(b, redisSource(server, []string{match}), 0, func() float64 { return redisCommands(b, client) })
		})
	}
}

func mustLock(b *testing.B, conn *zk.Conn, dir string, flags int32) {
	acl := zk.WorldACL(zk.PermAll)
	_, err := conn.Create(dir, nil, 0, acl)
	if err == nil {
		_, err = conn.Create(dir+"/0123456789abcdef0123456789abcdef__lock__", nil, flags, acl)
	}
	must.Succeed(b, err)
}

// perSecond runs a source through its first pass and then reports the growth rate of a server's
// counter. It subtracts our own reads, the source's heartbeats, and the rate of others.
func perSecond(b *testing.B, source inspect.Source, others float64, counter func() float64) {
	for b.Loop() {
		observer := inspect.NewObserver(time.Now, source)
		end := run(b.Context(), observer)
		sub := observer.Subscribe()
		for s := observer.Snapshot(); s.Len() < 1000 || !s.Backends[0].FirstPass; {
			s = must.Have(sub.Next(b.Context()))(b)
		}
		time.Sleep(untilRest) // the end of the first pass, and the extra requests after a server's start
		// The source reports its heartbeats every few seconds; the counter is read right after a report.
		report := func() (requests, heartbeats float64, at time.Time) {
			for was := observer.Snapshot().Backends[0].Cost.Heartbeats; ; {
				s := must.Have(sub.Next(b.Context()))(b)
				if n := s.Backends[0].Cost.Heartbeats; n != was {
					return counter(), float64(n), time.Now()
				}
			}
		}
		before, beatsBefore, from := report()
		cpu := processTime()
		time.Sleep(atRest) // the measured span
		after, beats, to := report()
		span := to.Sub(from).Seconds()
		b.ReportMetric((after-1-before-beats+beatsBefore)/span-others, "requests/s")
		b.ReportMetric((beats-beatsBefore)/span, "heartbeats/s")
		b.ReportMetric(100*(processTime()-cpu).Seconds()/span, "core-%")
		sub.Close()
		end()
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
	conn := must.Have(net.Dial("tcp", addr))(b)
	defer conn.Close()
	must.Have(io.WriteString(conn, "srvr"))(b)
	return counterIn(b, conn, "Received: ")
}

// redisCommands reads total_commands_processed from INFO.
func redisCommands(b *testing.B, client *redis.Client) float64 {
	info := must.Have(client.Info(b.Context(), "stats").Result())(b)
	return counterIn(b, strings.NewReader(info), "total_commands_processed:")
}

func counterIn(b *testing.B, r io.Reader, name string) float64 {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name); ok {
			return must.Have(strconv.ParseFloat(strings.TrimSpace(value), 64))(b)
		}
	}
	b.Fatalf("no %q in the server's answer", name)
	return 0
}
