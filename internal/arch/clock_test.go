package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// clocked are the folders whose code has the time passed in. Not among them: the ground, which is at the wire
// or is a server.
var clocked = []string{"tui", "inspect", "lockops", "sandbox", "theme"}

// clocks lists the files that use package time's own clock, what of it, and why.
var clocks = map[string]struct {
	uses string // in order, each once
	why  string
}{
	"inspect/observer.go":                  {"NewTicker NewTimer Now", "the loop's beat, and the one default of the pace of its own work"},
	"inspect/recording/replay.go":          {"NewTimer", "waits for a recorded instant to come"},
	"inspect/internal/sourcekit/sleep.go":  {"NewTimer", "rests between requests"},
	"inspect/redissource/config.go":        {"Now", "the default clock"},
	"inspect/redissource/source.go":        {"NewTicker NewTimer", "the loop's beats and its alarm"},
	"inspect/zkadmin/server.go":            {"Until", "shares out what a context has left, whose deadline is by the process' clock"},
	"inspect/zksource/config.go":           {"Now", "the default clock"},
	"inspect/zksource/ensemble/inquiry.go": {"NewTimer", "waits for its turn"},
	"inspect/zksource/link.go":             {"NewTicker", "the beats by which a server is asked for signs of life"},
	"inspect/zksource/source.go":           {"NewTicker NewTimer", "the loop's beat and its alarm"},
	"inspect/internal/stall/stall.go":      {"NewTicker", "the beats by which this process notices that it stood still"},
	"inspect/internal/sourcetest/view.go":  {"After Now", "limits of tests"},
	"lockops/act/audit.go":                 {"Now", "the default clock"},
	"lockops/campaign/client.go":           {"After", "holds a lock for a while"},
	"lockops/campaign/failpoints_on.go":    {"After", "stands still"},
	"lockops/campaign/ways.go":             {"After Sleep", "takes its time to connect and to close"},
	"lockops/campaign/worker.go":           {"NewTicker Now Sleep", "a process of its own, which the clock of its machine is part of"},
	"lockops/clock.go":                     {"After Now", "the default clock, and waits"},
	"lockops/contend/contender.go":         {"After", "holds a lock for a while"},
	"lockops/contend/run.go":               {"NewTicker Now", "the beat of the watch, and the default clock"},
	"lockops/lease.go":                     {"AfterFunc", "wakes when something is due by the clock"},
	"lockops/redisattempt.go":              {"After Sleep", "waits for a clean-up, and until a request is too late"},
	"lockops/redismaster.go":               {"After", "bounds a wait"},
	"lockops/redisclient.go":               {"Now Since", "deadlines of requests, which the network judges"},
	"lockops/redissub.go":                  {"After", "bounds a wait"},
	"lockops/redlockelection.go":           {"After AfterFunc", "bound requests and waits"},
	"lockops/redlockvote.go":               {"After", "rests between attempts"},
	"lockops/zkcontender.go":               {"NewTimer", "bounds a wait"},
	"lockops/zkgrant.go":                   {"AfterFunc", "spares short holds a watch"},
	"lockops/zklease.go":                   {"NewTimer", "wakes when something is due by the clock"},
	"lockops/zknode.go":                    {"After", "rests between attempts"},
	"lockops/zksession.go":                 {"After", "bounds a wait"},
	"lockops/zkwatch.go":                   {"AfterFunc", "looks again, in case a watch was lost"},
	"sandbox/sandbox.go":                   {"After", "lets a scene take its time"},
	"sandbox/redisserver.go":               {"Now Since", "is a server, whose clock may be off that of the host"},
	"tui/clients/making.go":                {"NewTimer", "rests between two lists"},
	"tui/feed.go":                          {"NewTimer", "the beat of the screen"},
	"tui/lab/labruns.go":                   {"NewTimer", "the beat of a run's lanes"},
	"tui/options.go":                       {"Now", "the default clock"},
}

// uses lists a file's uses of package time's own clock.
func uses(t *testing.T, name string) string {
	t.Helper()
	f := must.Have(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := sel.X.(*ast.Ident)
		own := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"}
		if ok && of.Name == "time" && slices.Contains(own, sel.Sel.Name) {
			found = append(found, sel.Sel.Name)
		}
		return true
	})
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

func TestTheTimeIsPassedIn(t *testing.T) {
	root := must.Have(filepath.Abs("../.."))(t)
	seen := map[string]bool{}
	for _, dir := range clocked {
		err := fs.WalkDir(os.DirFS(root), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			seen[name] = true
			if got, want := uses(t, filepath.Join(root, name)), clocks[name].uses; got != want {
				t.Errorf("%s uses of package time's clock %q, and %q is what it may (clocks lists why)", name, got, want)
			}
			return nil
		})
		must.Succeed(t, err)
	}
	for name := range clocks {
		must.True(t, seen[name], name, "is in the list and not in the tree")
	}
}

// Times of day are local in every screen, also in a recording's, whose instants are in UTC: describe.Clock has them so.
func TestTimesOfDayHaveOneHome(t *testing.T) {
	root, err := filepath.Abs("../..")
	must.Succeed(t, err)
	err = fs.WalkDir(os.DirFS(root), "tui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if strings.Contains(string(text), `Format("15:04:05")`) {
			t.Errorf("%s formats a time of day by itself: describe.Clock does", name)
		}
		return err
	})
	must.Succeed(t, err)
}
