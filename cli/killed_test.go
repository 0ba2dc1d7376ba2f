//go:build unix

package cli

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// burden of clients on a ZooKeeper server and a Redis: watches, contenders, clients that are told of changes,
// clients in all, the lock's key.
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
