package zkserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// Every scenario runs against a new embedded and a new real server. The transcripts must be equal: reply order,
// zxids, error codes, watch events, and Stat without times.
func TestTranscriptsMatchRealServer(t *testing.T) {
	t.Parallel()
	embedded := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	real := servertest.StartZooKeeper(t)
	for _, scenario := range must.Have(txtar.ParseFile("testdata/scenarios.txtar"))(t).Files {
		t.Run(scenario.Name, func(t *testing.T) {
			play := func(addr string) []string {
				w := newWorld(t, addr)
				w.play(string(scenario.Data))
				return strings.Split(w.log.String(), "\n")
			}
			want := play(real.Addr)
			if diff := cmp.Diff(want, play(embedded.Addr)); diff != "" {
				t.Errorf("- real, + embedded:\n%s", diff)
			}
			if testing.Verbose() {
				t.Log("\n" + strings.Join(want, "\n"))
			}
		})
	}
}
