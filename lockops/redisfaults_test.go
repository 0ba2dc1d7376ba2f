package lockops_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
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
	t.Parallel()
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
