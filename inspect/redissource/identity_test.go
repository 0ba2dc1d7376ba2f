package redissource_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// namedClient opens a named connection to a master and returns its address.
func namedClient(t *testing.T, m *servertest.Redis, name string) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: m.Addr, ClientName: name, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return must.Have(c.ClientInfo(t.Context()).Result())(t).Addr
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
		cfg := config(masters...)
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
		addr := namedClient(t, m, key)
		must.Equal(t, clientOf(t, once(t, cfg).Locks[key]), addr, "one connection")
		namedClient(t, m, key)
		must.Equal(t, clientOf(t, once(t, cfg).Locks[key]), "127.0.0.1", "two connections")
	})
}

func TestRedisPyConnectionNameIdentifiesHolder(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	v := watch(t, config(m))
	servertest.StartRedisPy(t, m.Addr, "lock:a", "worker-17").Expect(t, "acquired")
	v.Await("held", inState(v, "lock:a", inspect.StateHeld))
	list := must.Have(m.Client(t).ClientList(context.Background()).Result())(t)
	addr := regexp.MustCompile(`addr=(\S+) .* name=worker-17 `).FindStringSubmatch(list)[1]
	v.Await("the client's address", func() bool { return v.Locks["lock:a"].Holders[0].Owner.Client == addr })
}

func TestDeniedClientListShowsNoClients(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "worker-17", 0)
	namedClient(t, m, "worker-17")
	v := once(t, viewed(t, m, "-client|list"))
	must.Equal(t, clientOf(t, v.Locks["lock:a"]), "")
	if log := m.Client(t).Do(t.Context(), "acl", "log").Val(); !strings.Contains(fmt.Sprint(log), "client|list") {
		t.Errorf("CLIENT LIST was not tried: %v", log)
	}
	if v.Backend.State != inspect.Connected || v.Backend.Error != "" || len(v.Backend.Unseen) != 1 || v.Backend.Unseen[0].Right != "+client|list" {
		t.Errorf("%+v", v.Backend)
	}
}
