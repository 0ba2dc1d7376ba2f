package chain

import (
	"testing"
	"time"
)

// A last contact dates from the last reading. If that is old, the client does not look gone.
func TestOldContactSaysNothing(t *testing.T) {
	for _, test := range []struct {
		since time.Duration
		known bool
		want  string
	}{
		{2 * time.Second, true, "last contact 2.0s ago"},
		{8 * time.Second, true, ""},
		{0, false, "last contact unknown"},
	} {
		if got := contactWords(test.since, test.known, 4*time.Second); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
