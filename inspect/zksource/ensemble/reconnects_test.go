package ensemble

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
)

func TestServerChangesDateReconnects(t *testing.T) {
	t.Parallel()
	up := func(role string, uptime time.Duration, election uint64) answer {
		return answer{asked: true, at: noon, status: zkadmin.Status{Role: role, Uptime: uptime, Zxid: election<<32 | 5}}
	}
	oldest := func(a answer, at time.Time) answer { a.oldest = at; return a }
	down := answer{asked: true, at: noon, failed: zkadmin.ErrNoQuorum, err: "down"}
	for name, tt := range map[string]struct {
		before, after answer
		want          time.Time
	}{
		"known uptime":                    {answer{}, up("leader", time.Hour, 1), noon.Add(-time.Hour)},
		"a new uptime":                    {up("leader", time.Hour, 1), up("leader", time.Minute, 2), noon.Add(-time.Minute)},
		"went down":                       {up("leader", time.Hour, 1), down, noon},
		"still down":                      {down, down, time.Time{}},
		"known oldest client":             {answer{}, oldest(up("follower", 0, 1), noon.Add(-time.Minute)), noon.Add(-time.Minute)},
		"neither known":                   {answer{}, up("follower", 0, 1), noon},
		"unknown uptime, served before":   {up("follower", 0, 1), oldest(up("follower", 0, 1), noon.Add(-time.Minute)), time.Time{}},
		"unknown uptime, elected":         {up("follower", 0, 1), oldest(up("leader", 0, 2), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"unknown uptime, another elected": {up("follower", 0, 1), up("follower", 0, 2), noon},
		"unknown uptime, down before":     {down, oldest(up("follower", 0, 1), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"read-only":                       {answer{}, up(roleReadOnly, time.Minute, 1), time.Time{}},
		"became read-only":                {up("leader", time.Hour, 1), up(roleReadOnly, time.Minute, 1), noon},
	} {
		e := &Ensemble{}
		e.answers = []answer{tt.before}
		e.disturbedBy([]answer{tt.after})
		must.True(t, e.disturbedAt.Equal(tt.want), name, e.disturbedAt, "want", tt.want)
	}
}

// A known instant always counts. A computed one counts only if it cannot be the previous one. Neither
// replaces a later one.
func TestLatestReconnectTimeIsKept(t *testing.T) {
	t.Parallel()
	e := &Ensemble{}
	for _, step := range []struct {
		note        func(time.Time)
		what        string
		after, want time.Duration
	}{
		{e.Disturb, "known", 10 * time.Second, 10 * time.Second},
		{e.disturbAbout, "computed", 14 * time.Second, 10 * time.Second},
		{e.Disturb, "known", 14 * time.Second, 14 * time.Second},
		{e.Disturb, "known", 12 * time.Second, 14 * time.Second},
		{e.disturbAbout, "computed", 20 * time.Second, 20 * time.Second},
		{e.disturbAbout, "computed", 12 * time.Second, 20 * time.Second},
	} {
		if step.note(noon.Add(step.after)); !e.disturbedAt.Equal(noon.Add(step.want)) {
			t.Errorf("%s after %v: %v, want after %v", step.what, step.after, e.disturbedAt.Sub(noon), step.want)
		}
	}
}
