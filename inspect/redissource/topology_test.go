package redissource

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A node that has no time for the question is asked nothing, and the next one is.
func TestATopologyIsNotReadFromANodeThatIsBusy(t *testing.T) {
	busy := newMaster("10.0.0.1:6379", redis.UniversalOptions{Addrs: []string{"10.0.0.1:6379"}}, time.Millisecond, time.Now)
	for range cap(busy.slots) {
		busy.slots <- struct{}{}
	}
	if _, err := readTopology(t.Context(), []*master{busy, busy}); err == nil || strings.Count(err.Error(), "10.0.0.1:6379") != 2 {
		t.Errorf("%v does not name both", err)
	}
}
