package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestAgesByTheLeadersClock(t *testing.T) {
	ahead := LeaderClock{Known: true, Offset: time.Hour, Within: time.Second, From: 100, Oldest: now, Newest: now.Add(time.Hour)}
	guessed := LeaderClock{Offset: time.Minute, From: 100, Oldest: now.Add(-time.Hour), Newest: now}
	for name, tt := range map[string]struct {
		clock   LeaderClock
		instant time.Duration // after now
		czxid   int64
		age     time.Duration
		dates   bool
	}{
		"without a clock":                {LeaderClock{}, -time.Minute, 1, time.Minute, true},
		"a future instant":               {LeaderClock{}, time.Minute, 1, 0, true},
		"an hour ahead":                  {ahead, 59 * time.Minute, 100, time.Minute, true},
		"younger than the uncertainty":   {ahead, time.Hour - time.Second, 100, time.Second, true},
		"dated by another leader":        {ahead, -24 * time.Hour, 99, time.Hour, false},
		"against the newest instant":     {guessed, -time.Minute, 100, time.Minute, false},
		"older than the oldest":          {guessed, 24 * time.Hour, 99, time.Hour, false},
		"nothing known of older entries": {LeaderClock{From: 100, Newest: now}, -time.Hour, 99, 0, false},
	} {
		b := &Backend{Clock: tt.clock}
		must.Equal(t, b.AgeAtLeast(now.Add(tt.instant), tt.czxid, now), tt.age, name)
		must.Equal(t, b.Dates(tt.czxid), tt.dates, name)
		must.Equal(t, b.ClockOffset(), tt.clock.Offset, name)
	}
}
