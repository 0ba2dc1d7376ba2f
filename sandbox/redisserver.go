package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// redisServer is an embedded Redis server that reports of itself what a real one does and miniredis does not: its role,
// when it was started, and a clock that may be off.
type redisServer struct {
	*miniredis.Miniredis
	addr string // a stopped miniredis does not know its own

	mu      sync.Mutex
	started time.Time
	runID   string
	stopped bool
	stepped bool
	ahead   time.Duration // its clock before that of this process
}

// startRedis starts a server on a free port of loopback.
func startRedis() (*redisServer, error) {
	r := &redisServer{Miniredis: miniredis.NewMiniRedis(), addr: "127.0.0.1:0"}
	r.ClockTTL(true) // else TTLs stand still until somebody moves them
	if err := r.start(); err != nil {
		return nil, fmt.Errorf("sandbox: redis master: %w", err)
	}
	return r, nil
}

// start begins to listen. Until the server is ready, clients get the error of a real server that is
// loading.
func (r *redisServer) start() error {
	r.SetError("LOADING Redis is loading the dataset in memory")
	if err := r.StartAddr(r.addr); err != nil {
		return err
	}
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	r.mu.Lock()
	r.addr, r.started, r.runID, r.stopped = r.Addr(), time.Now(), hex.EncodeToString(id[:]), false
	r.mu.Unlock()
	r.Server().SetPreHook(r.before)
	return nil
}

// stop takes it away; it keeps what it has.
func (r *redisServer) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.Close()
}

func (r *redisServer) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// restartEmpty stops and starts it, without anything that it had: a server without persistence.
func (r *redisServer) restartEmpty() error {
	r.stop()
	r.FlushAll()
	return r.start()
}

// stepClock sets its clock forward, or back where by is negative. Redis keeps the instants at which keys
// expire: those that a step forward passes are gone at once, and a step back has all others last longer by
// it.
func (r *redisServer) stepClock(by time.Duration) {
	r.mu.Lock()
	r.ahead += by
	r.stepped = true
	now := time.Now().Add(r.ahead)
	r.mu.Unlock()
	r.SetTime(now)
	if by >= 0 {
		return
	}
	for _, key := range r.Keys() {
		if ttl := r.TTL(key); ttl > 0 {
			r.SetTTL(key, ttl-by)
		}
	}
}

// before runs before each command. It sets the clock again if it differs from this process's clock,
// since miniredis then keeps it fixed. It also answers INFO, which miniredis does not.
func (r *redisServer) before(c *server.Peer, name string, args ...string) bool {
	r.mu.Lock()
	stepped, now := r.stepped, time.Now().Add(r.ahead)
	r.mu.Unlock()
	if stepped {
		r.SetTime(now)
	}
	if name != "INFO" {
		return false
	}
	c.WriteBulk(r.info())
	return true
}

// info is the part of a real server's report that is read here.
func (r *redisServer) info() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("# Server")
	line("redis_mode:standalone")
	line("run_id:%s", r.runID)
	line("uptime_in_seconds:%d", int64(time.Since(r.started)/time.Second))
	line("# Memory")
	line("maxmemory:0")
	line("maxmemory_policy:noeviction")
	line("# Stats")
	line("evicted_keys:0")
	line("# Replication")
	line("role:master")
	line("connected_slaves:0")
	return b.String()
}
