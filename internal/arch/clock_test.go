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

// clocked are the folders whose code gets the time from its caller. internal is exempt: it talks to
// servers or is one.
var clocked = []string{"tui", "inspect", "lockops", "sandbox", "theme"}

// clocks lists the files that use the clock of package time, the functions, and the reason.
var clocks = map[string]struct {
	uses string // sorted, without repeats
	why  string
}{
	"inspect/observer.go":                  {"NewTicker NewTimer Now", "the loop's tick, and the default clock for pacing"},
	"inspect/recording/replay.go":          {"NewTimer", "waits for the next recorded instant"},
	"inspect/internal/sourcekit/sleep.go":  {"NewTimer", "pauses between requests"},
	"inspect/redissource/config.go":        {"Now", "the default clock"},
	"inspect/redissource/source.go":        {"After NewTicker NewTimer", "the loop's ticks and its alarm"},
	"inspect/zkadmin/server.go":            {"Until", "divides the time left in a context, whose deadline is by the process's clock"},
	"inspect/zksource/config.go":           {"Now", "the default clock"},
	"inspect/zksource/ensemble/inquiry.go": {"NewTimer", "waits for its turn"},
	"inspect/zksource/link.go":             {"Tick", "ticks of the liveness checks of a server"},
	"inspect/zksource/source.go":           {"NewTimer Tick", "the loop's tick and its alarm"},
	"inspect/internal/stall/stall.go":      {"NewTicker", "ticks that show whether this process was stopped"},
	"inspect/internal/sourcetest/view.go":  {"After Now", "limits of tests"},
	"lockops/act/audit.go":                 {"Now", "the default clock"},
	"lockops/campaign/client.go":           {"After", "holds a lock for a while"},
	"lockops/campaign/failpoints_on.go":    {"After", "pauses"},
	"lockops/campaign/ways.go":             {"After Sleep", "delays connects and closes"},
	"lockops/campaign/worker.go":           {"NewTicker Now Sleep", "its own process, on the machine's clock"},
	"lockops/clock.go":                     {"After Now", "the default clock, and waits"},
	"lockops/contend/contender.go":         {"After", "holds a lock for a while"},
	"lockops/contend/run.go":               {"NewTicker Now", "ticks of the watch, and the default clock"},
	"lockops/lease.go":                     {"AfterFunc", "wakes when something is due by the clock"},
	"lockops/redisattempt.go":              {"After Sleep", "waits for a clean-up, and until a request is too late"},
	"lockops/redismaster.go":               {"After", "bounds a wait"},
	"lockops/redisclient.go":               {"Now Since", "deadlines of requests, which the network enforces"},
	"lockops/redissub.go":                  {"After", "bounds a wait"},
	"lockops/redlockelection.go":           {"After AfterFunc", "bound requests and waits"},
	"lockops/redlockvote.go":               {"After", "pauses between attempts"},
	"lockops/zkcontender.go":               {"NewTimer", "bounds a wait"},
	"lockops/zkgrant.go":                   {"AfterFunc", "sets a watch only on longer holds"},
	"lockops/zklease.go":                   {"NewTimer", "wakes when something is due by the clock"},
	"lockops/zknode.go":                    {"After", "pauses between attempts"},
	"lockops/zksession.go":                 {"After", "bounds a wait"},
	"lockops/zkwatch.go":                   {"AfterFunc", "checks again in case a watch was lost"},
	"sandbox/sandbox.go":                   {"After", "paces a scene"},
	"sandbox/redisserver.go":               {"Now Since", "is a server with its own clock"},
	"tui/clients/making.go":                {"NewTimer", "pauses between two lists"},
	"tui/feed.go":                          {"NewTimer", "ticks of the screen"},
	"tui/lab/labruns.go":                   {"NewTimer", "ticks of a run's lanes"},
	"tui/options.go":                       {"Now", "the default clock"},
}

// uses lists a file's uses of the clock of package time.
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

func TestTimeComesFromTheCaller(t *testing.T) {
	root := must.Have(filepath.Abs("../.."))(t)
	seen := map[string]bool{}
	for _, dir := range clocked {
		err := fs.WalkDir(os.DirFS(root), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			seen[name] = true
			if got, want := uses(t, filepath.Join(root, name)), clocks[name].uses; got != want {
				t.Errorf("%s uses %q of package time's clock, but clocks allows %q", name, got, want)
			}
			return nil
		})
		must.Succeed(t, err)
	}
	for name := range clocks {
		must.True(t, seen[name], name, "is in clocks but does not exist")
	}
}

// Only describe.Clock formats times of day, so that they are local on every screen, even in a
// recording, whose instants are in UTC.
func TestTimesOfDayHaveOneHome(t *testing.T) {
	root, err := filepath.Abs("../..")
	must.Succeed(t, err)
	err = fs.WalkDir(os.DirFS(root), "tui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if strings.Contains(string(text), `Format("15:04:05")`) {
			t.Errorf("%s formats a time of day: use describe.Clock", name)
		}
		return err
	})
	must.Succeed(t, err)
}
