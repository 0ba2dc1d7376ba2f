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

// redisServer is an embedded Redis that also reports, unlike miniredis, its role and start time,
// and has a clock that may be off.
type redisServer struct {
	*miniredis.Miniredis
	addr string // a stopped miniredis does not know its own

	mu      sync.Mutex
	started time.Time
	runID   string
	stopped bool
}

func startRedis() (*redisServer, error) {
	r := &redisServer{Miniredis: miniredis.NewMiniRedis(), addr: "127.0.0.1:0"}
	r.ClockTTL(true) // otherwise TTLs do not run
	if err := r.start(); err != nil {
		return nil, fmt.Errorf("sandbox: redis master: %w", err)
	}
	return r, nil
}

// start begins to listen. Until it is ready, clients get the error of a server that is loading.
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

// stop takes the server down; its data stays.
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

// before runs before each command. It answers INFO, which miniredis does not.
func (r *redisServer) before(c *server.Peer, name string, args ...string) bool {
	if name != "INFO" {
		return false
	}
	c.WriteBulk(r.info())
	return true
}

// info returns the part of a real server's report that is read here.
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
