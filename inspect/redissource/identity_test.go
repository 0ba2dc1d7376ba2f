package redissource_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// namedClient opens a named connection to a master and returns its local address.
func namedClient(t *testing.T, m *servertest.Redis, name, local string) string {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	conn := must.Have(dialer.DialContext(t.Context(), "tcp", m.Addr))(t)
	t.Cleanup(func() { conn.Close() })
	must.Have(conn.Write([]byte("CLIENT SETNAME " + name + "\r\n")))(t)
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if reply, err := bufio.NewReader(conn).ReadString('\n'); err != nil || reply != "+OK\r\n" {
		t.Fatalf("%q, %v", reply, err)
	}
	return conn.LocalAddr().String()
}

// clientOf is the client address of a lock's only holder.
func clientOf(t *testing.T, l *inspect.Lock) string {
	t.Helper()
	if l == nil || len(l.Holders) != 1 {
		t.Fatalf("not held: %+v", l)
	}
	return l.Holders[0].Owner.Client
}

func TestConnectionNameIdentifiesTheHolder(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		m, key := masters[0], "lock:"+servertest.UniqueName(t)
		cfg := config(masters)
		cfg.Only = key
		set(t, m, key, key, time.Minute)
		v := once(t, cfg)
		must.Equal(t, clientOf(t, v.Locks[key]), "", "without a connection of that name")
		if !m.Real {
			if len(v.Backend.Unseen) != 0 || v.Backend.State != inspect.Connected {
				t.Errorf("a server without CLIENT LIST: %+v", v.Backend)
			}
			return
		}
		addr := namedClient(t, m, key, "127.0.0.1")
		must.Equal(t, clientOf(t, once(t, cfg).Locks[key]), addr, "one connection")
		namedClient(t, m, key, "127.0.0.1")
		must.Equal(t, clientOf(t, once(t, cfg).Locks[key]), "127.0.0.1", "two connections")
	})
}

func TestNameOnTwoHostsIsAmbiguous(t *testing.T) {
	t.Parallel()
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has no second loopback address: %v", err)
	}
	socket.Close()
	m := servertest.StartRedis(t, "--protected-mode", "no") // to accept connections from 127.0.0.2
	set(t, m, "lock:a", "worker-17", 0)
	cfg := config([]*servertest.Redis{m})
	addr := namedClient(t, m, "worker-17", "127.0.0.2")
	must.Equal(t, clientOf(t, once(t, cfg).Locks["lock:a"]), addr, "one host")
	namedClient(t, m, "worker-17", "127.0.0.1")
	must.Equal(t, clientOf(t, once(t, cfg).Locks["lock:a"]), "", "two hosts")
}

func TestRedisPyConnectionNameIdentifiesHolder(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := client(t, m)
	v, _ := watch(t, config([]*servertest.Redis{m}))
	servertest.StartRedisPy(t, m.Addr, "lock:a", "worker-17").Expect(t, "acquired")
	v.Await("held", state(v, "lock:a", inspect.StateHeld))
	list := must.Have(c.ClientList(context.Background()).Result())(t)
	before, _, _ := strings.Cut(list, " name=worker-17 ")
	_, after, _ := strings.Cut(before[strings.LastIndex(before, "\n")+1:], " addr=")
	addr, _, _ := strings.Cut(after, " ")
	v.Await("the client's address", func() bool { return v.Locks["lock:a"].Holders[0].Owner.Client == addr && addr != "" })
}

func TestDeniedClientListShowsNoClients(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "worker-17", 0)
	namedClient(t, m, "worker-17", "127.0.0.1")
	c, ctx := client(t, m), context.Background()
	must.Succeed(t, c.Do(ctx, "acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all", "-client|list").Err())
	cfg := config([]*servertest.Redis{m})
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	v := once(t, cfg)
	must.Equal(t, clientOf(t, v.Locks["lock:a"]), "")
	if log := c.Do(ctx, "acl", "log").Val(); !strings.Contains(fmt.Sprint(log), "client|list") {
		t.Errorf("CLIENT LIST was not tried: %v", log)
	}
	if v.Backend.State != inspect.Connected || v.Backend.Error != "" || len(v.Backend.Unseen) != 1 || v.Backend.Unseen[0].Right != "+client|list" {
		t.Errorf("%+v", v.Backend)
	}
}

// The server blocks while it builds the list.
func TestLongClientListIsNotRequested(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "worker-17", 0)
	addr := namedClient(t, m, "worker-17", "127.0.0.1")
	cfg := config([]*servertest.Redis{m})
	must.Equal(t, clientOf(t, once(t, cfg).Locks["lock:a"]), addr, "a few clients")
	before := commands(t, m)["client|list"]
	for range 1001 {
		namedClient(t, m, "somebody", "127.0.0.1")
	}
	if got := clientOf(t, once(t, cfg).Locks["lock:a"]); got != "" || commands(t, m)["client|list"] != before {
		t.Errorf("many clients: %q", got)
	}
}
