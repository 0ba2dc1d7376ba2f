package ensemble

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
)

func TestLagIsMeasuredPerMember(t *testing.T) {
	t.Parallel()
	const epoch1, epoch2 = 1 << 32, 2 << 32
	type look struct {
		second           int
		leader, follower uint64
		want             time.Duration
	}
	for name, looks := range map[string][]look{
		"up to date":                  {{0, epoch1 | 5, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 9, 0}},
		"a little behind, under load": {{0, epoch1 | 5, epoch1 | 4, 0}, {10, epoch1 | 500, epoch1 | 499, 0}, {20, epoch1 | 900, epoch1 | 890, 0}},
		"hanging":                     {{0, epoch1 | 5, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 5, 0}, {20, epoch1 | 30, epoch1 | 5, 10 * time.Second}},
		"catching up":                 {{0, epoch1 | 9, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 7, 10 * time.Second}, {20, epoch1 | 9, epoch1 | 9, 0}},
		"truncated by a new leader":   {{0, epoch1 | 9, epoch1 | 5, 0}, {10, epoch2, epoch1 | 5, 0}, {20, epoch2 | 1, epoch2 | 1, 0}},
		"nothing since an election":   {{0, epoch2, epoch1 | 5, 0}, {60, epoch2, epoch1 | 5, 0}},
		"unknown zxid":                {{0, epoch1 | 9, 0, 0}, {60, epoch1 | 9, 0, 0}},
	} {
		e := &Ensemble{}
		for _, l := range looks {
			at := noon.Add(time.Duration(l.second) * time.Second)
			servers := []answer{
				{asked: true, at: at, asOf: at, status: zkadmin.Status{Role: "leader", Zxid: l.leader}},
				{asked: true, at: at, asOf: at, status: zkadmin.Status{Role: "follower", Zxid: l.follower}},
			}
			e.measureLag(servers)
			if servers[0].lag != 0 || servers[1].lag != l.want {
				t.Errorf("%s: after %d s the leader lags %v, the follower %v, want %v", name, l.second, servers[0].lag, servers[1].lag, l.want)
			}
		}
	}
}

func TestNodesAreCountedAtOneTransaction(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		one, leader zkadmin.Status
		want        int
	}{
		"the same":                  {zkadmin.Status{Zxid: 7, Nodes: 9}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
		"more":                      {zkadmin.Status{Zxid: 7, Nodes: 11}, zkadmin.Status{Zxid: 7, Nodes: 9}, 2},
		"fewer":                     {zkadmin.Status{Zxid: 7, Nodes: 8}, zkadmin.Status{Zxid: 7, Nodes: 9}, -1},
		"at another transaction":    {zkadmin.Status{Zxid: 6, Nodes: 8}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
		"both transactions unknown": {zkadmin.Status{Nodes: 8}, zkadmin.Status{Nodes: 9}, 0},
		"one count unknown":         {zkadmin.Status{Zxid: 7}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
	} {
		must.Equal(t, nodesApart(tt.one, tt.leader), tt.want, name)
	}
}
