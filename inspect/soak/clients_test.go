package soak

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

//go:embed clients.py
var pythonClients string

// client is one contender that acquires a lock repeatedly. It is a goroutine with its own session,
// which the nemesis restarts.
type client struct {
	name, lock string // the lock as BACKEND:PATH
	notes      *ledger
	open       func(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error)

	mu   sync.Mutex
	stop context.CancelFunc
	done chan struct{}
}

// run starts the client.
func (c *client) run(seed uint64) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	c.mu.Lock()
	c.stop, c.done = stop, done
	c.mu.Unlock()
	go func() {
		defer close(done)
		c.live(ctx, rand.New(rand.NewPCG(seed, 1)))
	}()
}

// end stops the client and waits until it has released its lock.
func (c *client) end() {
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.mu.Unlock()
	stop()
	<-done
}

// live waits, acquires, holds and releases until ctx ends.
func (c *client) live(ctx context.Context, random *rand.Rand) {
	var waiting string
	var asked time.Time
	locker, closeSession, err := c.openUntil(ctx, func(name string) {
		waiting = name
		c.notes.record("waited", c.lock, name, func(h *hold) { h.client, h.asked = c.name, asked })
	})
	if err != nil {
		return
	}
	defer closeSession()
	for ctx.Err() == nil {
		if !pause(ctx, between(random, 100, 1500)) {
			return
		}
		asked = time.Now()
		waiting = ""
		try, cancel := context.WithTimeout(ctx, longestWait)
		h, err := locker.Acquire(try)
		cancel()
		if err != nil {
			if waiting == "" {
				c.notes.failed(c.lock, asked)
			} else {
				c.notes.record("gave up", c.lock, waiting, func(h *hold) { h.lost = time.Now() })
			}
			continue
		}
		name := h.Name()
		c.notes.record("acquired", c.lock, name, func(n *hold) {
			n.client, n.acquired = c.name, time.Now()
			if n.asked.IsZero() {
				n.asked = asked
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(holdFor(random)):
		case <-h.Context().Done():
			c.notes.record("lost", c.lock, name, func(n *hold) { n.lost = time.Now() })
		}
		c.notes.record("releasing", c.lock, name, func(n *hold) { n.releasing = time.Now() })
		within, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err = h.Release(within)
		cancel()
		kind := "released"
		switch {
		case errors.Is(err, lockops.ErrLost):
			kind = "lost at release"
		case err != nil:
			kind = "release unconfirmed"
		}
		c.notes.record(kind, c.lock, name, func(n *hold) {
			if n.released = time.Now(); err != nil && n.lost.IsZero() {
				n.lost = n.releasing // the servers may keep it until it expires
			}
		})
	}
}

// openUntil opens the client's session, with retries while servers are away.
func (c *client) openUntil(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error) {
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		locker, end, err := c.open(try, onWaiting)
		cancel()
		if err == nil {
			return locker, end, nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, nil, ctx.Err()
		}
	}
}

// holdFor is mostly short, and sometimes long enough for a renewal.
func holdFor(random *rand.Rand) time.Duration {
	if random.IntN(6) == 0 {
		return between(random, 4000, 8000)
	}
	return between(random, 100, 1500)
}

func between(random *rand.Rand, low, high int) time.Duration {
	return time.Duration(low+random.IntN(high-low)) * time.Millisecond
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// clients are the clients of our own library and the Python clients.
type clients struct {
	own    []*client
	python *pythons
	notes  *ledger
}

const (
	ttl       = 6 * time.Second  // of Redis locks
	pythonTTL = 10 * time.Second // of redis-py's
	holdsFor  = 8 * time.Second  // at most
)

func startClients(t *testing.T, w *world, notes *ledger, seed uint64) *clients {
	t.Helper()
	all := &clients{notes: notes}
	add := func(n int, lock string, open func(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error)) {
		for range n {
			all.own = append(all.own, &client{name: "own-" + strconv.Itoa(len(all.own)), lock: lock, notes: notes, open: open})
		}
	}
	zookeeper := func(lock func(s *lockops.ZKSession, opts ...lockops.Option) lockops.Locker) func(context.Context, func(string)) (lockops.Locker, func(), error) {
		return func(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error) {
			s, err := lockops.NewZKSession(ctx, wireAddrs(w.ensemble.Clients), lockops.WithSessionTimeout(8*time.Second))
			if err != nil {
				return nil, nil, err
			}
			return lock(s, lockops.OnWaiting(onWaiting)), s.Close, nil
		}
	}
	add(3, zkName+":/soak/orders", zookeeper(func(s *lockops.ZKSession, opts ...lockops.Option) lockops.Locker {
		return lockops.NewZKMutex(s, "/soak/orders", opts...)
	}))
	add(2, zkName+":/soak/shared", zookeeper(func(s *lockops.ZKSession, opts ...lockops.Option) lockops.Locker {
		return lockops.NewZKRWMutex(s, "/soak/shared", opts...).Read()
	}))
	add(1, zkName+":/soak/shared", zookeeper(func(s *lockops.ZKSession, opts ...lockops.Option) lockops.Locker {
		return lockops.NewZKRWMutex(s, "/soak/shared", opts...).Write()
	}))
	session := func(options []*redis.UniversalOptions, lock func(s *lockops.RedisSession, waiting lockops.Option) lockops.Locker) func(context.Context, func(string)) (lockops.Locker, func(), error) {
		return func(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error) {
			s, err := lockops.NewRedisSession(ctx, options)
			if err != nil {
				return nil, nil, err
			}
			return lock(s, lockops.OnWaiting(onWaiting)), s.Close, nil
		}
	}
	var five []*redis.UniversalOptions
	for _, m := range w.masters {
		five = append(five, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	add(3, redlockName+":lock:redlock", session(five, func(s *lockops.RedisSession, _ lockops.Option) lockops.Locker {
		return lockops.NewRedlock(s, "lock:redlock", lockops.WithTTL(ttl))
	}))
	sentinel := []*redis.UniversalOptions{{Addrs: redisAddrs(w.sentinels), MasterName: servertest.SentinelMaster}}
	add(2, sentinelName+":lock:sentinel", session(sentinel, func(s *lockops.RedisSession, _ lockops.Option) lockops.Locker {
		return lockops.NewRedisMutex(s, "lock:sentinel", lockops.WithTTL(ttl))
	}))
	add(3, sentinelName+":lock:fair", session(sentinel, func(s *lockops.RedisSession, waiting lockops.Option) lockops.Locker {
		return lockops.NewRedisFairMutex(s, "lock:fair", lockops.WithTTL(ttl), waiting)
	}))
	cluster := []*redis.UniversalOptions{{Addrs: redisAddrs(w.cluster), IsClusterMode: true}}
	for i := range 3 {
		key := fmt.Sprintf("lock:slot:%d", i)
		add(2, clusterName+":"+key, session(cluster, func(s *lockops.RedisSession, _ lockops.Option) lockops.Locker {
			return lockops.NewRedisMutex(s, key, lockops.WithTTL(ttl))
		}))
	}
	for i, c := range all.own {
		c.run(seed + uint64(i))
	}
	all.python = startPythons(t, w, notes, seed)
	return all
}

// end stops all clients and waits until they have released their locks.
func (c *clients) end(t *testing.T) {
	t.Helper()
	var ends sync.WaitGroup
	for _, one := range c.own {
		ends.Go(one.end)
	}
	ends.Wait()
	c.python.end(t)
}

// pythons is a process with the kazoo and redis-py clients. The nemesis kills and restarts it.
type pythons struct {
	w       *world
	notes   *ledger
	seed    uint64
	started int
	cmd     *exec.Cmd
	in      io.WriteCloser
	read    chan struct{}
}

func startPythons(t *testing.T, w *world, notes *ledger, seed uint64) *pythons {
	t.Helper()
	servertest.RequirePython(t, "kazoo")
	p := &pythons{w: w, notes: notes, seed: seed}
	p.start(t, servertest.RequirePython(t, "redis"))
	t.Cleanup(p.kill)
	return p
}

// name is the current process's client name in the ledger.
func (p *pythons) name() string { return "python-" + strconv.Itoa(p.started) }

func (p *pythons) start(t *testing.T, python string) {
	t.Helper()
	p.started++
	master := p.w.masters[0].Addr
	p.cmd = exec.Command(python, "-c", pythonClients, strings.Join(wireAddrs(p.w.ensemble.Clients), ","),
		strings.Join(redisAddrs(p.w.sentinels), ","), servertest.SentinelMaster, master, strconv.FormatUint(p.seed+uint64(p.started), 10))
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out := must.Have(p.cmd.StdoutPipe())(t)
	must.Succeed(t, p.cmd.Start())
	p.read = make(chan struct{})
	go func(name string, done chan struct{}) {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.record(name, lines.Text())
		}
	}(p.name(), p.read)
}

// record records a line of the process, "SECONDS KIND LOCK NAME".
func (p *pythons) record(client, line string) {
	words := strings.Fields(line)
	if len(words) < 4 {
		return
	}
	seconds, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return
	}
	at := time.UnixMicro(int64(seconds * 1e6))
	kind, lock, name := words[1], words[2], words[3]
	switch kind {
	case "failed":
		p.notes.failed(lock, at)
		return
	case "began":
		p.notes.began(lock, name)
		return
	}
	p.notes.record(kind, lock, name, func(h *hold) {
		h.client = client
		switch kind {
		case "asked":
			h.asked = at
		case "acquired":
			h.acquired = at
		case "releasing":
			h.releasing = at
		case "released":
			h.released = at
		case "lost":
			h.lost = at
		}
	})
}

// kill ends the process without warning.
func (p *pythons) kill() {
	_ = p.cmd.Process.Kill()
	<-p.read
	_ = p.cmd.Wait()
	p.notes.killed(p.name(), time.Now())
}

// end makes the process release its locks and exit.
func (p *pythons) end(t *testing.T) {
	t.Helper()
	p.in.Close()
	select {
	case <-p.read:
	case <-time.After(40 * time.Second):
		t.Error("the Python clients did not end")
	}
	p.kill()
}
