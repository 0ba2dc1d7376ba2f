//go:build unix

package campaign

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/lockops"
)

// The ways in which workers reach servers.
const (
	slowestConnect = 600 * time.Millisecond
	slowestClose   = 50 * time.Millisecond
)

// slowWay returns a dial function that is slow to connect and to close, like tunnels, or TLS to a
// peer that does not read.
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

// upTo returns a random time up to longest.
func upTo(r *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(longest)))
}

// zooKeeper connects a session directly, over a slow way, or on the program's own connection.
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

// adoptZooKeeper makes a session on the program's own connection.
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
		// Events end with the connection's goroutines. One of them may hang after a failed write
		// (go-zookeeper 1.0.4, flushRequests).
		limit := time.After(5 * time.Second)
		for open := true; open; {
			select {
			case _, open = <-events:
			case <-limit:
				return
			}
		}
	}, nil
}

// contendGoZooKeeper uses go-zookeeper's Lock until ctx ends. That library does not notice losses
// in time, so only holds with a confirmed release are reported.
func (w *worker) contendGoZooKeeper(ctx context.Context, name string) {
	for ctx.Err() == nil {
		conn, closed, err := dialZooKeeper(w.cfg)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, conn.Close) // nothing else ends its wait
		for l := zk.NewLock(conn, name, zk.WorldACL(zk.PermAll)); err == nil && ctx.Err() == nil; {
			called := Now()
			if err = l.Lock(); err != nil {
				break
			}
			granted := Now()
			time.Sleep(time.Millisecond)
			released := Now()
			if err = l.Unlock(); err == nil {
				w.held(name, called, granted, released)
			}
		}
		stop()
		closed()
	}
}

// held reports a hold of another library's client.
func (w *worker) held(lock string, called, granted, released int64) {
	r := Record{Lock: lock, Kind: "mutex", Hold: w.holds.Add(1)}
	for _, step := range []struct {
		op Op
		at int64
	}{{OpAcquire, called}, {OpGranted, granted}, {OpRelease, released}, {OpReleased, 0}} {
		r.Op, r.At = step.op, step.at
		w.report.Add(r)
	}
}
