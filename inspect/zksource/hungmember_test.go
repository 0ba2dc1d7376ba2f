package zksource_test

import (
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// hungServer starts a server that accepts connections and never answers. It returns its address.
func hungServer(t *testing.T) string {
	t.Helper()
	listener := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var conns []net.Conn
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			conns = append(conns, conn)
		}
		for _, c := range conns {
			c.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// A hung server delays the session table, but its age follows the other server's answer. A release
// in the meantime is not mistaken for the expiry of a silent session.
func TestReleaseDuringServerHangIsSeen(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := servertest.ConnectZooKeeper(t, zks.Addr, 8*time.Second)
	create(t, c, "/l", "", 0)
	held := create(t, c, "/l/"+guid+"__lock__", "a", contender)
	o := follow(t, zksource.Config{Servers: []string{zks.Addr, hungServer(t)}}, "/l")
	var last time.Time // last reported contact of the holder
	o.await("the holder's session", func(s *inspect.Snapshot) bool {
		session, ok := s.Session(s.Lock(o.id), &s.Lock(o.id).Holders[0])
		last = session.LastContact
		return ok && session.Timeout == 8*time.Second && !last.IsZero()
	})
	o.await("an overdue session table", func(s *inspect.Snapshot) bool {
		session, _ := s.Session(s.Lock(o.id), &s.Lock(o.id).Holders[0])
		return time.Since(session.LastContact) > session.Timeout
	})
	remove(t, c, held)
	o.awaitLock("free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
	if len(o.events) != 1 || o.events[0].Kind != inspect.EventReleased {
		t.Errorf("%v after its last contact: %+v", time.Since(last), o.events)
	}
}
