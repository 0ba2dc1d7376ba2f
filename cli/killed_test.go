//go:build unix

package cli

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// burden of clients on a ZooKeeper server and a Redis: watches, contenders, clients that are told of changes, clients in all, the lock's key.
type burden struct{ watches, nodes, tracked, clients, keys int }

func burdenOf(t *testing.T, server *servertest.ZooKeeper, master *servertest.Redis) (b burden) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", server.Addr, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "mntr")
	figures := map[string]*int{"zk_watch_count": &b.watches, "zk_ephemerals_count": &b.nodes}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		figure(t, lines.Text(), "\t", figures)
	}
	c := redis.NewClient(&redis.Options{Addr: master.Addr})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	info, err := c.Info(ctx, "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		figure(t, line, ":", map[string]*int{"tracking_clients": &b.tracked, "connected_clients": &b.clients})
	}
	b.clients-- // our own
	b.keys = int(c.Exists(ctx, "lock:a").Val())
	return b
}

// figure reads the number of a line where its name is wanted.
func figure(t *testing.T, line, separator string, wanted map[string]*int) {
	t.Helper()
	name, value, _ := strings.Cut(strings.TrimSpace(line), separator)
	into := wanted[name]
	if into == nil {
		return
	}
	var err error
	if *into, err = strconv.Atoi(value); err != nil {
		t.Fatal(err)
	}
}

// Ten instances cost the servers ten times what one does, and of none that is killed anything stays after the session's timeout and the
// key's TTL.
func TestTenInstancesAndTheirDeath(t *testing.T) {
	t.Parallel()
	// Twelve programs that start at once may hold up heartbeats and renewals for many seconds.
	server, master := servertest.StartZooKeeper(t, "minSessionTimeout=40000"), servertest.StartRedis(t)
	zookeeper, redis := "zk://"+server.Addr, "redis://"+master.Addr
	var running []*exec.Cmd
	begin := func(says string, args ...string) *bufio.Scanner {
		t.Helper()
		cmd, lines := started(t, args...)
		awaitLine(t, lines, says)
		running = append(running, cmd)
		return lines
	}
	sayOnFailure(t, "acquire in ZooKeeper", begin("holding", "acquire", "zk:/a", zookeeper))
	sayOnFailure(t, "acquire in Redis", begin("holding", "acquire", "redis:lock:a", redis, "--ttl", "60s"))
	held := burdenOf(t, server, master)
	begin("watching", "watch", zookeeper, redis) // of a server that answered too late it says so, and goes on
	awaitBurden(t, server, master, "one that watches", func(b burden) bool { return b.watches > held.watches && b.tracked > 0 })
	one := burdenOf(t, server, master)
	for range 9 {
		begin("watching", "watch", zookeeper, redis)
	}
	awaitBurden(t, server, master, "ten that watch", func(b burden) bool {
		return b.watches-held.watches == 10*(one.watches-held.watches) && b.tracked == 10*one.tracked
	})
	begin("serving", "export", zookeeper, redis, "--listen", "127.0.0.1:0")
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	screen := exec.Command(path, zookeeper, redis)
	startInTerminal(t, 120, 30, screen).awaitText("lock:a", "zk:/a")
	running = append(running, screen)
	awaitBurden(t, server, master, "an exporter and a screen besides", func(b burden) bool {
		return b.watches-held.watches >= 12*(one.watches-held.watches) && b.tracked == 12*one.tracked
	})
	for _, cmd := range running {
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	awaitBurden(t, server, master, "nothing", func(b burden) bool { return b == burden{} })
}

// sayOnFailure logs what a program says from now on, if the test fails.
func sayOnFailure(t *testing.T, program string, lines *bufio.Scanner) {
	t.Helper()
	var mu sync.Mutex
	var said []string
	go func() {
		for lines.Scan() {
			mu.Lock()
			said = append(said, lines.Text())
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("%s said %q since it held", program, said)
		}
	})
}

// awaitBurden polls, as servers tell of none of it.
func awaitBurden(t *testing.T, server *servertest.ZooKeeper, master *servertest.Redis, what string, ok func(burden) bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		b := burdenOf(t, server, master)
		if ok(b) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, b)
		}
	}
}
