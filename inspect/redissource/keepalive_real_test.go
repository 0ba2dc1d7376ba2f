package redissource_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockscope/internal/servertest"
)

// A server that stands still for longer than the time limit, as for a long command, keeps its tracking
// connection: nothing is read again, and what changed right after it comes as a push.
func TestAServerThatIsLateIsNotReadAgain(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c, ctx := client(t, m), context.Background()
	for i := range 100 {
		set(t, m, fmt.Sprintf("lock:%d", i), "x", 0)
	}
	cfg := pushConfig(m)
	cfg.Timeout = 3 * time.Second
	v, _ := watch(t, cfg)
	awaitPush(v)
	v.Await("100 locks", func() bool { return len(v.Locks) == 100 })
	before := commands(t, m)
	for read := -1; read != before["getrange"]; before = commands(t, m) { // the last of the first look
		read = before["getrange"]
		time.Sleep(500 * time.Millisecond) // a reading takes a round trip, and has no end that could be awaited
	}
	start := time.Now()
	m.Pause(t)
	time.Sleep(3300 * time.Millisecond) // longer than the limit: a ping was sent before 1.5 s, and is not asked after elsewhere before 3
	m.Resume(t)
	stood := time.Since(start)
	if err := c.Set(ctx, "lock:1", "y", 0).Err(); err != nil {
		t.Fatal(err)
	}
	v.Await("the change", holder(v, "lock:1", "y"))
	after := commands(t, m)
	if after["client|tracking"] != before["client|tracking"] {
		t.Errorf("%d tracking connections for one, after %v", after["client|tracking"], stood)
	}
	if read := after["getrange"] - before["getrange"]; read > 5 && stood < 5*time.Second {
		t.Errorf("%d keys were read after %v", read, stood)
	}
}

// deaf is a way to a server; on the tracking connection nothing comes back any more once it is told so, and
// no connection ends.
type deaf struct {
	*servertest.Redis
	silent atomic.Bool
}

func newDeaf(t *testing.T, m *servertest.Redis) *deaf {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &deaf{Redis: &servertest.Redis{Addr: l.Addr().String(), Real: true}}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", m.Addr)
			if err != nil {
				near.Close()
				continue
			}
			var tracking atomic.Bool
			open.Go(func() {
				defer far.Close()
				passOn(far, near, func(request []byte) bool {
					if bytes.Contains(bytes.ToLower(request), []byte("tracking")) {
						tracking.Store(!d.silent.Load()) // the next one is heard
					}
					return true
				})
			})
			open.Go(func() {
				defer near.Close()
				passOn(near, far, func([]byte) bool { return !tracking.Load() || !d.silent.Load() })
			})
		}
	})
	return d
}

// passOn writes what it reads and what may pass.
func passOn(to io.Writer, from io.Reader, may func([]byte) bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !may(buffer[:n]) {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A connection that was forgotten on its way, while the server answers on others, is made anew; what was
// missed is found.
func TestATrackingConnectionThatIsLostWithoutAWordIsMadeAnew(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	d := newDeaf(t, m)
	v, _ := watch(t, pushConfig(d.Redis))
	awaitPush(v)
	set(t, m, "lock:a", "0", 0)
	v.Await("pushed", holder(v, "lock:a", "0"))
	d.silent.Store(true)
	set(t, m, "lock:a", strconv.Itoa(1), 0)
	start := time.Now()
	v.Await("what was missed", holder(v, "lock:a", "1"))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("after %v", took)
	}
	set(t, m, "lock:a", "2", 0)
	v.Await("pushed again", holder(v, "lock:a", "2"))
}
