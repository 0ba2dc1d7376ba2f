package lockops_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// cutter is a proxy in front of a Redis server. Once armed, it forges the reply to the next script.
type cutter struct {
	listener net.Listener
	armed    atomic.Pointer[forgery]
	work     sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

// forgery replaces the reply to a script; an empty reply cuts the connection.
type forgery struct {
	reply string
	runs  bool // the server still runs the script
	again bool // also replace the replies to all later scripts
}

func startCutter(t testing.TB, server string) *cutter {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &cutter{listener: l}
	p.work.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			var pending atomic.Pointer[forgery]
			p.work.Go(func() { p.requests(client, server, &pending) })
			p.work.Go(func() { replies(server, client, &pending) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.work.Wait()
	})
	return p
}

func (p *cutter) requests(client, server net.Conn, pending *atomic.Pointer[forgery]) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := client.Read(buf)
		if f := p.armed.Load(); f != nil && bytes.Contains(buf[:n], []byte("evalsha")) && (f.again || p.armed.CompareAndSwap(f, nil)) {
			if f.reply != "" && !f.runs {
				_, _ = io.WriteString(client, f.reply)
				continue
			}
			pending.Store(f)
		}
		if _, werr := server.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func replies(server, client net.Conn, pending *atomic.Pointer[forgery]) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := server.Read(buf)
		if f := pending.Swap(nil); f != nil {
			if f.reply == "" {
				return
			}
			n = copy(buf, f.reply)
		}
		if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Acquiring and releasing succeed even if the connection breaks before the reply arrives.
func TestR4_LostReplyIsNotALockout(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		p := startCutter(t, masters[0].Addr)
		s := must.Have(lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{p.listener.Addr().String()}}}))(t)
		defer s.Close()
		m := lockops.NewRedisMutex(s, key, lockops.WithTTL(time.Hour))
		release(t, acquire(t, m)) // loads the scripts
		p.armed.Store(&forgery{})
		h := must.Have(m.TryAcquire(within(t)))(t)
		newest := get(t, redisClient(t, masters[0]), recipe.FenceKey(key))
		if token, ok := h.Token(); !ok || strconv.FormatUint(token, 10) != newest {
			t.Errorf("token %d, %v; the server has %s", token, ok, newest)
		}
		p.armed.Store(&forgery{})
		release(t, h)
		must.Equal(t, get(t, redisClient(t, masters[0]), key), "", "value left at the key")
	})
}

// When the master hangs, the hold ends before its deadline, without an answer from any server.
func TestRenewalLossWithoutServer(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	h := acquire(t, lockops.NewRedisMutex(s, "lock", lockops.WithTTL(2*time.Second), lockops.WithMasterLimit(50*time.Millisecond)))
	m.Pause(t)
	defer m.Resume(t)
	lostWithin(t, h, 60*time.Second) // waiting for the server would take forever
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	must.True(t, h.Release(ctx) != nil, "release of a lost lock succeeded")
}
