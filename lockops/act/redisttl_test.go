package act

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// The command line's users depend on these words.
func TestReasonsOfOtherPackagesStay(t *testing.T) {
	must.Same(t, []Reason{Declined, ReadOnly}, []Reason{"declined", "read-only"})
}

func TestBoundsOfTTLAreChecked(t *testing.T) {
	must.Equal(t, expiryCondition(&inspect.Vote{}), ", whatever its expiry")
	for ttl, ok := range map[time.Duration]bool{
		time.Second: true, time.Second - 1: false, 366 * 24 * time.Hour: true, 366*24*time.Hour + 1: false,
	} {
		err := CheckTTL(ttl)
		must.Equal(t, err == nil, ok, ttl)
		if !ok {
			must.Equal(t, err.Error(), "use a time from 1s to 366 days")
		}
	}
}
