package lockops_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
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
			retries := kind.On == lockops.OnRedisMasters // a release only in the background
			name, p, key := kind.Name, startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			addrs := append([]string{p.addr}, addrsOf(mastersOf(kind, masters)[1:])...)
			m := must.Have(kind.New(redisSessionAt(t, addrs), key, lockops.WithTTL(time.Hour)))(t)
			for reply, shown := range foreign {
				h := acquire(t, m)
				if until, _ := h.Deadline(); !retries {
					p.armed.Store(&forgery{reply: reply})
					err := h.Extend(within(t))
					must.True(t, contains(err, p.addr+": it answered "+shown+","), name, reply, "Extend", err)
					must.Be(t, context.Cause(h.Context()), nil, name, reply, "hold")
					after, _ := h.Deadline()
					must.Equal(t, after, until, name, reply, "deadline")
				}
				p.armed.Store(&forgery{reply: reply})
				err := h.Release(within(t))
				must.True(t, err == nil || retries, name, reply, "release", err)
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

// hang makes the servers hang, as if their processes were stopped.
func (l *farLink) hang() { l.each(func(w *servertest.Wire) { w.Stop() }) }

func (l *farLink) heal() { l.each((*servertest.Wire).Heal) }

// cut resets all connections.
func (l *farLink) cut() { l.each((*servertest.Wire).Reset) }

func (l *farLink) each(do func(*servertest.Wire)) {
	for _, w := range l.wires {
		do(w)
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
	masters := anyMasters(t)
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
				f := &farCase{T: t, name: name, link: l, ttl: link.ttl, renewed: make(chan struct{}, 10_000)}
				key, ttl := servertest.UniqueName(t), lockops.WithTTL(link.ttl)
				f.mine = must.Have(kind.New(l.session(t), key, ttl, lockops.OnRenew(func(time.Time) { f.renewed <- struct{}{} })))(t)
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
		lockops.Await(f.T, "a renewal", f.renewed)
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

// A user who may not name a connection can use each lock. Without messages, only a fair lock is refused.
func TestRefusedExtras(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, reply, fair string }{
		{"setname", "-NOPERM no name\r\n", ""},
		{"subscribe", "-LOADING not yet\r\n", ""},
		{"subscribe", "-NOPERM no channel\r\n", "NOPERM no channel"},
	} {
		var refused, connected atomic.Bool
		liar := servertest.StartLiar(t, lockops.AnyRedis(t).Addr, func(_ int, requests []byte, client io.Writer) bool {
			if !bytes.Contains(requests, []byte(tt.command+"\r\n")) || refused.Swap(true) {
				return false
			}
			_, _ = io.WriteString(client, tt.reply)
			return true
		})
		o := &redis.UniversalOptions{Addrs: []string{liar.Addr}, ClientName: "mine"}
		o.OnConnect = func(context.Context, *redis.Conn) error { connected.Store(true); return nil }
		s := redisSessionWith(t, masterOptions{o})
		must.True(t, connected.Load(), "the program's OnConnect was not called")
		release(t, acquire(t, lockops.NewRedisMutex(s, "lock")))
		_, err := lockops.NewRedisFairMutex(s, "fair").Acquire(within(t))
		must.True(t, (err == nil) == (tt.fair == "") && contains(err, tt.fair), tt.command, tt.reply, err)
	}
}

// With one master, the error is the master's own and says nothing of a majority.
func TestNewRedisSessionExplainsFailure(t *testing.T) {
	t.Parallel()
	_, err := lockops.NewRedisSession(within(t), redisOptions("127.0.0.1:1"))
	must.Be(t, err, lockops.ErrNoQuorum)
	must.True(t, contains(err, "127.0.0.1:1", "refused") && !contains(err, lockops.ErrNoQuorum.Error()), err)
	_, err = lockops.NewRedisSession(within(t), nil)
	must.Equal(t, fmt.Sprint(err), "redis: no masters given")
}
