package finding

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// ensemble returns the servers of a target, which reported as of now.
func ensemble(mode inspect.Mode, servers ...inspect.Server) *inspect.Backend {
	b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Mode: mode, HeardAt: now, Servers: servers}
	for i := range servers {
		if s := &servers[i]; s.State == "" {
			s.State = inspect.ServerUp
		}
	}
	return b
}

func TestServersDisagree(t *testing.T) {
	t.Parallel()
	roles := func(roles ...string) *inspect.Backend {
		var servers []inspect.Server
		for i, role := range roles {
			servers = append(servers, inspect.Server{Addr: fmt.Sprintf("10.0.0.%d:2181", i+1), Role: role, Zxid: 1<<32 + 7})
		}
		return ensemble("", servers...)
	}
	check(t, "servers-disagree",
		silent("an ensemble", roles("leader", "follower", "observer")),
		silent("one alone", roles("standalone")),
		fires("two alone", roles("standalone", "standalone")),
		fires("a standalone server among members", roles("leader", "follower", "standalone")),
		fires("two leaders", roles("leader", "leader", "follower")),
		fires("two leaders after a follower", roles("follower", "leader", "leader")),
		fires("two leaders around one", roles("leader", "follower", "leader")),
		fires("two leaders, and a standalone server", roles("follower", "leader", "leader", "standalone")),
		silent("one reports that it is cut off", roles("leader", "follower", "read-only")),
		silent("unknown roles", roles("", "", "standalone")),
	)
}

// Two leaders may belong to one ensemble if one was paused during an election. If both persist,
// they belong to two ensembles.
func TestTwoLeadersMayBeAnElection(t *testing.T) {
	t.Parallel()
	leader := func(zxid uint64, led, said time.Duration) inspect.Server {
		s := inspect.Server{Addr: "10.0.0.1:2181", Role: "leader", Zxid: zxid, LeadsFor: said}
		if led > 0 {
			s.StartedAt = now.Add(-led)
		}
		return s
	}
	const once, later, epoch = 0, 40 * time.Second, 1 << 32
	var states []state
	for _, tt := range []struct {
		name          string
		one, other    inspect.Server
		watched, read bool // it fires in a watch, and in a single read
	}{
		{"one was elected just now", leader(epoch+7, time.Hour, later), leader(2*epoch+1, 5*time.Second, once), false, false},
		{"unknown for how long it has led", leader(2*epoch+1, 0, once), leader(epoch+7, 0, later), false, false},
		{"one was paused for long", leader(epoch+7, time.Hour, once), leader(2*epoch+1, 5*time.Minute, later), false, true},
		{
			"it has claimed to lead for 10 s",
			leader(epoch+7, time.Hour, 10*time.Second), leader(2*epoch+1, 5*time.Minute, later), false, true,
		},
		{"unknown transactions", leader(0, time.Hour, once), leader(0, time.Hour, later), false, true},
		{"both lead for long", leader(epoch+7, time.Hour, later), leader(2*epoch+1, time.Hour, later), true, true},
		{"both lead since unknown times", leader(epoch+7, 0, later), leader(2*epoch+1, 0, later), true, true},
		{"two in one epoch", leader(epoch+7, time.Hour, once), leader(epoch+8, 5*time.Second, once), true, true},
		{"two in one epoch, as one was elected", leader(epoch+7, 0, later), leader(epoch+8, 0, once), true, true},
	} {
		states = append(states,
			state{tt.name + ", watched", present(ensemble(inspect.ModeWatch, tt.one, tt.other)), tt.watched},
			state{tt.name + ", in a single read", present(ensemble(inspect.ModeOnce, tt.one, tt.other)), tt.read})
	}
	check(t, "servers-disagree", states...)
}

// A member that is far behind its leader, or has different data, is named. A short lag under load
// is not reported. A single read reports it as info, since the member may only be catching up.
func TestMembersThatDiffer(t *testing.T) {
	t.Parallel()
	member := func(mode inspect.Mode, odd inspect.Server) *inspect.Backend {
		odd.Addr, odd.Role, odd.Zxid = "10.0.0.3:2181", "follower", 1<<32+7
		return ensemble(mode, inspect.Server{Addr: "10.0.0.1:2181", Role: "leader"}, odd)
	}
	behind := func(mode inspect.Mode, lag time.Duration) *inspect.Backend {
		return member(mode, inspect.Server{Lagging: true, Lag: lag})
	}
	check(t, "servers-disagree",
		silent("all have the same", member("", inspect.Server{})),
		silent("a little behind, under load", behind("", 3*time.Second)),
		silent("catching up after its start", behind("", 9900*time.Millisecond)),
		fires("far behind", behind("", 12700*time.Millisecond)),
		fires("more znodes", member("", inspect.Server{NodesApart: 3})),
		fires("fewer znodes", member("", inspect.Server{NodesApart: -1})),
		silent("far behind by an earlier count", member("", inspect.Server{Lag: time.Minute, State: inspect.ServerDown})),
		fires("behind by over a second in a single read", behind(inspect.ModeOnce, 1100*time.Millisecond)),
		silent("it could not be asked again", behind(inspect.ModeOnce, 3*time.Millisecond)),
		silent("it has caught up", member(inspect.ModeOnce, inspect.Server{Lag: 1100 * time.Millisecond})),
		silent("behind by over a second, watched", behind(inspect.ModeWatch, 1100*time.Millisecond)),
		fires("far behind in a single read", behind(inspect.ModeOnce, 12*time.Second)),
	)
}
