package act

import (
	"testing"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// With this recipe the second of two readers is a holder, which the names alone do not show. It can
// be released once, as a holder.
func TestReleaseHonorsCustomRecipes(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		acme := must.Have(recipe.NewCustom("acme", "zookeeper", "rw", recipe.Patterns{Lock: `/.+`, Contender: `(?P<mode>s|x)@(?P<host>[^@]+)@\d{10}`}))(t)
		create(t, conn, dir, "", 0)
		var names []string
		for _, prefix := range []string{"s@a@", "s@b@", "x@c@"} {
			names = append(names, create(t, conn, dir+"/"+prefix, "", sequential)[len(dir)+1:])
		}
		releaser, request := onEnsemble(t, conn, server.Addr), ofNode(dir, names[1])
		if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused == "" {
			t.Errorf("without the recipe: %+v, %v", p, err)
		}
		releaser.recipes = []recipe.Custom{acme}
		p, err := releaser.Preview(t.Context(), request)
		if err != nil || p.Refused != "" || p.Seen.Owner.Host != "b" || p.Next != nil || len(p.Warnings) < 2 {
			t.Fatalf("%+v, %v", p, err)
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || !result.Released || len(result.HoldersAfter) != 1 || result.HoldersAfter[0].Name.Raw() != names[0] {
			t.Errorf("%+v, %v", result, err)
		}
		if again, err := releaser.Execute(t.Context(), p, "typed"); err != nil || again.Released || again.Reason != Gone {
			t.Errorf("again: %+v, %v", again, err)
		}
		first, err := releaser.Preview(t.Context(), ofNode(dir, names[0]))
		if err != nil || first.Next == nil || first.Next.Name.Raw() != names[2] {
			t.Errorf("next: %+v, %v", first, err)
		}
	})
}
