package zkserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a server. The zero value is a usable server on free loopback ports.
type Config struct {
	// Addr is the TCP address for clients and four-letter words; default 127.0.0.1:0, a free port.
	Addr string
	// AdminAddr is the TCP address of the AdminServer (plain HTTP); default 127.0.0.1:0.
	AdminAddr string
	// TickTime is the server's unit of time, default 2 s. Sessions expire on a beat, up to one beat late, never
	// early. A beat is a tick, or half the least session timeout if that is shorter.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout limit what a client may negotiate; default 2 and 20 ticks.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// Started is the claimed start time of the server; default now. If that is longer ago than a
	// session timeout, the clients of an earlier run have returned or expired.
	Started time.Time
	// ReapInterval is how often empty containers are removed, default 60 s as in the real server.
	ReapInterval time.Duration
	// WithoutMultiRead and WithoutAddWatch leave out operations that servers have known since 3.6.
	// The server answers Unimplemented and closes the connection.
	WithoutMultiRead, WithoutAddWatch bool
	// Words are the four-letter words in the whitelist (4lw.commands.whitelist); nil means all.
	Words []string
	// Throttled, when not nil, is called for every request with its operation (ZooDefs.OpCode). If
	// it returns true, the server answers that the request was throttled (-127, since 3.7 with
	// zookeeper.throttled_op_wait_time) instead of running it.
	Throttled func(op int32) bool
	// Numbers creates directories below the root, as if this many nodes had already been created in
	// each.
	Numbers map[string]int32
	// MaxRequest is the longest request accepted, in bytes (jute.maxbuffer), default 1 MiB less one
	// byte: a longer one ends its connection.
	MaxRequest int
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	c.AdminAddr = cmp.Or(c.AdminAddr, "127.0.0.1:0")
	if c.Started.IsZero() {
		c.Started = time.Now()
	}
	set(&c.TickTime, 2*time.Second)
	set(&c.MinSessionTimeout, 2*c.TickTime)
	set(&c.MaxSessionTimeout, 20*c.TickTime)
	set(&c.ReapInterval, time.Minute)
	if c.MaxRequest <= 0 {
		c.MaxRequest = maxPacket
	}
	return c
}

// ErrNoSession is returned when the server does not know a session id, or no longer does.
var ErrNoSession = errors.New("zkserver: no such session")

// Server is a running server. Its methods may be called by any goroutine.
type Server struct {
	cfg      Config
	listener net.Listener
	adminLn  net.Listener
	admin    *http.Server // nil in an Ensemble
	member   *member      // nil outside an Ensemble
	started  time.Time
	ahead    atomic.Int64  // see SetClock
	done     chan struct{} // closed by Close
	wg       sync.WaitGroup
	close    sync.Once

	mu          sync.Mutex // guards all below
	closed      bool
	tree        *tree
	watches     *watches
	sessions    map[int64]*session
	nextSession int64
	conns       map[*conn]struct{}
	zxid        int64
}

// Start listens and serves until Close. It returns an error when it cannot listen on an address.
func Start(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if cfg.MaxSessionTimeout < cfg.MinSessionTimeout {
		return nil, fmt.Errorf("zkserver: session timeouts: minimum %v is above maximum %v", cfg.MinSessionTimeout,
			cfg.MaxSessionTimeout)
	}
	listener, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("zkserver: client port: %w", err)
	}
	adminLn, err := net.Listen("tcp", cfg.AdminAddr)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("zkserver: admin port: %w", err)
	}
	s := newServer(cfg, listener)
	s.adminLn = adminLn
	s.admin = &http.Server{Handler: s.adminHandler(), ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(s.accept)
	s.wg.Go(s.housekeep)
	s.wg.Go(func() { s.admin.Serve(adminLn) })
	return s, nil
}

func newServer(cfg Config, listener net.Listener) *Server {
	s := &Server{
		cfg: cfg, listener: listener, started: cfg.Started, done: make(chan struct{}),
		tree: newTree(), watches: newWatches(), sessions: map[int64]*session{}, conns: map[*conn]struct{}{},
	}
	s.nextSession = firstSession(s.started)
	for path, n := range cfg.Numbers {
		s.tree.link(path, &node{data: []byte{}, acl: openACL, children: map[string]struct{}{}, creates: n})
	}
	return s
}

// SetClock sets the server's wall clock ahead of this machine's. It dates transactions, connections
// and the AdminServer's answers. Sessions do not depend on it.
func (s *Server) SetClock(ahead time.Duration) { s.ahead.Store(int64(ahead)) }

// wall returns the time on its wall clock.
func (s *Server) wall() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// Addr is the host:port that clients connect to.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// AdminAddr is the host:port of the AdminServer.
func (s *Server) AdminAddr() string { return s.adminLn.Addr().String() }

// Close stops listening, cuts every connection, and waits for all goroutines. A second call does nothing.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		close(s.done)
		err = s.listener.Close()
		s.mu.Lock()
		s.closed = true
		for c := range s.conns {
			c.abort()
		}
		s.mu.Unlock()
		if s.admin == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.admin.Shutdown(ctx) != nil {
			s.admin.Close()
		}
	})
	s.wg.Wait()
	return err
}

// Sessions lists the ids of all live sessions, connected or not, in ascending order.
func (s *Server) Sessions() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionIDs()
}

// ExpireSession ends a session at once, as if its client had been silent for the whole timeout. Its
// ephemeral nodes are deleted, watches fire, and the client's connection is closed. It returns
// ErrNoSession when the session is not known.
func (s *Server) ExpireSession(id int64) error {
	return s.withSession(id, s.expire)
}

// DropConnection cuts the client's TCP connection; the session lives on until its timeout, and the client may come back
// with it. It returns ErrNoSession when the session is not known, and nil if it has no connection to cut.
func (s *Server) DropConnection(id int64) error {
	return s.withSession(id, func(sess *session) {
		if sess.conn != nil {
			sess.conn.abort()
		}
	})
}

func (s *Server) withSession(id int64, do func(*session)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := s.sessions[id]
	if sess == nil {
		return fmt.Errorf("%w: 0x%x", ErrNoSession, uint64(id))
	}
	do(sess)
	return nil
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(10 * time.Millisecond): // out of file descriptors, most likely: let some close
				continue
			}
		}
		c := newConn(s, nc)
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			nc.Close()
			return
		}
		s.conns[c] = struct{}{}
		s.wg.Go(c.serve)
		s.mu.Unlock()
	}
}

// housekeep expires sessions on the beat and reaps containers.
func (s *Server) housekeep() {
	reap := time.Tick(s.cfg.ReapInterval)
	beat := time.NewTimer(0)
	for {
		select {
		case <-s.done:
			return
		case <-beat.C:
			beat.Reset(s.expireOverdue())
		case <-reap:
			s.reap()
		}
	}
}

func (s *Server) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.tree.reap() {
		tx := s.begin(0, super)
		tx.delete(path, -1)
		s.commit(tx)
	}
}

// begin numbers a new transaction. Failed ones keep their number too, as in the real server.
func (s *Server) begin(session int64, who []identity) *txn {
	s.zxid++
	return &txn{tree: s.tree, zxid: s.zxid, now: s.wall().UnixMilli(), session: session, who: who}
}

// commit fires the watches of a transaction.
func (s *Server) commit(tx *txn) {
	for _, ch := range tx.changes {
		s.watches.fire(ch)
	}
}
