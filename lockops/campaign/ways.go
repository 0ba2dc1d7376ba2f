//go:build unix

package campaign

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/lockops"
)

// The ways on which workers reach servers.
const (
	slowestConnect = 600 * time.Millisecond
	slowestClose   = 50 * time.Millisecond
)

// slowWay takes its time to connect and to close, as tunnels do and TLS to a peer that does not read.
func slowWay(connect, end time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-time.After(connect):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return slowEnd{conn, end}, nil
	}
}

type slowEnd struct {
	net.Conn
	takes time.Duration
}

func (c slowEnd) Close() error {
	time.Sleep(c.takes)
	return c.Conn.Close()
}

// upTo is a random time.
func upTo(r *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(longest)))
}

// zooKeeper connects a session: over a good way, over a slow one, or on a connection of the program's own.
func (w *worker) zooKeeper(ctx context.Context, r *rand.Rand) (s *lockops.ZKSession, end func(), err error) {
	options := []lockops.ZKOption{lockops.WithSessionTimeout(w.cfg.SessionTimeout)}
	switch r.IntN(3) {
	case 0:
		return w.adoptZooKeeper(ctx)
	case 1:
		options = append(options, lockops.WithDialContext(slowWay(upTo(r, slowestConnect), upTo(r, slowestClose))))
	}
	if s, err = lockops.NewZKSession(ctx, w.cfg.ZooKeeper, options...); err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// adoptZooKeeper lends a session the program's connection.
func (w *worker) adoptZooKeeper(ctx context.Context) (s *lockops.ZKSession, end func(), err error) {
	d := lockops.NewZKDialer(nil)
	conn, closed, err := dialZooKeeper(w.cfg, zk.WithDialer(d.Dial))
	if err != nil {
		return nil, nil, err
	}
	if s, err = lockops.AdoptZKConn(ctx, conn, d); err != nil {
		closed()
		return nil, nil, err
	}
	return s, func() { s.Close(); closed() }, nil
}

// dialZooKeeper makes a connection of go-zookeeper; closed waits for its goroutines.
func dialZooKeeper(cfg Config, options ...func(*zk.Conn)) (conn *zk.Conn, closed func(), err error) {
	set := func(c *zk.Conn) {
		for _, o := range options {
			o(c)
		}
	}
	conn, events, err := zk.Connect(cfg.ZooKeeper, cfg.SessionTimeout, set, zk.WithLogger(noLog{}))
	if err != nil {
		return nil, nil, err
	}
	return conn, func() {
		conn.Close()
		for range events { // closed when its goroutines have ended
		}
	}, nil
}

// contendGoZooKeeper takes a lock by go-zookeeper's own until ctx ends: it stands in the queue as others do. Nothing is
// reported of it, since it does not hear in time that it has lost the lock.
func contendGoZooKeeper(ctx context.Context, cfg Config, name string) {
	for ctx.Err() == nil {
		conn, closed, err := dialZooKeeper(cfg)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, conn.Close) // nothing else ends its waiting
		for l := zk.NewLock(conn, name, zk.WorldACL(zk.PermAll)); err == nil && ctx.Err() == nil; {
			if err = l.Lock(); err == nil {
				time.Sleep(time.Millisecond)
				err = errors.Join(l.Unlock(), ctx.Err())
			}
		}
		stop()
		closed()
	}
}
