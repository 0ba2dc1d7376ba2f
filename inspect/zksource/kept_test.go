package zksource_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestNumberedPersistentNodesAreNotFree(t *testing.T) {
	t.Parallel()
	w := newWild(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	c := w.client()
	keep := func(name string, nodes ...string) {
		dir := w.place(c, name)
		for i := 0; i < len(nodes); i += 2 {
			create(t, c, dir+"/"+nodes[i], nodes[i+1], zk.FlagSequence)
		}
	}
	keep("by-hand", "lock-", "web-1", "lock-", "web-2")
	keep("order-locks", "n", "")
	keep("queue", "item-", "work", "qn-", "work")
	keep("mixed", "lock-", "left by hand")
	waiter := w.client()
	create(t, waiter, w.root+"/mixed/lock-", "", contender)
	watchNode(t, waiter, w.root+"/mixed/lock-0000000000")
	manager, standby := w.client(), w.client()
	leader := create(t, manager, w.place(c, "managers/lock")+"/zlock#"+uuid+"#", "host-a:9999", contender)
	create(t, standby, w.root+"/managers/lock/zlock#"+uuid+"#", "host-b:9999", contender)
	watchNode(t, standby, leader)

	s := w.judged(map[string][]string{
		"by-hand": {}, "order-locks": {}, "managers/lock": {}, "mixed": {"persistent-contender critical"},
	})
	if l := w.lock(s, "managers/lock"); l.Recipe != "accumulo" || l.Kind != inspect.KindElection || l.KindConfidence != recipe.Certain || l.Holders[0].Owner.Label != "host-a:9999" {
		t.Errorf("%+v", l)
	}
	if l := w.lock(s, "mixed"); l.Holders[0].Name != "lock-0000000000" || l.Confidence != recipe.Likely {
		t.Errorf("%+v", l)
	}
	for _, name := range []string{"by-hand", "order-locks"} {
		if l := w.lock(s, name); l.State != inspect.StateUnknown || l.Contention() != 0 || l.Confidence != recipe.Possible {
			t.Errorf("%s: %+v", name, l)
		}
	}
	named := func(name string) *inspect.Lock {
		return once(t, zksource.Config{Servers: []string{w.zks.Addr}, Only: w.root + "/" + name}).Locks[w.root+"/"+name]
	}
	w.place(c, "empty")
	w.place(c, "parent/of-others")
	create(t, c, w.place(c, "services")+"/10.0.0.7:8080", "", zk.FlagEphemeral)
	for name, want := range map[string]inspect.State{
		"by-hand": inspect.StateUnknown, "queue": inspect.StateUnknown, "parent": inspect.StateUnknown, "services": inspect.StateUnknown, "empty": inspect.StateFree,
	} {
		if l := named(name); l == nil || l.State != want {
			t.Errorf("%s requested by name: %+v, want %s", name, l, want)
		}
	}
}

func TestFreeLockToleratesOtherNodes(t *testing.T) {
	t.Parallel()
	w := newWild(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	c := w.client()
	dir := w.place(c, "known")
	create(t, c, dir+"/README", "", 0)
	held := create(t, c, dir+"/"+curatorLock, "", contender)
	v, _ := watch(t, zksource.Config{Servers: []string{w.zks.Addr}, Only: dir})
	v.Await("held", func() bool { l := v.Locks[dir]; return l != nil && l.State == inspect.StateHeld })
	remove(t, c, held)
	v.Await("free", func() bool { return v.Locks[dir].State == inspect.StateFree })
}
