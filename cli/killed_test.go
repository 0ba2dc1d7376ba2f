//go:build unix

package cli

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// killed are programs that hold a lock and wait for it, and are killed.
func killed(t *testing.T, lock, target string, kinds [2]string, more ...string) {
	t.Helper()
	var running []*exec.Cmd
	for i, says := range []string{"holding", "waiting"} {
		cmd, lines := started(t, append([]string{"acquire", lock, target, "--kind", kinds[i]}, more...)...)
		awaitLine(t, lines, says)
		running = append(running, cmd)
	}
	for _, cmd := range running {
		must.Succeed(t, cmd.Process.Signal(syscall.SIGKILL))
	}
}

// Programs that are killed leave nothing in Redis but keys that end on their own.
func TestTheKilledLeaveKeysThatEnd(t *testing.T) {
	t.Parallel()
	one, nodes := servertest.StartRedis(t), servertest.StartRedisCluster(t, 3)
	three := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, k := range []struct {
		kind, scheme string
		masters      []*servertest.Redis
	}{{"fair", "redis://", []*servertest.Redis{one}}, {"redlock", "redis://", three}, {"mutex", "redis+cluster://", nodes}} {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			addrs := each.Of(k.masters, func(m *servertest.Redis) string { return m.Addr })
			killed(t, "redis:lock:a", k.scheme+strings.Join(addrs, ","), [2]string{k.kind, k.kind}, "--ttl", "10s")
			for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // servers do not tell
				left := keysThatEnd(t, k.masters)
				if len(left) == 0 {
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("left behind: %v", left)
				}
			}
		})
	}
}

// keysThatEnd demands that all keys end, and returns those that a lock's end takes away: the newest tokens and
// what is kept of a fair queue have a day and a minute.
func keysThatEnd(t *testing.T, masters []*servertest.Redis) (left []string) {
	t.Helper()
	kept := map[string]time.Duration{"lockscope:fence:": 24 * time.Hour, "lockscope:queue:": time.Minute, "lockscope:alive:": time.Minute}
	for _, m := range masters {
		c := m.Client(t)
		keys := must.Have(c.Keys(t.Context(), "*").Result())(t)
		for _, key := range keys {
			most := 10 * time.Second
			for prefix, longest := range kept {
				if strings.HasPrefix(key, prefix) {
					most = longest
				}
			}
			if most == 10*time.Second {
				left = append(left, key)
			}
			if ends := c.PTTL(t.Context(), key).Val(); ends == -1 || ends > most { // -2: it is gone by now
				t.Errorf("%s ends in %v", key, ends)
			}
		}
	}
	return left
}

// Programs that are killed leave nothing in ZooKeeper once their sessions have ended.
func TestTheKilledLeaveNoNodes(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	for lock, kinds := range map[string][2]string{"zk:/r": {"read", "write"}, "zk:/w": {"write", "write"}, "zk:/s": {"semaphore=1", "semaphore=1"}} {
		killed(t, lock, "zk://"+server.Addr, kinds)
	}
	for limit := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) { // servers do not tell
		left := ephemeralNodes(t, server.Addr)
		if left == "0" {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s nodes are left", left)
		}
	}
}

// ephemeralNodes is how many of them a server has.
func ephemeralNodes(t *testing.T, addr string) string {
	t.Helper()
	conn := must.Have(net.DialTimeout("tcp", addr, time.Minute))(t)
	defer conn.Close()
	fmt.Fprint(conn, "mntr")
	figures, _ := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(figures), "zk_ephemerals_count\t")
	count, _, _ := strings.Cut(rest, "\n")
	return count
}

// Its end closes the pipe that the command has inherited.
func TestTheCommandEndsWithUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a program that its parent has ended")
	}
	server := servertest.StartEmbeddedRedis(t)
	cmd, lines := started(t, "acquire", "redis:lock:a", "redis://"+server.Addr, "--", "sh", "-c", "echo runs >&2; exec sleep 300")
	awaitLine(t, lines, "runs")
	must.Succeed(t, cmd.Process.Kill())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the command still runs 30 s after lockscope was killed")
	}
}
