package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// threeMasters returns three masters with a lock on all of them, and their target.
func threeMasters(t *testing.T) (masters []*servertest.Redis, target string) {
	t.Helper()
	var addrs []string
	for range 3 {
		s := servertest.StartEmbeddedRedis(t)
		must.Succeed(t, s.Client(t).Set(t.Context(), "lock:a", "Y2NjY2NjY2NjY2NjY2NjYw==", time.Hour).Err())
		masters, addrs = append(masters, s), append(addrs, s.Addr)
	}
	return masters, "redis://" + strings.Join(addrs, ",")
}

// noQuorum returns the no-quorum finding, or an empty one if it is absent.
func (d diagnosis) noQuorum() reportedFinding {
	i := slices.IndexFunc(d.all, func(f reportedFinding) bool { return f.Rule == "no-quorum" })
	if i < 0 {
		return reportedFinding{}
	}
	return d.all[i]
}

// The last running member of an ensemble reports that it has no quorum.
func TestLostEnsembleQuorumIsCritical(t *testing.T) {
	t.Parallel()
	var addrs []string
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	target := "zk://" + strings.Join(addrs, ",")
	must.Equal(t, doctor(t, target).noQuorum().Rule, "", "with all members")
	servers[2].Kill(t)
	must.Become(t, "a warning that one more failure loses the quorum", func() bool { return doctor(t, target).noQuorum().Severity == "warning" })
	servers[1].Kill(t)
	must.Become(t, "a critical finding", func() bool {
		d := doctor(t, target, "--timeout", "5s")
		return d.noQuorum().Severity == "critical" && d.code == app.ExitNo
	})
}
