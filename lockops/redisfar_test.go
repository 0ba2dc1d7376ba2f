package lockops_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// farLink is a slow link to Redis servers, on which connecting is even slower.
type farLink struct {
	trip, connect time.Duration
	wires         map[string]*servertest.Wire // by server address
	options       []*redis.UniversalOptions
}

func farAway(t testing.TB, trip, connect time.Duration, addrs ...string) *farLink {
	l := &farLink{trip: trip, connect: connect, wires: make(map[string]*servertest.Wire)}
	for _, addr := range addrs {
		l.wires[addr] = servertest.StartWire(t, addr)
		l.wires[addr].Delay(trip / 2)
		l.options = append(l.options, &redis.UniversalOptions{Addrs: []string{addr}, Dialer: l.dial})
	}
	return l
}

func (l *farLink) dial(_ context.Context, network, addr string) (net.Conn, error) {
	time.Sleep(l.connect + l.trip) // DNS, a tunnel and TCP
	w := l.wires[addr]
	if w == nil {
		return nil, fmt.Errorf("no link to %s", addr)
	}
	return net.Dial(network, w.Addr())
}

// cut resets all connections.
func (l *farLink) cut() {
	for _, w := range l.wires {
		w.Reset()
	}
}

func (l *farLink) session(t testing.TB) *lockops.RedisSession {
	s, err := lockops.NewRedisSession(within(t), l.options)
	if err != nil {
		t.Errorf("round trip %v, connecting in %v: %v", l.trip, l.connect, err)
		return nil
	}
	t.Cleanup(s.Close)
	return s
}

// Locks work over slow links. If the TTL is too short for a link, the error at once names one that
// would do.
func TestLocksWorkOverSlowLinks(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	var all sync.WaitGroup
	for _, kind := range redisKinds {
		for _, link := range []struct{ trip, connect, ttl time.Duration }{
			{0, 600 * time.Millisecond, time.Second},
			{80 * time.Millisecond, 0, time.Second},
			{150 * time.Millisecond, 50 * time.Millisecond, renewedTTL},
			{300 * time.Millisecond, 600 * time.Millisecond, time.Second}, // too short
			{300 * time.Millisecond, 600 * time.Millisecond, 30 * time.Second},
		} {
			l, ttl := farAway(t, link.trip, link.connect, addrsOf(mastersOf(kind, masters))...), link.ttl
			all.Go(func() {
				s, other := l.session(t), l.session(t)
				if s == nil || other == nil {
					return
				}
				f := &farCase{
					T: t, name: fmt.Sprintf("%s, %v, connecting in %v, TTL %v", kind.Name, l.trip, l.connect, ttl),
					link: l, ttl: ttl, renewed: make(chan struct{}, 1),
				}
				key := servertest.UniqueName(t)
				f.mine = lockOf(t, kind, s, key, lockops.WithTTL(ttl), lockops.OnRenew(func(time.Time) {
					select {
					case f.renewed <- struct{}{}:
					default:
					}
				}))
				f.theirs = lockOf(t, kind, other, key, lockops.WithTTL(ttl))
				f.run()
			})
		}
	}
	all.Wait()
}

// farCase is one lock over one link.
type farCase struct {
	*testing.T
	name         string
	link         *farLink
	ttl          time.Duration
	mine, theirs lockops.Locker
	renewed      chan struct{}
}

// step bounds each call: connecting and a few round trips on a busy machine.
const step = 40 * time.Second

// renewedTTL is the TTL of locks whose renewal is awaited, long enough for a busy machine.
const renewedTTL = 15 * time.Second

func (f *farCase) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), step)
}

func (f *farCase) fails(what string, err error) bool {
	if err != nil {
		f.Errorf("%s: %s: %v", f.name, what, err)
	}
	return err != nil
}

// excused returns nil for errors that a short TTL can cause, and err otherwise.
func (f *farCase) excused(err error) error {
	for _, lost := range []error{lockops.ErrLost, lockops.ErrUnknownRelease, lockops.ErrNoQuorum} {
		if f.ttl <= time.Second && errors.Is(err, lost) {
			return nil
		}
	}
	if f.ttl < 8*f.link.trip && errors.Is(err, lockops.ErrTooShort) { // a busy machine doubles the round trip
		return nil
	}
	return err
}

func (f *farCase) run() {
	if f.ttl < 4*f.link.trip {
		f.refused()
		return
	}
	h := f.acquire("Acquire", f.mine.Acquire)
	if h == nil {
		return
	}
	f.extend(h)
	if f.ttl == renewedTTL {
		select {
		case <-f.renewed:
		case <-h.Context().Done():
			f.fails("renewal", context.Cause(h.Context()))
		case <-time.After(step):
			f.Errorf("%s: not renewed within %v", f.name, step)
		}
	}
	f.handsOver(h)
	f.link.cut()
	if h := f.acquire("Acquire after a lost connection", f.mine.Acquire); h != nil {
		f.link.cut()
		f.release(h)
	}
	f.link.cut()
	try := func(ctx context.Context) (*lockops.Hold, error) {
		h, err := f.mine.TryAcquire(ctx)
		for tooLate(err) && ctx.Err() == nil {
			h, err = f.mine.TryAcquire(ctx)
		}
		return h, err
	}
	if h := f.acquire("TryAcquire after a lost connection", try); h != nil {
		f.release(h)
	}
}

// tooLate reports whether a busy machine can cause the error: a late connection reset, or an answer
// after the time limit.
func tooLate(err error) bool {
	var late net.Error
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, lockops.ErrNoQuorum) || errors.As(err, &late) && late.Timeout()
}

func (f *farCase) extend(h *lockops.Hold) {
	ctx, cancel := f.ctx()
	defer cancel()
	err := h.Extend(ctx)
	for tooLate(err) && ctx.Err() == nil && h.Context().Err() == nil {
		err = h.Extend(ctx)
	}
	f.fails("Extend", f.excused(err))
}

func (f *farCase) refused() {
	type asks = func(context.Context) (*lockops.Hold, error)
	for what, do := range map[string]asks{"Acquire": f.mine.Acquire, "TryAcquire": f.mine.TryAcquire} {
		ctx, cancel := f.ctx()
		_, err := do(ctx)
		cancel()
		if !errors.Is(err, lockops.ErrTooShort) || !strings.Contains(err.Error(), "would do") {
			f.Errorf("%s: %s: %v, want ErrTooShort", f.name, what, err)
		}
	}
}

func (f *farCase) acquire(what string, do func(context.Context) (*lockops.Hold, error)) *lockops.Hold {
	ctx, cancel := f.ctx()
	defer cancel()
	h, err := do(ctx)
	if f.fails(what, f.excused(err)) {
		return nil
	}
	return h
}

func (f *farCase) release(h *lockops.Hold) {
	ctx, cancel := f.ctx()
	defer cancel()
	f.fails("Release", f.excused(h.Release(ctx)))
}

// handsOver releases a hold while another session waits for it.
func (f *farCase) handsOver(h *lockops.Hold) {
	next := make(chan *lockops.Hold, 1)
	go func() { next <- f.acquire("Acquire of a waiter", f.theirs.Acquire) }()
	select { // the waiter may not have queued yet; both must work
	case h := <-next:
		if h != nil && f.ttl > time.Second {
			f.Errorf("%s: two holders at once", f.name)
		}
		next <- h
	case <-time.After(2 * f.link.trip):
	}
	f.release(h)
	if h := <-next; h != nil {
		f.release(h)
	}
}

// Every connection type can acquire, extend and release a lock, even after a lost connection.
func TestEveryConnectionTypeToleratesSlowLinks(t *testing.T) {
	t.Parallel()
	const trip, connect = 80 * time.Millisecond, 150 * time.Millisecond
	certificates := servertest.NewCertificates(t)
	_, secure := servertest.StartRedisTLS(t, certificates)
	overTLS := farAway(t, trip, connect, secure)
	config := certificates.Client(t)
	config.ServerName = "127.0.0.1"
	overTLS.options[0].Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := overTLS.dial(ctx, network, addr)
		return tls.Client(conn, config), err
	}
	sentinel, master, _ := servertest.StartRedisSentinel(t)
	bySentinel := farAway(t, trip, connect, sentinel, master.Addr)
	bySentinel.options = bySentinel.options[:1]
	bySentinel.options[0].MasterName = servertest.SentinelMaster
	var nodes []string
	for _, n := range servertest.StartRedisCluster(t, 3) {
		nodes = append(nodes, n.Addr)
	}
	cluster := farAway(t, trip, connect, nodes...)
	cluster.options = cluster.options[:1]
	cluster.options[0].Addrs = nodes
	for name, l := range map[string]*farLink{"TLS": overTLS, "Sentinel": bySentinel, "Cluster": cluster} {
		s := l.session(t)
		if s == nil {
			continue
		}
		for _, kind := range redisKinds[:2] {
			f := &farCase{T: t, name: name + ", " + kind.Name, link: l, ttl: 30 * time.Second}
			f.mine = lockOf(t, kind, s, servertest.UniqueName(t))
			for range 2 {
				h := f.acquire("Acquire", f.mine.Acquire)
				if h == nil {
					continue
				}
				f.extend(h)
				l.cut()
				f.release(h)
			}
		}
	}
}
