package finding

import (
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
)

func TestServersDisagree(t *testing.T) {
	for name, tt := range map[string]struct {
		roles []string
		fires bool
	}{
		"an ensemble":                {[]string{"leader", "follower", "observer"}, false},
		"one alone":                  {[]string{"standalone"}, false},
		"two alone":                  {[]string{"standalone", "standalone"}, true},
		"one alone among others":     {[]string{"leader", "follower", "standalone"}, true},
		"two leaders":                {[]string{"leader", "leader", "follower"}, true},
		"one is cut off and says so": {[]string{"leader", "follower", "read-only"}, false},
		"nobody tells":               {[]string{"", "", "standalone"}, false},
	} {
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper}
		for _, role := range tt.roles {
			b.Servers = append(b.Servers, inspect.Server{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: role})
		}
		found := serversDisagree().rule().Backend(b, now)
		if (len(found) == 1) != tt.fires || tt.fires && !strings.Contains(found[0].Message, tt.roles[len(tt.roles)-1]) && !strings.Contains(found[0].Message, tt.roles[0]) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Two leaders of one ensemble are two epochs of it, for a short time.
func TestTwoLeadersMayBeAnElection(t *testing.T) {
	leader := func(zxid uint64, led time.Duration) inspect.Server {
		s := inspect.Server{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: "leader", Zxid: zxid}
		if led > 0 {
			s.StartedAt = now.Add(-led)
		}
		return s
	}
	for name, tt := range map[string]struct {
		servers []inspect.Server
		fires   bool
	}{
		"one was elected just now":        {[]inspect.Server{leader(1<<32+7, time.Hour), leader(2<<32+1, 5*time.Second)}, false},
		"nobody tells since when it does": {[]inspect.Server{leader(2<<32+1, 0), leader(1<<32+7, 0)}, false},
		"both lead for long":              {[]inspect.Server{leader(1<<32+7, time.Hour), leader(2<<32+1, time.Hour)}, true},
		"two in one epoch":                {[]inspect.Server{leader(1<<32+7, time.Hour), leader(1<<32+8, 5*time.Second)}, true},
	} {
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, HeardAt: now, Servers: tt.servers}
		if found := serversDisagree().rule().Backend(b, now); (len(found) == 1) != tt.fires {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A member that hangs far behind its leader, or has other data, is named; one that is a little behind under load is not.
func TestMembersThatDiffer(t *testing.T) {
	for name, tt := range map[string]struct {
		odd  inspect.Server
		says string // empty: nothing
	}{
		"all have the same":              {odd: inspect.Server{}},
		"a little behind, under load":    {odd: inspect.Server{Lagging: true, Lag: 3 * time.Second}},
		"catching up after its start":    {odd: inspect.Server{Lagging: true, Lag: 9900 * time.Millisecond}},
		"far behind":                     {odd: inspect.Server{Lagging: true, Lag: 12700 * time.Millisecond}, says: "lacks what its leader had 12s before"},
		"more znodes":                    {odd: inspect.Server{NodesApart: 3}, says: "has 3 znodes more than its leader"},
		"fewer znodes":                   {odd: inspect.Server{NodesApart: -1}, says: "has 1 znode fewer than its leader"},
		"far behind by an earlier count": {odd: inspect.Server{Lag: time.Minute, State: inspect.ServerDown}},
	} {
		odd := tt.odd
		odd.Addr, odd.Role = "10.0.0.3:2181", "follower"
		if odd.State == "" {
			odd.State = inspect.ServerUp
		}
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Servers: []inspect.Server{{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: "leader"}, odd}}
		found := serversDisagree().rule().Backend(b, now)
		switch {
		case (len(found) == 1) != (tt.says != ""):
			t.Errorf("%s: %+v", name, found)
		case tt.says == "":
		case !strings.Contains(found[0].Message, tt.says) || found[0].Severity != inspect.Warning || found[0].Subject.Server != "10.0.0.3:2181":
			t.Errorf("%s: %+v", name, found[0])
		default:
			readable(t, found[0])
		}
	}
}
