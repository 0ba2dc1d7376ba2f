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

// hungServer is the address of a server that accepts and never answers.
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

// The sessions are as old as their server's answer, however long another one lets us wait: who lets go while
// a server hangs has let go, and its session was not silent.
func TestAReleaseWhileAServerHangsIsARelease(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := servertest.ConnectZooKeeper(t, zks.Addr, 8*time.Second)
	create(t, c, "/l", "", 0)
	held := create(t, c, "/l/"+guid+"__lock__", "a", contender)
	o := follow(t, zksource.Config{Servers: []string{zks.Addr, hungServer(t)}}, "/l")
	var last time.Time // contact of the holder, as was reported
	o.await("its session is known", func(s *inspect.Snapshot) bool {
		session, ok := s.Session(s.Lock(o.id), &s.Lock(o.id).Holders[0])
		last = session.LastContact
		return ok && session.Timeout == 8*time.Second && !last.IsZero()
	})
	o.await("the next report is under way for a while", func(s *inspect.Snapshot) bool {
		session, _ := s.Session(s.Lock(o.id), &s.Lock(o.id).Holders[0])
		return time.Since(session.LastContact) > session.Timeout
	})
	remove(t, c, held)
	o.awaitLock("it is free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
	if len(o.events) != 1 || o.events[0].Kind != inspect.EventReleased {
		t.Errorf("%v after its last contact: %+v", time.Since(last), o.events)
	}
}
