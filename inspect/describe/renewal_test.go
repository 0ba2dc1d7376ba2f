package describe

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

func TestRenewalInWords(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for want, r := range map[string]inspect.Renewal{
		"":                                      {},
		"renewed 3.0s ago":                      {Count: 1, Last: now.Add(-3 * time.Second)},
		"renewed every 10s, 3.0s ago":           {Count: 2, Every: 10 * time.Second, Last: now.Add(-3 * time.Second)},
		"renewed every 10s, 3.0s ago, 2 missed": {Count: 9, Every: 10 * time.Second, Last: now.Add(-3 * time.Second), Skipped: 2},
	} {
		if got := Renewal(&inspect.History{Renewal: r}, now); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	if got := Renewal(nil, now); got != "" {
		t.Errorf("without a watched renewal: %q", got)
	}
}
