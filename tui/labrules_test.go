package tui

import (
	"testing"
)

// Each kind of lock has its own recipes: one that the kind does not have is not offered.
func TestTheFormOffersTheRecipesOfTheKind(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, orders().ID)
	d := newAcquireForm(m.world, m.screens[labScreen].(*lab).hand, id("zk:/x"))
	d.backends = []LabBackend{{
		Name: "zk", ZooKeeper: true, Kinds: []string{"mutex", "write"},
		Recipes: map[string][]string{"mutex": {"curator", "go-zookeeper", "kazoo"}, "write": {"kazoo", "curator"}},
	}}
	d.seen = ""
	d.suit()
	for _, test := range []struct{ kind, recipe, want string }{
		{"mutex", "kazoo", "kazoo"}, {"write", "", "kazoo"}, {"mutex", "go-zookeeper", "go-zookeeper"}, {"write", "", "kazoo"}, {"write", "curator", "curator"}, {"mutex", "", "curator"},
	} {
		d.rows[acquireKind].choose(test.kind)
		d.suit()
		d.rows[acquireRecipe].choose(test.recipe)
		if got := d.rows[acquireRecipe].choice(); got != test.want {
			t.Errorf("%s, %q: %s is chosen, want %s", test.kind, test.recipe, got, test.want)
		}
	}
}
