package finding

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestServersDisagree(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		roles []string
		says  string // empty if nothing is found
	}{
		"an ensemble":                          {[]string{"leader", "follower", "observer"}, ""},
		"one alone":                            {[]string{"standalone"}, ""},
		"two alone":                            {[]string{"standalone", "standalone"}, "not one ensemble: 10.0.0.1:2181 is standalone, 10.0.0.2:2181 is standalone"},
		"a standalone server among members":    {[]string{"leader", "follower", "standalone"}, "not one ensemble: 10.0.0.3:2181 is standalone, 10.0.0.1:2181 is leader"},
		"two leaders":                          {[]string{"leader", "leader", "follower"}, "not one ensemble: 10.0.0.2:2181 is leader, 10.0.0.1:2181 is leader"},
		"two leaders after a follower":         {[]string{"follower", "leader", "leader"}, "not one ensemble: 10.0.0.3:2181 is leader, 10.0.0.2:2181 is leader"},
		"two leaders around one":               {[]string{"leader", "follower", "leader"}, "not one ensemble: 10.0.0.3:2181 is leader, 10.0.0.1:2181 is leader"},
		"two leaders, and a standalone server": {[]string{"follower", "leader", "leader", "standalone"}, "not one ensemble: 10.0.0.4:2181 is standalone, 10.0.0.1:2181 is follower"},
		"one reports that it is cut off":       {[]string{"leader", "follower", "read-only"}, ""},
		"unknown roles":                        {[]string{"", "", "standalone"}, ""},
	} {
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper}
		for i, role := range tt.roles {
			b.Servers = append(b.Servers, inspect.Server{Addr: fmt.Sprintf("10.0.0.%d:2181", i+1), State: inspect.ServerUp, Role: role, Zxid: 1<<32 + 7})
		}
		found := serversDisagree().rule().Backend(b, now)
		must.Equal(t, (len(found) == 1), (tt.says != ""), name, found)
		if len(found) == 0 {
			continue
		}
		f := found[0]
		if f.Message != tt.says || f.Confidence != recipe.Certain || f.Severity != inspect.Warning || !strings.HasPrefix(f.Advice(), "give each ensemble its own target") {
			t.Errorf("%s: %+v", name, f)
		}
		var roles []string
		for _, server := range f.Evidence["servers"].([]evidence) {
			roles = append(roles, server["role"].(string))
		}
		must.Same(t, roles, tt.roles, name, "roles in the evidence")
		readable(t, f)
	}
}

// Two leaders may belong to one ensemble if one was paused during an election. If both persist,
// they belong to two ensembles.
func TestTwoLeadersMayBeAnElection(t *testing.T) {
	t.Parallel()
	leader := func(zxid uint64, led, said time.Duration) inspect.Server {
		s := inspect.Server{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: "leader", Zxid: zxid, LeadsFor: said}
		if led > 0 {
			s.StartedAt = now.Add(-led)
		}
		return s
	}
	const once, later, epoch = 0, 40 * time.Second, 1 << 32
	for name, tt := range map[string]struct {
		servers    []inspect.Server
		watch, one recipe.Confidence // confidence of the finding in a watch, and in a single read; empty if none
	}{
		"one was elected just now":             {[]inspect.Server{leader(epoch+7, time.Hour, later), leader(2*epoch+1, 5*time.Second, once)}, "", ""},
		"unknown for how long it has led":      {[]inspect.Server{leader(2*epoch+1, 0, once), leader(epoch+7, 0, later)}, "", ""},
		"one was paused for long":              {[]inspect.Server{leader(epoch+7, time.Hour, once), leader(2*epoch+1, 5*time.Minute, later)}, "", recipe.Possible},
		"it has claimed to lead for 10 s":      {[]inspect.Server{leader(epoch+7, time.Hour, 10*time.Second), leader(2*epoch+1, 5*time.Minute, later)}, "", recipe.Possible},
		"unknown transactions":                 {[]inspect.Server{leader(0, time.Hour, once), leader(0, time.Hour, later)}, "", recipe.Possible},
		"both lead for long":                   {[]inspect.Server{leader(epoch+7, time.Hour, later), leader(2*epoch+1, time.Hour, later)}, recipe.Certain, recipe.Certain},
		"both lead since unknown times":        {[]inspect.Server{leader(epoch+7, 0, later), leader(2*epoch+1, 0, later)}, recipe.Certain, recipe.Certain},
		"two in one epoch":                     {[]inspect.Server{leader(epoch+7, time.Hour, once), leader(epoch+8, 5*time.Second, once)}, recipe.Certain, recipe.Certain},
		"two in one epoch, as one was elected": {[]inspect.Server{leader(epoch+7, 0, later), leader(epoch+8, 0, once)}, recipe.Certain, recipe.Certain},
	} {
		for mode, want := range map[inspect.Mode]recipe.Confidence{inspect.ModeWatch: tt.watch, inspect.ModeOnce: tt.one} {
			b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Mode: mode, HeardAt: now, Servers: tt.servers}
			found := serversDisagree().rule().Backend(b, now)
			must.Equal(t, (len(found) == 1), (want != ""), name, mode, found)
			for _, f := range found {
				if f.Confidence != want || (f.Severity == inspect.Warning) != (want == recipe.Certain) || strings.HasPrefix(f.Message, "not one") != (want == recipe.Certain) {
					t.Errorf("%s, %s: %+v", name, mode, f)
				}
				readable(t, f)
			}
		}
	}
}

// A member that is far behind its leader, or has different data, is named. A short lag under load
// is not reported.
func TestMembersThatDiffer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		odd  inspect.Server
		says string // empty if nothing is found
		// advised is part of the advice; evidence is a key and value of the evidence.
		advised, evidence string
	}{
		"all have the same":              {odd: inspect.Server{}},
		"a little behind, under load":    {odd: inspect.Server{Lagging: true, Lag: 3 * time.Second}},
		"catching up after its start":    {odd: inspect.Server{Lagging: true, Lag: 9900 * time.Millisecond}},
		"far behind":                     {odd: inspect.Server{Lagging: true, Lag: 12700 * time.Millisecond}, says: "is at least 12s behind its leader", advised: "restart it if it does not catch up", evidence: "lag_ms 12700"},
		"more znodes":                    {odd: inspect.Server{NodesApart: 3}, says: "has 3 znodes more than its leader", advised: "move version-2 out of its dataDir", evidence: "nodes_apart 3"},
		"fewer znodes":                   {odd: inspect.Server{NodesApart: -1}, says: "has 1 znode fewer than its leader", advised: "do not trust a lock that only it shows", evidence: "nodes_apart -1"},
		"far behind by an earlier count": {odd: inspect.Server{Lag: time.Minute, State: inspect.ServerDown}},
	} {
		odd := tt.odd
		odd.Addr, odd.Role, odd.Zxid = "10.0.0.3:2181", "follower", 1<<32+7
		if odd.State == "" {
			odd.State = inspect.ServerUp
		}
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Servers: []inspect.Server{{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: "leader"}, odd}}
		found := serversDisagree().rule().Backend(b, now)
		switch {
		case (len(found) == 1) != (tt.says != ""):
			t.Errorf("%s: %+v", name, found)
		case tt.says == "":
		case !strings.Contains(found[0].Message, tt.says) || found[0].Severity != inspect.Warning || found[0].Subject.Server != "10.0.0.3:2181",
			!strings.Contains(found[0].Advice(), tt.advised):
			t.Errorf("%s: %+v", name, found[0])
		case fmt.Sprintf("%s %v", key(tt.evidence), found[0].Evidence[key(tt.evidence)]) != tt.evidence || found[0].Evidence["zxid"] != "0x100000007":
			t.Errorf("%s: %v", name, found[0].Evidence)
		default:
			readable(t, found[0])
		}
	}
}

// A single read reports a lagging member as info, since it may only be catching up.
func TestSingleLookReportsLaggingMember(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode    inspect.Mode
		lagging bool
		lag     time.Duration
		want    inspect.Severity // empty if nothing is found
	}{
		"behind by over a second":     {inspect.ModeOnce, true, 1100 * time.Millisecond, inspect.Info},
		"it could not be asked again": {inspect.ModeOnce, true, 3 * time.Millisecond, ""},
		"it has caught up":            {inspect.ModeOnce, false, 1100 * time.Millisecond, ""},
		"watching":                    {inspect.ModeWatch, true, 1100 * time.Millisecond, ""},
		"far behind":                  {inspect.ModeOnce, true, 12 * time.Second, inspect.Warning},
	} {
		odd := inspect.Server{Addr: "10.0.0.3:2181", State: inspect.ServerUp, Role: "follower", Zxid: 1<<32 + 7, Lagging: tt.lagging, Lag: tt.lag}
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Mode: tt.mode, Servers: []inspect.Server{{Addr: "10.0.0.1:2181", State: inspect.ServerUp, Role: "leader"}, odd}}
		found := serversDisagree().rule().Backend(b, now)
		must.Equal(t, (len(found) == 1), (tt.want != ""), name, found)
		for _, f := range found {
			again := strings.HasPrefix(f.Advice(), "look again")
			if f.Severity != tt.want || again != (tt.want == inspect.Info) || f.Subject.Server != "10.0.0.3:2181" || f.Evidence["lag_ms"] != tt.lag.Milliseconds() {
				t.Errorf("%s: %+v", name, f)
			}
			readable(t, f)
		}
	}
}

func key(evidence string) string {
	name, _, _ := strings.Cut(evidence, " ")
	return name
}
