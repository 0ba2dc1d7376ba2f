package redissource

import "testing"

// How many keys one SCAN looks at: the fewest while others are there who wait for it, unless it is said.
func TestKeysOfOneScan(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   Config
		rests bool
		want  int
	}{
		"in the course of watching":            {want: 50},
		"between long pauses":                  {rests: true, want: 1000},
		"one pass":                             {cfg: Config{Once: true}, want: 1000},
		"without pauses":                       {cfg: Config{Budget: Budget{Unlimited: true}}, want: 1000},
		"as many as is said":                   {cfg: Config{Budget: Budget{ScanCount: 7}}, want: 7},
		"as many as is said, and no more ever": {cfg: Config{Budget: Budget{ScanCount: 7}}, rests: true, want: 7},
		"as many as is said, in one pass":      {cfg: Config{Once: true, Budget: Budget{ScanCount: 7}}, want: 7},
		"too many":                             {cfg: Config{Budget: Budget{ScanCount: 5000}}, want: 1000},
	} {
		s := newScanner(nil, tt.cfg.withDefaults())
		s.resting = func() bool { return tt.rests }
		if got := s.count(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
