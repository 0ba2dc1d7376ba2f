package wild

import (
	"context"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// servers are the servers for the cases.
type servers struct {
	redis []*servertest.Redis
	zk    *servertest.ZooKeeper
}

// play writes a case's data and returns its targets. The clients stay connected until the test
// ends.
func (s servers) play(t *testing.T, r report) (targets []string) {
	t.Helper()
	for _, words := range r.Redis {
		s.command(t, r, words)
	}
	if len(r.Redis) > 0 {
		var addrs []string
		for _, m := range s.redis[:r.Masters] {
			addrs = append(addrs, m.Addr)
			client := m.Client(t)
			t.Cleanup(func() { client.FlushAll(context.Background()) })
		}
		targets = append(targets, front(t, r.Through, addrs)+r.Target)
	}
	if len(r.ZooKeeper) > 0 {
		p := player{t: t, addr: s.zk.Addr, sessions: map[string]*zk.Conn{}}
		for _, step := range r.ZooKeeper {
			p.do(step)
		}
		targets = append(targets, "zk://"+s.zk.Addr+"?admin="+s.zk.Admin)
	}
	return targets
}

// front returns the target, directly or through a proxy in front of the servers.
func front(t *testing.T, through string, addrs []string) (url string) {
	t.Helper()
	switch through {
	case "balancer":
		return "redis://" + servertest.StartBalancer(t, func(n int) string { return addrs[n%len(addrs)] })
	case "twemproxy":
		return "redis://" + servertest.StartTwemproxy(t, addrs[0])
	case "sentinel":
		return "redis+sentinel://" + servertest.StartFakeSentinel(t, addrs[0]) + "/orders"
	case "cluster":
		return "redis+cluster://" + addrs[0]
	case "":
		return "redis://" + strings.Join(addrs, ",")
	}
	t.Fatalf("unknown proxy %q", through)
	return ""
}

// command runs a command on the first master, or on the one whose number comes first.
func (s servers) command(t *testing.T, r report, words []string) {
	t.Helper()
	master := s.redis[0]
	if n, err := strconv.Atoi(words[0]); err == nil {
		master, words = s.redis[n-1], words[1:]
	}
	var client redis.UniversalClient = master.Client(t)
	if r.Through == "cluster" {
		cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{master.Addr}})
		t.Cleanup(func() { cluster.Close() })
		client = cluster
	}
	filled := make([]any, len(words))
	for i, w := range words {
		filled[i] = fill(t, w, nil)
	}
	var err error
	if words[0] == "SUBSCRIBE" {
		listening := client.Subscribe(t.Context(), words[1])
		t.Cleanup(func() { listening.Close() })
		_, err = listening.Receive(t.Context())
	} else {
		err = client.Do(t.Context(), filled...).Err()
	}
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
}

// player plays the steps of ZooKeeper sessions. The unnamed session owns nothing.
type player struct {
	t        *testing.T
	addr     string
	sessions map[string]*zk.Conn
}

func (p *player) session(name string) *zk.Conn {
	if p.sessions[name] == nil {
		c := servertest.ConnectZooKeeper(p.t, p.addr, time.Minute)
		_, _, err := c.Exists("/") // wait for its id
		must.Succeed(p.t, err)
		p.sessions[name] = c
	}
	return p.sessions[name]
}

func (p *player) do(s step) {
	p.t.Helper()
	operator, c, all := p.session(""), p.session(s.Session), zk.WorldACL(zk.PermAll)
	text := func(s string) string {
		return fill(p.t, s, func(name string) int64 { return p.session(name).SessionID() })
	}
	name, data := text(s.Create+s.Watch+s.Delete), []byte(text(s.Data))
	if s.Create != "" && s.Create != "/" {
		p.do(step{Create: path.Dir(s.Create)})
	}
	var err error
	switch {
	case s.Close:
		c.Close()
	case s.Watch != "":
		_, _, _, err = c.ExistsW(name)
	case s.Delete != "":
		err = c.Delete(name, -1)
	case s.Container:
		name, err = c.CreateContainer(name, data, zk.FlagContainer, all)
	default:
		flags := int32(zk.FlagPersistent)
		if s.Session != "" && !s.Persistent {
			flags = zk.FlagEphemeral
		}
		if s.Sequential {
			flags |= zk.FlagSequence
		}
		name, err = c.Create(name, data, flags, all)
	}
	if err == zk.ErrNodeExists && s.Session == "" {
		return // a directory
	}
	if err != nil {
		p.t.Fatalf("%+v: %v", s, err)
	}
	if s.Create != "" {
		p.t.Cleanup(func() { _ = operator.Delete(name, -1) }) // its children were created later and are already deleted
	}
}
