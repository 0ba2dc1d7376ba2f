package zksource_test

import (
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// A network cut that does not end the connection delays events. Their times are unknown.
func TestEventsHeldByNetworkFollowGap(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]zkserver.Config{"one watch for all": {}, "a watch each": {WithoutAddWatch: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zks := servertest.StartEmbeddedZooKeeper(t, cfg)
			wire := servertest.StartWire(t, zks.Addr)
			c := client(t, zks)
			create(t, c, "/l", "", 0)
			held := create(t, c, "/l/"+guid+"__lock__", "a", contender)
			create(t, c, "/l/"+guid2+"__lock__", "b", contender)
			v := sourcetest.Watch(t, zksource.NewPatient(zksource.Config{Backend: "zk", Servers: []string{wire.Addr()}}))
			v.Await("first pass", func() bool {
				l := v.Locks["/l"]
				return v.Backend != nil && v.Backend.FirstPass && l != nil && len(l.Waiters) == 1
			})
			wire.Stop(servertest.ToClient)
			cut := time.Now()
			remove(t, c, held)
			removed := time.Now()
			over := time.NewTimer(zkwire.MaxLag + 300*time.Millisecond) // the silence under test
			<-over.C
			wire.Heal()
			var l *inspect.Lock
			var gap *inspect.Gap
			v.Await("the event", func() bool { l, gap = v.Locks["/l"], v.Gap; return l != nil && len(l.Waiters) == 0 })
			if gap == nil || gap.From.After(cut) || gap.Until.Before(removed.Add(zkwire.MaxLag)) {
				t.Fatalf("gap %+v; cut at %v", gap, cut)
			}
			if at := l.ReadAt; at.Before(gap.Until) {
				t.Errorf("read at %v, blind until %v", at, gap.Until)
			}
		})
	}
}

// A follower that is cut off from its leader still answers pings and reads. Once reconnected, it
// reports the changes, which happened at unknown times.
func TestPartitionedFollowersEventsFollowGap(t *testing.T) {
	t.Parallel()
	var listeners []net.Listener
	for range 3 {
		l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
		listeners = append(listeners, l)
	}
	e := must.Have(zkserver.StartEnsemble(zkserver.Config{TickTime: time.Second}, 60, listeners...))(t)
	t.Cleanup(e.Close)
	leader, follower := listeners[0].Addr().String(), listeners[1].Addr().String()
	c := client(t, &servertest.ZooKeeper{Addr: leader})
	create(t, c, "/l", "", 0)
	held := create(t, c, "/l/"+guid+"__lock__", "a", contender)
	create(t, c, "/l/"+guid2+"__lock__", "b", contender)
	v := sourcetest.Watch(t, zksource.NewPatient(zksource.Config{Backend: "zk", Servers: []string{follower}}))
	v.Await("first pass", func() bool {
		l := v.Locks["/l"]
		return v.Backend != nil && v.Backend.FirstPass && l != nil && len(l.Waiters) == 1
	})
	e.Cut(1, false, true)
	cut := time.Now()
	remove(t, c, held)
	removed := time.Now()
	over := time.NewTimer(zkwire.MaxLag + 300*time.Millisecond) // the silence under test
	<-over.C
	e.Heal()
	var gap *inspect.Gap
	v.Await("the event", func() bool { gap = v.Gap; return v.Locks["/l"] != nil && len(v.Locks["/l"].Waiters) == 0 })
	if gap == nil || gap.From.After(cut) || gap.Until.Before(removed.Add(zkwire.MaxLag)) {
		t.Fatalf("gap %+v; cut at %v", gap, cut)
	}
}
