package lockops

import (
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// Conn is the session's connection, for what is no locking: an operator's guarded look at other people's nodes. It
// belongs to the session: never close it.
func (s *ZKSession) Conn() *zk.Conn { return s.conn }

// dial connects to a server for go-zookeeper.
func (s *ZKSession) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := s.tap.Dial(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return wire{conn}, nil
}

// wire names a failure to write for what it is to a request: go-zookeeper gives it to whoever asked as it comes from the
// network, so that a request which may have been executed looks as if a server had refused it.
type wire struct{ net.Conn }

func (w wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", zk.ErrConnectionClosed, err)
	}
	return n, err
}
