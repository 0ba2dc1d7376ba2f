package tui

import (
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

// The form offers only the recipes of the selected kind of lock.
func TestFormOffersRecipesOfKind(t *testing.T) {
	f := newFakeLab()
	m := inLab(t, Options{Lab: f}, 120, 36, fixture.Orders().ID)
	d := lab.NewAcquireForm(m.world, m.screens[screen.Lab].(*lab.Screen).Hand, fixture.Id("zk:/x"))
	d.Backends = []lab.Backend{{
		Name: "zk", ZooKeeper: true, Kinds: []string{"mutex", "write"},
		Recipes: map[string][]string{"mutex": {"curator", "go-zookeeper", "kazoo"}, "write": {"kazoo", "curator"}},
	}}
	d.Rows[0].Typed.Set("zk:/x")
	d.Suit()
	for _, test := range []struct{ kind, recipe, want string }{
		{"mutex", "kazoo", "kazoo"}, {"write", "", "kazoo"}, {"mutex", "go-zookeeper", "go-zookeeper"}, {"write", "", "kazoo"}, {"write", "curator", "curator"}, {"mutex", "", "curator"},
	} {
		d.Rows[lab.AcquireKind].Choose(test.kind)
		d.Suit()
		d.Rows[lab.AcquireRecipe].Choose(test.recipe)
		must.Equal(t, d.Rows[lab.AcquireRecipe].Choice(), test.want, test.kind, test.recipe, "is chosen")
	}
}
