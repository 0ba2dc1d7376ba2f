package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// A time of day alone is read as the nearest one.
func TestDistantTimesShowDate(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 14, 7, 0, time.UTC)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(-time.Hour), "02:14:07"},
		{now.Add(-4 * time.Hour), "23:14:07"},
		{now.Add(-12 * time.Hour), "2026-11-22 15:14:07"},
		{now.Add(21 * time.Hour), "2026-11-24 00:14:07"},
		{now.AddDate(-1, 0, 0), "2025-11-23 03:14:07"},
		{now.Add(-time.Hour).In(time.FixedZone("ahead", 22*3600)), "02:14:07"},
	} {
		must.Equal(t, When(tt.at, now), tt.want, tt.at)
	}
	must.Contain(t, Blind(inspect.Interval{From: now.AddDate(0, 0, -2), To: now}), "2026-11-2", "two days")
	must.Contain(t, momentText(now.AddDate(0, 0, -2), now), "2026-11-21 03:14:07", "evidence")
}

func TestHoldSinceEarlierDayShowsDate(t *testing.T) {
	at := time.Now()
	for days, want := range map[int]bool{0: false, 3: true} {
		seen := at.AddDate(0, 0, -days)
		v := View{Snapshot: inspect.NewSnapshot(at, []*inspect.Backend{{Name: "r", Mode: inspect.ModePush}}, nil), Now: at}
		h := inspect.Contender{Name: "h", State: inspect.Holding, Seen: seen}
		l := &inspect.Lock{ID: inspect.ID{Backend: "r", Path: "k"}, State: inspect.StateHeld, Holders: []inspect.Contender{h}}
		date := seen.Local().Format(time.DateOnly)
		for _, got := range []string{v.Held(l, &h).String(), v.Standing(l)} {
			if strings.Contains(got, date) != want || !strings.Contains(got, "already held at ") {
				t.Errorf("seen %d days ago: %q", days, got)
			}
		}
	}
}
