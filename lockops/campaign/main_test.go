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
)

// counts are numbers of events, by kind.
type counts map[string]int

func (c counts) add(more counts) {
	for kind, n := range more {
		c[kind] += n
	}
}

// within polls until ok, for at most limit.
func within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func TestMain(m *testing.M) {
	WorkerMain()
	servertest.Main(m)
}
