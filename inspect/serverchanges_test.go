package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestServerChangesAreReported(t *testing.T) {
	// A word is a server: ADDR:ROLE, ADDR:ROLE:RUN with the second of its start, or
	// ADDR:leader::EPOCH with + if it has long led. "-" is a backend that is down.
	backend := func(kind BackendKind, words string) *Backend {
		b := &Backend{Name: "b", Kind: kind, State: Connected, Mode: ModePush}
		if words == "-" {
			b.State = Down
			return b
		}
		for _, w := range strings.Fields(words) {
			parts := append(strings.Split(w, ":"), "", "")
			s := Server{Addr: parts[0], Role: parts[1], State: ServerUp}
			if run := parts[2]; run != "" {
				var seconds int
				must.Have(fmt.Sscan(run, &seconds))(t)
				s.RunID, s.StartedAt = run, now.Add(time.Duration(seconds)*time.Second)
			}
			if epoch := parts[3]; epoch != "" {
				s.Zxid = uint64(epoch[0]-'0')<<32 + 7
				if strings.HasSuffix(epoch, "+") {
					s.LeadsFor = time.Minute
				}
			}
			if s.Role == "" {
				s.State = ServerDown
			}
			b.Servers = append(b.Servers, s)
		}
		return b
	}
	for name, tt := range map[string]struct {
		kind  BackendKind
		steps []string
		want  string
	}{
		"nothing":                                           {Redis, []string{"a:master:1 b:master:1", "a:master:1 b:master:1"}, ""},
		"restarted":                                         {Redis, []string{"a:master:1", "a:master:9"}, "restarted a a"},
		"restarted while it was down":                       {Redis, []string{"a:master:1", "-", "a:master:9"}, "restarted a a"},
		"restarted while one did not answer":                {Redis, []string{"a:master:1 b:master:1", "a: b:master:1", "a:master:9 b:master:1"}, "restarted a a"},
		"only silent":                                       {Redis, []string{"a:master:1", "-", "a:master:1"}, ""},
		"not reported for a while":                          {Redis, []string{"a:master:1", "a:master", "a:master:1"}, ""},
		"another master of the same name":                   {Redis, []string{"a:master:1", "b:master:1"}, "master a b"},
		"a replica took over":                               {Redis, []string{"a:master:1 b:replica:1", "a: b:replica:1", "a: b:master:1", "a:replica:9 b:master:1"}, "master a b, restarted a a"},
		"one of three has another master":                   {Redis, []string{"a:master:1 b:master:1 c:master:1", "a:master:1 d:master:1 c:master:1"}, "master b d"},
		"a master was added":                                {Redis, []string{"a:master:1", "a:master:1 b:master:1"}, ""},
		"a master that started earlier took over":           {Redis, []string{"a:master:5", "a:master:3"}, ""},
		"another leads":                                     {ZooKeeper, []string{"a:leader b:follower", "a:follower b:leader"}, "leader a b"},
		"another leads after an election":                   {ZooKeeper, []string{"a:leader b:follower", "a: b:", "a:follower b:leader"}, "leader a b"},
		"the same leads after an election":                  {ZooKeeper, []string{"a:leader b:follower", "a: b:", "a:leader b:follower"}, ""},
		"a stopped leader wakes and claims to lead":         {ZooKeeper, []string{"a:leader::1 b:follower", "a: b:leader::2", "a:leader::1 b:leader::2", "a:follower b:leader::2"}, "leader a b"},
		"it claims to lead while the elected one is silent": {ZooKeeper, []string{"a:leader::1 b:", "a: b:leader::2", "a:leader::1 b:", "a:follower b:leader::2"}, "leader a b"},
		"the ensemble is recreated, with epochs from 1":     {ZooKeeper, []string{"a:leader::5 b:", "a:leader::1", "a:follower::1 b:leader::2", "a:follower b:leader::2+"}, "leader a b"},
		"the newest election is not the last in the list":   {ZooKeeper, []string{"a:leader::2 b:follower", "a:leader::2 b:leader::1 c:leader::3", "a:leader::2 b:leader::1 c:leader::3"}, "leader a c"},
		"two lead in one epoch":                             {ZooKeeper, []string{"b:leader::2", "a:leader::2 b:leader::2 c:leader::1", "b:leader::2"}, ""},
		"two lead in unknown epochs":                        {ZooKeeper, []string{"b:leader", "a:leader b:leader", "a:leader"}, "leader b a"},
		"the leader is reported late":                       {ZooKeeper, []string{"a: b:", "a:leader b:follower"}, ""},
	} {
		var k cluster
		var got []string
		for _, words := range tt.steps {
			for _, e := range k.changed(backend(tt.kind, words), now) {
				got = append(got, fmt.Sprint(e.Change.What, " ", e.Change.From, " ", e.Change.To))
			}
		}
		must.Equal(t, strings.Join(got, ", "), tt.want, name)
	}
}

func TestServerChangeBecomesAnEvent(t *testing.T) {
	a := applying(t)
	was := *zkUp
	was.Servers = []Server{{Addr: "a", Role: "leader"}, {Addr: "b", Role: "follower"}}
	is := *zkUp
	is.Servers = []Server{{Addr: "a", Role: "follower"}, {Addr: "b", Role: "leader"}}
	a.send(0, Update{Backend: &was})
	a.send(1, Update{Backend: &is})
	must.Equal(t, a.reports(t), "changed", "another leader")
}
