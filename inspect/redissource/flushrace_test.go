package redissource_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// gated is a way to a server: readings of keys wait at it while it is shut, and the push of a flush comes late.
type gated struct {
	*servertest.Redis
	shut    atomic.Pointer[chan struct{}] // closed when readings may go on; nil while it is open
	waiting chan struct{}
	mute    chan struct{} // closed at the end
	silent  atomic.Bool   // nothing comes over the tracking connection until then
	late    time.Duration
}

func newGated(t *testing.T, m *servertest.Redis) *gated {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &gated{Redis: &servertest.Redis{Addr: l.Addr().String(), Real: true}, waiting: make(chan struct{}, 1), mute: make(chan struct{}), late: 10 * time.Millisecond}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	t.Cleanup(func() { close(d.mute) })
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
					d.request(request, &tracking)
					return true
				})
			})
			open.Go(func() {
				defer near.Close()
				passOn(near, far, func(answer []byte) bool {
					switch {
					case !tracking.Load():
					case d.silent.Load():
						<-d.mute
					case bytes.Contains(answer, []byte("invalidate\r\n_\r\n")):
						time.Sleep(d.late) // what comes after it stays behind it
					}
					return true
				})
			})
		}
	})
	return d
}

func (d *gated) request(request []byte, tracking *atomic.Bool) {
	if bytes.Contains(bytes.ToLower(request), []byte("tracking")) {
		tracking.Store(true)
	}
	if shut := d.shut.Load(); shut != nil && bytes.Contains(request, []byte("lock:a")) {
		select {
		case d.waiting <- struct{}{}:
		default:
		}
		<-*shut
	}
}

// TestAFlushIsToldWhereAReadingShowsItFirst has a key renewed, and gone when it is read for that. Where a flush was it, its push comes later
// than that answer; where nothing comes, the news do not wait for it, and how it ended is unknown.
func TestAFlushIsToldWhereAReadingShowsItFirst(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	d, c, ctx := newGated(t, m), client(t, m), context.Background()
	cfg := pushConfig(d.Redis)
	cfg.Timeout = 20 * time.Second // so long a connection is not silent
	v, _ := watch(t, cfg)
	awaitPush(v)
	round := func(mute bool, end ...any) (vote inspect.Vote) {
		t.Helper()
		set(t, m, "lock:a", "x", time.Hour)
		v.Await("held", state(v, "lock:a", inspect.StateHeld))
		shut := make(chan struct{})
		d.shut.Store(&shut)
		if err := c.PExpire(ctx, "lock:a", 2*time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		<-d.waiting
		if err := c.Do(ctx, end...).Err(); err != nil {
			t.Fatal(err)
		}
		d.silent.Store(mute)
		d.shut.Store(nil)
		close(shut)
		v.Await("gone", func() bool {
			if !state(v, "lock:a", inspect.StateFree)() {
				return false
			}
			vote = v.Locks["lock:a"].Masters[0]
			return true
		})
		return vote
	}
	before, plain := commands(t, m)["ping"], 0
	for n := 0; n < 20 && plain < 3; n++ { // on a machine that is too busy the answer of a ping may come too late
		vote := round(false, "del", "lock:a")
		if vote.Flushed {
			t.Errorf("deleted: %+v", vote)
		}
		if !vote.Evicted {
			plain++
		}
	}
	if pings := commands(t, m)["ping"] - before; plain < 3 || pings < 3 {
		t.Errorf("%d of 20 are told as deleted, and waited for %d pings", plain, pings)
	}
	for range 5 {
		if vote := round(false, "flushall"); !vote.Flushed && !vote.Evicted {
			t.Errorf("flushed: %+v", vote)
		}
	}
	start := time.Now()
	vote := round(true, "del", "lock:a")
	if took := time.Since(start); vote.Flushed || !vote.Evicted || took > 8*time.Second {
		t.Errorf("after %v of a connection that is silent: %+v", took, vote)
	}
}
