package zksource_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
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
	c := client(t, zks)
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
			root := servertest.UniquePath(t)
			create(t, c, root, "", 0)
			node := create(t, c, root+"/leader", "node-1", zk.FlagEphemeral)
			for _, n := range tt.siblings {
				create(t, c, root+n.path, n.data, n.flags)
			}
			looks := map[string]map[string]*inspect.Lock{}
			if tt.shut {
				shut(t, c, root)
			} else {
				looks["everything"] = once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}).Locks
			}
			looks["named"] = once(t, zksource.Config{Servers: []string{zks.Addr}, Only: node}).Locks
			looks["root"] = once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{node}}).Locks
			read := must.Have(zksource.ReadLock(t.Context(), direct{c}, zksource.Config{Servers: []string{zks.Addr}, Only: node}))(t)
			looks["to act on"] = map[string]*inspect.Lock{}
			if read.Lock.State != inspect.StateFree {
				looks["to act on"][node] = read.Lock
			}
			for who, locks := range looks {
				l := locks[node]
				must.Equal(t, (l != nil), tt.locked, who, l)
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
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	root := servertest.UniquePath(t)
	create(t, c, root, "", 0)
	node := create(t, c, root+"/leader", "node-1", zk.FlagEphemeral)
	v := sourcetest.Watch(t, zksource.New(zksource.Config{Backend: "zk", Servers: []string{zks.Addr}, Only: node}))
	held := func(want inspect.State) func() bool {
		return func() bool { l := v.Locks[node]; return l != nil && l.State == want }
	}
	v.Await("held", held(inspect.StateHeld))
	remove(t, c, node)
	v.Await("gone", func() bool { return v.Locks[node] == nil || v.Locks[node].State == inspect.StateFree })
	create(t, c, node, "node-2", zk.FlagEphemeral)
	v.Await("held again", held(inspect.StateHeld))
}
