package redissource

import "testing"

func TestKeysOfOneScan(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want int
	}{
		"watching":             {},
		"one pass":             {cfg: Config{Once: true}, want: 1000},
		"without pauses":       {cfg: Config{Budget: Budget{Unlimited: true}}, want: 1000},
		"configured":           {cfg: Config{Budget: Budget{ScanCount: 7}}, want: 7},
		"configured, one pass": {cfg: Config{Once: true, Budget: Budget{ScanCount: 7}}, want: 7},
		"above the maximum":    {cfg: Config{Budget: Budget{ScanCount: 5000}}, want: 1000},
	} {
		if got := tt.cfg.withDefaults().scanLimits().Count; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
