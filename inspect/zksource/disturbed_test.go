package zksource

import (
	"testing"
	"time"

	"lockscope/inspect/zkadmin"
)

func TestWhenClientsHadToConnectAnew(t *testing.T) {
	up := func(role string, uptime time.Duration, election uint64) serverAnswer {
		return serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: role, Uptime: uptime, Zxid: election<<32 | 5}}
	}
	oldest := func(a serverAnswer, at time.Time) serverAnswer { a.oldest = at; return a }
	down := serverAnswer{asked: true, at: noon, failed: zkadmin.ErrNoQuorum, err: "down"}
	for name, tt := range map[string]struct {
		before, after serverAnswer
		want          time.Time
	}{
		"it tells since when it serves":              {serverAnswer{}, up("leader", time.Hour, 1), noon.Add(-time.Hour)},
		"it serves anew":                             {up("leader", time.Hour, 1), up("leader", time.Minute, 2), noon.Add(-time.Minute)},
		"it went down":                               {up("leader", time.Hour, 1), down, noon},
		"it is down":                                 {down, down, time.Time{}},
		"its oldest client tells it":                 {serverAnswer{}, oldest(up("follower", 0, 1), noon.Add(-time.Minute)), noon.Add(-time.Minute)},
		"nobody tells":                               {serverAnswer{}, up("follower", 0, 1), noon},
		"it does not tell, and served before":        {up("follower", 0, 1), oldest(up("follower", 0, 1), noon.Add(-time.Minute)), time.Time{}},
		"it does not tell, and was elected":          {up("follower", 0, 1), oldest(up("leader", 0, 2), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"it does not tell, and another was elected":  {up("follower", 0, 1), up("follower", 0, 2), noon},
		"it does not tell, and was down in between":  {down, oldest(up("follower", 0, 1), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"it serves only those who only read":         {serverAnswer{}, up(roleReadOnly, time.Minute, 1), time.Time{}},
		"it served all, and now those who only read": {up("leader", time.Hour, 1), up(roleReadOnly, time.Minute, 1), noon},
	} {
		r := testRun(t, Config{})
		r.answers = []serverAnswer{tt.before}
		r.disturbedBy([]serverAnswer{tt.after})
		if !r.disturbedAt.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, r.disturbedAt, tt.want)
		}
	}
}
