package lockops

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/zkwire"
)

// Conn returns the session's connection, for uses other than locking, such as reading nodes. Never
// close it.
func (s *ZKSession) Conn() *zk.Conn { return s.conn }

// ZKDialer connects a *zk.Conn so that a ZKSession can adopt it. Pass its Dial to zk.Connect as the
// zk.Dialer, and use one dialer per connection. It sees every frame, because locks need to know
// what go-zookeeper hides: when each request that a quorum has committed was sent.
type ZKDialer struct{ tap zkwire.Tap }

// NewZKDialer makes a dialer. A nil config means no TLS.
func NewZKDialer(config *tls.Config) *ZKDialer { return &ZKDialer{tap: zkwire.Tap{TLS: config}} }

// Dial is a zk.Dialer.
func (d *ZKDialer) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return dialWire(&d.tap, network, addr, timeout)
}

// AdoptZKConn makes a session from a connection that the caller made with zk.Connect and
// zk.WithDialer(d.Dial). It waits until a server has established a session, or ctx ends. The
// connection must outlive the session: closing the session releases its locks, but leaves the
// connection open. Options about connecting fail with ErrOption. Only one session may adopt a
// connection at a time.
func AdoptZKConn(ctx context.Context, conn *zk.Conn, d *ZKDialer, opts ...ZKOption) (*ZKSession, error) {
	s := newZKSession(opts)
	if s.opts.dials {
		s.end(ErrClosed)
		s.endGone()
		return nil, fmt.Errorf("adopt a zookeeper connection: leave out options about connecting: %w", ErrOption)
	}
	s.conn, s.tap, s.adopted, s.servers = conn, &d.tap, true, "of the adopted connection"
	s.tap.Listen(s.fire, s.recordChange)
	s.goDo(s.keepHolds)
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, errors.Join(err, errForeignDialer(d))
	}
	return s, nil
}

// errForeignDialer rejects a connection of another dialer, since the lease would miss its frames.
func errForeignDialer(d *ZKDialer) error {
	if id, _ := d.tap.Session(); id == 0 && d.tap.DialError() == nil {
		return errors.New("the connection was not made with this dialer (zk.WithDialer)")
	}
	return nil
}

// dial connects to a server for go-zookeeper.
func (s *ZKSession) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return dialWire(s.tap, network, addr, timeout)
}

func dialWire(tap *zkwire.Tap, network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := tap.Dial(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return wire{conn}, nil
}

// wire reports a failed write as a closed connection. go-zookeeper returns the network's error, and a request that
// may have been executed would look refused.
type wire struct{ net.Conn }

func (w wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", zk.ErrConnectionClosed, err)
	}
	return n, err
}

// errNoACL prevents creating a node that is open to more users than its directory, or to none.
var errNoACL = fmt.Errorf("its ACL cannot be read and the session is not authenticated: set one (WithACL, "+
	"--acl): %w", zk.ErrNoAuth)

// ACL returns the access list for nodes that this session's locks create below dir, a path that
// includes the session's chroot. It is the list given by WithACL, else the directory's own. If the
// directory's list cannot be read or hides its digests, only this session's authenticated users get
// access. The error is zk.ErrNoNode if the directory does not exist.
func (s *ZKSession) ACL(ctx context.Context, dir string) ([]zk.ACL, error) {
	session, err := s.alive(ctx)
	if err != nil {
		return nil, err
	}
	return s.aclBelow(ctx, session, dir)
}

// aclBelow is like ACL, for a known session.
func (s *ZKSession) aclBelow(ctx context.Context, session int64, dir string) ([]zk.ACL, error) {
	if s.opts.acl != nil {
		return s.opts.acl, nil
	}
	r, err := s.call(ctx, session, pathRequest(opGetACL, dir))
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return nil, err
	}
	return s.inherited(dir, r)
}

// inherited returns the access list for nodes created below a directory, given the reply with the
// directory's own list.
func (s *ZKSession) inherited(dir string, r zkwire.Reply) ([]zk.ACL, error) {
	acl, err := aclOf(r)
	switch {
	case err == nil && repeatable(acl):
		return acl, nil
	case err != nil && !errors.Is(err, zk.ErrNoAuth):
		return nil, err
	case s.tap.Authenticated():
		return zk.AuthACL(zk.PermAll), nil
	}
	return nil, fmt.Errorf("%s: %w", dir, errNoACL)
}

func aclOf(r zkwire.Reply) ([]zk.ACL, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	d := zkwire.NewDecoder(r.Body)
	return d.ACL(), d.Err
}

// repeatable reports whether an access list can be set again: servers show "user:x" instead of
// digests to users who may not change it.
func repeatable(acl []zk.ACL) bool {
	hidden := func(a zk.ACL) bool { return a.Scheme == "digest" && strings.HasSuffix(a.ID, ":x") }
	return len(acl) > 0 && !slices.ContainsFunc(acl, hidden)
}
