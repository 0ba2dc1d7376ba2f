//go:build unix && failpoints

package campaign

import (
	"math/rand/v2"
	"sync"
	"time"

	"lockscope/internal/failpoint"
)

// stopAtFailpoints has those who come by a place of package failpoint stand still there now and then, at times until after
// the end of a lease; report notes each.
func stopAtFailpoints(report *Report, seed uint64, lease time.Duration) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 4))
	oneOf := map[string]int{failpoint.Created: 200, failpoint.Granted: 200, failpoint.Renewing: 10, failpoint.Renewed: 10, failpoint.Deleting: 3}
	failpoint.Stop(func(place string) {
		mu.Lock()
		stands := random.IntN(oneOf[place]) == 0
		d := time.Duration(random.Int64N(int64(lease * 3 / 2)))
		mu.Unlock()
		if stands {
			report.Add(Record{Op: OpStood, Text: place})
			time.Sleep(d)
		}
	})
}
