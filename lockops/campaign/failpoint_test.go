//go:build unix && failpoints

package campaign

import (
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/failpoint"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// A hold is watched from the moment of its grant, not only once Acquire returns. In between, the
// caller's goroutine may be paused for any time, and an operator may delete the node.
func TestFailpoint_HoldIsWatchedBeforeReturn(t *testing.T) {
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := must.Have(lockops.NewZKSession(t.Context(), []string{server.Addr}))(t)
	defer s.Close()
	failpoint.Stop(func(place string) {
		watched := place != failpoint.Granted || within(time.Minute, func() bool {
			watches, err := zkadmin.New(zkadmin.Config{Addr: server.Addr}).WatchesByPath(t.Context())
			must.Be(t, err, nil)
			return each.Any(maps.Keys(watches), func(path string) bool { return strings.HasPrefix(path, "/lock/") })
		})
		must.True(t, watched, "its node is not watched")
	})
	defer failpoint.Stop(func(string) {})
	h := must.Have(lockops.NewZKMutex(s, "/lock").Acquire(t.Context()))(t)
	must.Be(t, h.Release(t.Context()), nil)
}

// The end of a round resumes workers stopped at a failpoint, and waits for them, so that none
// writes to a closed report.
func TestFailpoint_RoundEndResumesStoppedWorkers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nemesis.jsonl")
	report := must.Have(OpenReport(path, 0, func(err error) { t.Error(err) }))(t)
	end := stopAtFailpoints(report, 1, time.Hour)
	var actors sync.WaitGroup
	for range 4 {
		actors.Go(func() {
			for range 1000 {
				failpoint.At(failpoint.Deleting)
			}
		})
	}
	must.Become(t, "some stopped", func() bool { return len(must.Have(ReadReport(path))(t)) > 0 })
	end()
	must.Be(t, report.Close(), nil)
	actors.Wait()
}
