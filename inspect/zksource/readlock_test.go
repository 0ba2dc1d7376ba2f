package zksource_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// An action looks up its contender's node in what it has read. The rows name what it finds: the node in
// the queue, the lock's own node, an ephemeral node of that name, and the lock without the contender.
func TestReadingFindsContendersNode(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.queue("/l", "a", "b")
	s.dirs("/l/kept", "/open", "/sealed")
	s.create("/open/leader", "node-1", zk.FlagEphemeral)
	s.create("/sealed/leader", "node-1", zk.FlagEphemeral)
	s.allow("/sealed/leader", unreadable)
	for _, tt := range []struct {
		lock    string
		another bool // the contender's node was created again
		want    string
	}{
		{"/l", false, "node, ephemeral, then kazoo mutex held 1+0"},
		{"/l", true, "ephemeral, then kazoo mutex contended 1+1"},
		{"/open/leader", false, "own node-1, ephemeral, then none"},
		{"/open/leader", true, "ephemeral, then none"},
		{"/sealed/leader", false, "ephemeral, then none"},
	} {
		cfg := zksource.Config{Servers: s.cfg.Servers, Only: tt.lock}
		read := must.Have(zksource.ReadLock(t.Context(), direct{s.conn}, cfg))(t)
		c, got := read.Lock.Holders[0], ""
		czxid := c.Czxid
		if tt.another {
			c.Czxid++
		}
		if node, ok := read.Node(&c); ok && node.Czxid == czxid {
			got += "node, "
		}
		if data, ok := read.Own(&c); ok {
			got += "own " + string(data) + ", "
		}
		if found, ok := read.EphemeralNode(c.Name.Raw()); ok && found == czxid {
			got += "ephemeral, "
		}
		_, kept := read.EphemeralNode("kept")
		must.True(t, !kept, "a persistent node counts as ephemeral")
		must.Equal(t, got+"then "+brief(read.Without(&c)), tt.want, tt.lock, "another", tt.another)
	}
}

func TestMissingLockIsFree(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	cfg := zksource.Config{Servers: s.cfg.Servers, Only: "/none"}
	read := must.Have(zksource.ReadLock(t.Context(), direct{s.conn}, cfg))(t)
	_, exists := read.EphemeralNode("none")
	must.True(t, read.Lock.State == inspect.StateFree && !exists, read.Lock)
	s.conn.Close()
	_, err := zksource.ReadLock(t.Context(), direct{s.conn}, cfg)
	must.True(t, err != nil, "a closed connection read the lock")
}
