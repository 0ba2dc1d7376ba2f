package lockops_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// farLink is a slow link to Redis servers, on which connecting is even slower.
type farLink struct {
	trip, connect time.Duration
	wires         map[string]*servertest.Wire // by server address
	options       masterOptions
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
	t.Helper()
	return redisSessionWith(t, l.options)
}

// Locks work over slow links. If the TTL is too short for a link, the error at once names one that
// would do.
func TestLocksWorkOverSlowLinks(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	const ms = time.Millisecond
	for _, kind := range redisKinds {
		for _, link := range []struct{ trip, connect, ttl time.Duration }{
			{0, 600 * ms, time.Second},
			{80 * ms, 0, time.Second},
			{150 * ms, 50 * ms, renewedTTL},
			{300 * ms, 600 * ms, time.Second}, // too short
			{300 * ms, 600 * ms, 30 * time.Second},
		} {
			name := fmt.Sprintf("%s, %v, connecting in %v, TTL %v", kind.Name, link.trip, link.connect, link.ttl)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := farAway(t, link.trip, link.connect, addrsOf(mastersOf(kind, masters))...)
				f := &farCase{T: t, name: name, link: l, ttl: link.ttl, renewed: make(chan struct{}, 1)}
				key, ttl := servertest.UniqueName(t), lockops.WithTTL(link.ttl)
				f.mine = must.Have(kind.New(l.session(t), key, ttl, lockops.OnRenew(func(time.Time) {
					select {
					case f.renewed <- struct{}{}:
					default:
					}
				})))(t)
				f.theirs = must.Have(kind.New(l.session(t), key, ttl))(t)
				f.run()
			})
		}
	}
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

// renewedTTL is the TTL of locks whose renewal is awaited, long enough for a busy machine.
const renewedTTL = 15 * time.Second

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
		case <-time.After(hangs):
			f.Errorf("%s: not renewed within %v", f.name, hangs)
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
	ctx := within(f)
	err := h.Extend(ctx)
	for tooLate(err) && ctx.Err() == nil && h.Context().Err() == nil {
		err = h.Extend(ctx)
	}
	f.fails("Extend", f.excused(err))
}

func (f *farCase) refused() {
	for what, l := range map[string]func(context.Context) (*lockops.Hold, error){
		"Acquire": f.mine.Acquire, "TryAcquire": f.mine.TryAcquire,
	} {
		_, err := l(within(f))
		must.Be(f, err, lockops.ErrTooShort, f.name, what)
		must.True(f, contains(err, "would do"), f.name, what, err)
	}
}

func (f *farCase) acquire(what string, do func(context.Context) (*lockops.Hold, error)) *lockops.Hold {
	h, err := do(within(f))
	if f.fails(what, f.excused(err)) {
		return nil
	}
	return h
}

func (f *farCase) release(h *lockops.Hold) { f.fails("Release", f.excused(h.Release(within(f)))) }

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
	nodes := addrsOf(servertest.StartRedisCluster(t, 3))
	cluster := farAway(t, trip, connect, nodes...)
	cluster.options = cluster.options[:1]
	cluster.options[0].Addrs = nodes
	for name, l := range map[string]*farLink{"TLS": overTLS, "Sentinel": bySentinel, "Cluster": cluster} {
		s := l.session(t)
		for _, kind := range oneRedisKinds {
			f := &farCase{T: t, name: name + ", " + kind.Name, link: l, ttl: 30 * time.Second}
			f.mine = must.Have(kind.New(s, servertest.UniqueName(t)))(t)
			for range 2 {
				if h := f.acquire("Acquire", f.mine.Acquire); h != nil {
					f.extend(h)
					l.cut()
					f.release(h)
				}
			}
		}
	}
}
