package servertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"lockscope/internal/zkserver"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) { Main(m) }

func word(t *testing.T, addr, w string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, w)
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEachZooKeeperAnswersAndIsShared(t *testing.T) {
	addrs := map[bool]string{}
	for range 2 {
		EachZooKeeper(t, func(t *testing.T, zk *ZooKeeper) {
			if got := word(t, zk.Addr, "ruok"); got != "imok" {
				t.Errorf("ruok: got %q, want imok", got)
			}
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Get(zk.Admin + "/commands/ruok")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("admin: status %d", resp.StatusCode)
			}
			if was := addrs[zk.Real]; was != "" && was != zk.Addr {
				t.Errorf("real=%v: got another server: %s, before %s", zk.Real, zk.Addr, was)
			}
			addrs[zk.Real] = zk.Addr
		})
	}
}

func TestEachRedisGivesIndependentMasters(t *testing.T) {
	EachRedis(t, 3, func(t *testing.T, masters []*Redis) {
		key := UniqueName(t)
		for i, m := range masters {
			db := redis.NewClient(&redis.Options{Addr: m.Addr})
			defer db.Close()
			if n := db.Exists(t.Context(), key).Val(); n != 0 {
				t.Errorf("master %d has the key of another one", i)
			}
			if err := db.Set(t.Context(), key, i, 50*time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(60 * time.Second); db.Exists(t.Context(), key).Val() != 0; {
				if time.Now().After(deadline) {
					t.Fatalf("master %d: the key did not expire", i)
				}
				time.Sleep(5 * time.Millisecond) // the expiry is the server's own
			}
			db.Set(t.Context(), key, i, time.Minute)
		}
	})
}

func TestRealZooKeeperSurvivesFaults(t *testing.T) {
	zk := StartZooKeeper(t)
	dir := zk.dir
	zk.Pause(t)
	conn, err := net.Dial("tcp", zk.Addr) // the system accepts for it
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "ruok")
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 4)); err == nil {
		t.Errorf("a paused server answered %d bytes", n)
	}
	zk.Resume(t)
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, _ := io.ReadAll(conn); string(text) != "imok" {
		t.Errorf("after Resume: got %q, want imok", text)
	}
	zk.Kill(t)
	if _, err := net.Dial("tcp", zk.Addr); err == nil {
		t.Error("a killed server still listens")
	}
	zk.Restart(t)
	if got := word(t, zk.Addr, "ruok"); got != "imok" {
		t.Errorf("after Restart: got %q, want imok", got)
	}
	zk.end()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory is still there: %v", err)
	}
}

func TestRedisFaults(t *testing.T) {
	for _, kind := range []string{"embedded", "real"} {
		t.Run(kind, func(t *testing.T) {
			var r *Redis
			if kind == "real" {
				r = StartRedis(t, "--databases", "3")
			} else {
				r = StartEmbeddedRedis(t)
			}
			db := redis.NewClient(&redis.Options{Addr: r.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
			defer db.Close()
			if err := db.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if r.Real {
				r.Pause(t)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if err := db.Get(ctx, "k").Err(); err == nil {
					t.Error("a paused server answered")
				}
				r.Resume(t)
				if got := db.Get(t.Context(), "k").Val(); got != "v" {
					t.Errorf("after Resume: got %q, want v", got)
				}
			}
			r.Stop(t)
			if err := db.Ping(t.Context()).Err(); err == nil {
				t.Error("a stopped server answered")
			}
			r.Restart(t)
			if n, err := db.Exists(t.Context(), "k").Result(); n != 0 || err != nil {
				t.Errorf("after Restart: %d keys, %v; want an empty server", n, err)
			}
			r.Kill(t)
			if err := db.Ping(t.Context()).Err(); err == nil {
				t.Error("a killed server answered")
			}
		})
	}
}

func TestEmbeddedZooKeeperOfOnesOwn(t *testing.T) {
	zk := StartEmbeddedZooKeeper(t, zkserver.Config{})
	zk.Stop(t)
	if _, err := net.Dial("tcp", zk.Addr); err == nil {
		t.Error("a stopped server still listens")
	}
}

func TestUniqueNames(t *testing.T) {
	t.Run("odd /name: ü", func(t *testing.T) {
		a, b := UniqueName(t), UniquePath(t)
		if a == b[1:] || strings.ContainsAny(b[1:], "/: ü") || b[0] != '/' {
			t.Errorf("got %q and %q", a, b)
		}
	})
}

func TestRequirePythonFindsTheStandardLibrary(t *testing.T) {
	if RequirePython(t, "json") == "" {
		t.Error("no path")
	}
}

func TestAKilledPeerKeepsItsLockUntilItsSessionEnds(t *testing.T) {
	EachZooKeeper(t, func(t *testing.T, server *ZooKeeper) {
		path := UniquePath(t)
		holder := StartKazoo(t, server.Addr, path, "a")
		holder.Expect(t, "acquired")
		c, _, err := zk.Connect([]string{server.Addr}, 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		holder.Kill()
		if children, _, err := c.Children(path); err != nil || len(children) != 1 {
			t.Errorf("after Kill: %v, %v", children, err)
		}
		holder.Expire(t)
		if children, _, err := c.Children(path); err != nil || len(children) != 0 {
			t.Errorf("after Expire: %v, %v", children, err)
		}
	})
}
