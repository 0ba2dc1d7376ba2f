//go:build unix

package campaign

import (
	"flag"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// The campaign's length and seed; `make soak` sets them.
var (
	campaignFor  = flag.Duration("campaign.for", 0, "minimum time to hunt; each target gets at least one round")
	campaignSeed = flag.Uint64("campaign.seed", 1, "seed of the first round, which increases by one each round")
	campaignOn   = flag.String("campaign.targets", "", "targets, separated by commas; empty means all")
	minOps       = flag.Int("campaign.min-ops", 2000, "minimum number of operations in all")
	minFaults    = flag.Int("campaign.min-faults", 20, "minimum number of faults in all")
	goOn         = flag.Bool("campaign.go-on", false, "go on after a round that failed")
	roundTime    = flag.Duration("campaign.round", 4*time.Second, "how long faults go on in a round")
)

func TestMain(m *testing.M) {
	WorkerMain()
	servertest.Main(m)
}
