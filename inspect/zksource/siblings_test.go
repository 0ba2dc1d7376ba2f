package zksource_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// direct is a Transport that uses a plain client.
type direct struct{ *zk.Conn }

func (d direct) Exists(_ context.Context, p string) (*zk.Stat, error) {
	ok, stat, err := d.Conn.Exists(p)
	if err == nil && !ok {
		err = zk.ErrNoNode
	}
	return stat, err
}

func (d direct) Children(_ context.Context, p string) ([]string, *zk.Stat, error) {
	return d.Conn.Children(p)
}

func (d direct) Get(_ context.Context, p string) ([]byte, *zk.Stat, error) { return d.Conn.Get(p) }

// A node is the same lock, or no lock, whether it is listed, requested by name, used as a root or
// acted on.
func TestEphemeralLockIsConsistentAcrossViews(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	const base64 = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	for name, tt := range map[string]struct {
		siblings []shapeNode
		shut     bool // the directory may not be listed
		locked   bool
	}{
		"alone":                                 {locked: true},
		"next to a directory":                   {siblings: []shapeNode{{"/config", "", 0}, {"/config/x", "", zk.FlagEphemeral}}, locked: true},
		"one of two":                            {siblings: []shapeNode{{"/other", "", zk.FlagEphemeral}}},
		"next to a queue":                       {siblings: []shapeNode{{"/" + guid + "__lock__", "", contender}}},
		"next to nodes of an old queue":         {siblings: []shapeNode{{"/item-", "", zk.FlagSequence}}, locked: true},
		"in an unreadable directory":            {shut: true, locked: true},
		"one of two in an unreadable directory": {siblings: []shapeNode{{"/other", base64, zk.FlagEphemeral}}, shut: true, locked: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := inDirectory(t, zks)
			node := s.create("/leader", "node-1", zk.FlagEphemeral)
			for _, n := range tt.siblings {
				s.create(n.path, n.data, n.flags)
			}
			views := map[string]map[string]*inspect.Lock{}
			if tt.shut {
				s.allow("", unreadable)
			} else {
				views["everything"] = s.once().Locks
			}
			views["named"] = s.named("/leader").Locks
			views["root"] = once(t, zksource.Config{Servers: s.cfg.Servers, Roots: []string{node}}).Locks
			one := zksource.Config{Servers: s.cfg.Servers, Only: node}
			read := must.Have(zksource.ReadLock(t.Context(), direct{s.conn}, one))(t)
			views["to act on"] = map[string]*inspect.Lock{}
			if read.Lock.State != inspect.StateFree {
				views["to act on"][node] = read.Lock
			}
			for who, locks := range views {
				l := locks[node]
				must.Equal(t, l != nil, tt.locked, who, l)
				sure := recipe.Possible
				if who == "named" || who == "to act on" {
					sure = recipe.Likely
				}
				if l != nil && (l.Recipe != "ephemeral" || l.Confidence != sure || len(l.Holders) != 1) {
					t.Errorf("%s: %+v", who, l)
				}
				if delete(locks, node); who != "everything" && len(locks) > 0 {
					t.Errorf("%s: unexpected locks %v", who, locks)
				}
			}
		})
	}
}

// A node requested by name is followed through its deletion and its next creation.
func TestANamedNodeIsFollowed(t *testing.T) {
	eachServer(t, func(_ *testing.T, s *scene) {
		node := s.create("/leader", "node-1", zk.FlagEphemeral)
		s.cfg.Only, s.cfg.Roots = node, nil
		v := s.watch()
		v.awaitState(node, inspect.StateHeld)
		s.remove(node)
		v.Await("gone", func() bool { return v.Locks[node] == nil || v.Locks[node].State == inspect.StateFree })
		s.create("/leader", "node-2", zk.FlagEphemeral)
		v.awaitHolder(node, "node-2")
	})
}
