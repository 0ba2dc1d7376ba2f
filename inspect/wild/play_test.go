package wild

import (
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/servertest"
)

// servers that cases are played into.
type servers struct {
	redis []*servertest.Redis
	zk    *servertest.ZooKeeper
}

// play writes a case's data and returns the targets to look at. What is connected stays so until the test ends.
func (s servers) play(t *testing.T, r report) (targets []string) {
	t.Helper()
	for _, words := range r.Redis {
		s.command(t, words)
	}
	if len(r.Redis) > 0 {
		var addrs []string
		for _, m := range s.redis[:r.Masters] {
			addrs = append(addrs, m.Addr)
		}
		targets = append(targets, "redis://"+strings.Join(addrs, ",")+r.Target)
	}
	if len(r.ZooKeeper) > 0 {
		p := s.player(t)
		for _, step := range r.ZooKeeper {
			p.do(step)
		}
		targets = append(targets, "zk://"+s.zk.Addr+"?admin="+s.zk.Admin)
	}
	return targets
}

// command runs one on the first master, or on that whose number comes first.
func (s servers) command(t *testing.T, words []string) {
	t.Helper()
	master := s.redis[0]
	if n, err := strconv.Atoi(words[0]); err == nil {
		master, words = s.redis[n-1], words[1:]
	}
	client, filled := master.Client(t), make([]any, len(words))
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

// player plays the steps of ZooKeeper sessions; that without a name owns nothing.
type player struct {
	t        *testing.T
	addr     string
	sessions map[string]*zk.Conn
}

func (s servers) player(t *testing.T) *player {
	return &player{t: t, addr: s.zk.Addr, sessions: map[string]*zk.Conn{}}
}

func (p *player) session(name string) *zk.Conn {
	if p.sessions[name] == nil {
		c, _, err := zk.Connect([]string{p.addr}, 20*time.Second, zk.WithLogInfo(false))
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(c.Close)
		if _, _, err := c.Exists("/"); err != nil { // it has an id then
			p.t.Fatal(err)
		}
		p.sessions[name] = c
	}
	return p.sessions[name]
}

func (p *player) do(s step) {
	p.t.Helper()
	c, all := p.session(s.Session), zk.WorldACL(zk.PermAll)
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
		_, err = c.CreateContainer(name, data, zk.FlagContainer, all)
	default:
		flags := int32(zk.FlagPersistent)
		if s.Session != "" && !s.Persistent {
			flags = zk.FlagEphemeral
		}
		if s.Sequential {
			flags |= zk.FlagSequence
		}
		if _, err = c.Create(name, data, flags, all); err == zk.ErrNodeExists && s.Session == "" {
			err = nil
		}
	}
	if err != nil {
		p.t.Fatalf("%+v: %v", s, err)
	}
}

// clear empties the servers for the next case.
func (s servers) clear(t *testing.T) {
	t.Helper()
	for _, m := range s.redis {
		if err := m.Client(t).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.player(t).clear("/")
}

func (p *player) clear(dir string) {
	p.t.Helper()
	children, _, err := p.session("").Children(dir)
	if err != nil {
		p.t.Fatalf("%s: %v", dir, err)
	}
	for _, child := range children {
		name := path.Join(dir, child)
		if name == "/zookeeper" {
			continue
		}
		p.clear(name)
		if err := p.session("").Delete(name, -1); err != nil {
			p.t.Fatalf("%s: %v", name, err)
		}
	}
}
