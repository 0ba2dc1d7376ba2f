//go:build unix && failpoints

package campaign

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/failpoint"
)

// stopAtFailpoints pauses goroutines now and then at the places of package failpoint, for up to one
// and a half leases. report gets a record of each pause. end resumes them all, and waits until they
// have stopped writing to the report.
func stopAtFailpoints(report *Report, seed uint64, lease time.Duration) (end func()) {
	var mu sync.Mutex // guards the variables below
	var standing sync.WaitGroup
	over, goOn := false, make(chan struct{})
	random := rand.New(rand.NewPCG(seed, 4))
	oneOf := map[string]int{
		failpoint.Created: 200, failpoint.Granted: 200, failpoint.Renewing: 10,
		failpoint.Renewed: 10, failpoint.Deleting: 3,
	}
	failpoint.Stop(func(place string) {
		mu.Lock()
		stop := !over && random.IntN(oneOf[place]) == 0
		d := time.Duration(random.Int64N(int64(lease * 3 / 2)))
		if stop {
			standing.Add(1)
		}
		mu.Unlock()
		if !stop {
			return
		}
		defer standing.Done()
		report.Add(Record{Op: OpStood, Text: place})
		select {
		case <-time.After(d):
		case <-goOn:
		}
	})
	return func() {
		failpoint.Stop(func(string) {})
		mu.Lock()
		over = true // also for those that passed without being counted
		mu.Unlock()
		close(goOn)
		standing.Wait()
	}
}
