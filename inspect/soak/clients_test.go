package soak

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	kind       lockops.Kind
	notes      *ledger
	connect    func(ctx context.Context) (lockops.Session, error)

	stop context.CancelFunc
	done chan struct{}
}

// run starts the client.
func (c *client) run(seed uint64) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	c.stop, c.done = stop, done
	go func() {
		defer close(done)
		c.live(ctx, rand.New(rand.NewPCG(seed, 1)))
	}()
}

// end stops the client and waits until it has released its lock.
func (c *client) end() {
	c.stop()
	<-c.done
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

// openUntil opens the client's session, with retries while servers are away. onWaiting gets the name
// of a waiter, where the servers know it.
func (c *client) openUntil(ctx context.Context, onWaiting func(string)) (lockops.Locker, func(), error) {
	backend, name, _ := strings.Cut(c.lock, ":")
	var options []lockops.Option
	if backend != zkName {
		options = append(options, lockops.WithTTL(ttl))
	}
	if backend == zkName || isGranted(c.lock) {
		options = append(options, lockops.OnWaiting(onWaiting))
	}
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		s, err := c.connect(try)
		cancel()
		if err == nil {
			locker, err := c.kind.New(s, name, options...)
			return locker, s.Close, err
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
}

const (
	ttl       = 6 * time.Second  // of Redis locks
	pythonTTL = 10 * time.Second // of redis-py's
	holdsFor  = 8 * time.Second  // at most
)

// contending is the number of our own clients of each lock, by kind.
var contending = []struct {
	clients int
	on      lockops.Servers
	kind    string
	lock    string
}{
	{3, lockops.OnZooKeeper, "mutex", zkName + ":/soak/orders"},
	{2, lockops.OnZooKeeper, "read", zkName + ":/soak/shared"},
	{1, lockops.OnZooKeeper, "write", zkName + ":/soak/shared"},
	{3, lockops.OnRedisMasters, "redlock", redlockName + ":lock:redlock"},
	{2, lockops.OnRedis, "mutex", sentinelName + ":lock:sentinel"},
	{3, lockops.OnRedis, "fair", sentinelName + ":lock:fair"},
	{2, lockops.OnRedis, "mutex", clusterName + ":lock:slot:0"},
	{2, lockops.OnRedis, "mutex", clusterName + ":lock:slot:1"},
	{2, lockops.OnRedis, "mutex", clusterName + ":lock:slot:2"},
}

func startClients(t *testing.T, w *world, notes *ledger, seed uint64) *clients {
	t.Helper()
	connects := map[string]func(context.Context) (lockops.Session, error){
		zkName: func(ctx context.Context) (lockops.Session, error) {
			return lockops.NewZKSession(ctx, wireAddrs(w.ensemble.Clients), lockops.WithSessionTimeout(sessionTimeout))
		},
	}
	for backend, masters := range w.redisOptions(redisAddrs(w.masters)) {
		connects[backend] = func(ctx context.Context) (lockops.Session, error) {
			return lockops.NewRedisSession(ctx, masters)
		}
	}
	all := &clients{}
	for _, of := range contending {
		kind := must.Have(lockops.KindNamed(of.on, of.kind))(t)
		for range of.clients {
			name := "own-" + strconv.Itoa(len(all.own))
			c := &client{name: name, lock: of.lock, kind: kind, notes: notes, connect: connects[backendOf(of.lock)]}
			c.run(seed + uint64(len(all.own)))
			all.own = append(all.own, c)
		}
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
	p.in = must.Have(p.cmd.StdinPipe())(t)
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
		times := map[string]*time.Time{
			"asked": &h.asked, "acquired": &h.acquired, "releasing": &h.releasing, "released": &h.released, "lost": &h.lost,
		}
		if is := times[kind]; is != nil {
			*is = at
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
