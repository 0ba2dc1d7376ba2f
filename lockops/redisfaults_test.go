package lockops_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// cutter is a proxy in front of a Redis server. Once armed, it forges the reply to the next script.
type cutter struct {
	addr  string
	armed atomic.Pointer[forgery]
}

// forgery replaces the reply to a script; an empty reply cuts the connection.
type forgery struct {
	reply string
	runs  bool // the server still runs the script
	again bool // also replace the replies to all later scripts
}

func startCutter(t testing.TB, server string) *cutter {
	t.Helper()
	p := &cutter{}
	p.addr = servertest.StartLiar(t, server, func(_ int, requests []byte, client io.Writer) bool {
		f := p.armed.Load()
		if f == nil || !bytes.Contains(requests, []byte("evalsha")) || !f.again && !p.armed.CompareAndSwap(f, nil) {
			return false
		}
		if f.runs || f.reply == "" {
			runScript(t, server, requests)
		}
		if f.reply == "" {
			client.(io.Closer).Close()
		}
		_, _ = io.WriteString(client, f.reply)
		return true
	}).Addr
	return p
}

// Acquiring and releasing succeed even if the connection breaks before the reply arrives.
func TestR4_LostReplyIsNotALockout(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		c, p := redisClient(t, masters[0]), startCutter(t, masters[0].Addr)
		m := lockops.NewRedisMutex(redisSessionAt(t, []string{p.addr}), key, lockops.WithTTL(time.Hour))
		release(t, acquire(t, m)) // loads the scripts
		p.armed.Store(&forgery{})
		h := must.Have(m.TryAcquire(within(t)))(t)
		token, _ := h.Token()
		must.Equal(t, strconv.FormatUint(token, 10), get(t, c, recipe.FenceKey(key)), "token")
		p.armed.Store(&forgery{})
		release(t, h)
		must.Equal(t, get(t, c, key), "", "value left at the key")
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
	awaitLoss(t, h) // waiting for the server would take forever
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	must.True(t, h.Release(ctx) != nil, "release of a lost lock succeeded")
}

// runScript sends a request to the server and waits for the reply.
func runScript(t testing.TB, server string, request []byte) {
	conn, err := net.Dial("tcp", server)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_, _ = conn.Write(request)
	_, err = conn.Read(make([]byte, 1))
	must.Be(t, err, nil, "reply to the script")
}

// foreign has replies that our scripts never send, each with its form in error texts.
var foreign = map[string]string{
	":7\r\n": `"7"`, "$0\r\n\r\n": `""`, "+OK\r\n": `"OK"`, "$-1\r\n": `""`, "+\x1b[2J\r\n": `"\x1b[2J"`,
	"$60\r\n" + strings.Repeat("x", 60) + "\r\n": `"` + strings.Repeat("x", 40) + `"`,
}

// An unexpected reply proves neither a renewal nor a release. The renewal fails, and the release is
// retried.
func TestUnexpectedReplyIsNotASuccess(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		for _, kind := range redisKinds {
			name, p, key := kind.Name, startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			addrs := append([]string{p.addr}, addrsOf(mastersOf(kind, masters)[1:])...)
			m := must.Have(kind.New(redisSessionAt(t, addrs), key, lockops.WithTTL(time.Hour)))(t)
			for reply, shown := range foreign {
				h := acquire(t, m)
				if until, _ := h.Deadline(); name != "redlock" { // a Redlock retries
					p.armed.Store(&forgery{reply: reply})
					err := h.Extend(within(t))
					must.True(t, contains(err, p.addr+": it answered "+shown+","), name, reply, "Extend", err)
					must.Be(t, context.Cause(h.Context()), nil, name, reply, "hold")
					after, _ := h.Deadline()
					must.Equal(t, after, until, name, reply, "deadline")
				}
				p.armed.Store(&forgery{reply: reply})
				if err := h.Release(within(t)); err != nil && name != "redlock" { // a Redlock retries only in the background
					t.Errorf("%s, %q: release: %v", name, reply, err)
				}
				must.Become(t, "the key is gone", func() bool { return get(t, c, key) == "" })
			}
		}
	})
}

// An unexpected reply does not prove that the lock was refused either, so a possible key is
// removed.
func TestUnexpectedReplyIsNotARefusal(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		for reply := range foreign {
			p, key := startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			m := lockops.NewRedisMutex(redisSessionAt(t, []string{p.addr}), key, lockops.WithTTL(time.Hour))
			release(t, acquire(t, m)) // loads the scripts
			p.armed.Store(&forgery{reply: reply, runs: true, again: true})
			ctx, cancel := context.WithCancel(within(t))
			got := begin(ctx, m)
			must.Become(t, "the key is set", func() bool { return get(t, c, key) != "" })
			cancel()
			must.True(t, (<-got).err != nil, reply, "Acquire succeeded")
			must.Become(t, "the key is removed", func() bool { return get(t, c, key) == "" })
		}
	})
}
