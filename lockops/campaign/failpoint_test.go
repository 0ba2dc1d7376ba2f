//go:build unix && failpoints

package campaign

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
		for end := time.Now().Add(time.Minute); place == failpoint.Granted; time.Sleep(time.Millisecond) {
			watches, err := fourLetters(server.Addr, "wchp")
			if err != nil || time.Now().After(end) {
				t.Errorf("its node is not watched: %q, %v", watches, err)
				return
			}
			if strings.Contains(watches, "/lock/") {
				return
			}
		}
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
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if records, err := ReadReport(path); err != nil || time.Now().After(limit) {
			t.Fatalf("none stopped: %v, %v", records, err)
		} else if len(records) > 0 {
			break
		}
	}
	end()
	must.Be(t, report.Close(), nil)
	actors.Wait()
}
