package ensemble

import (
	"testing"

	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
)

func TestCountsMembersWithEqualVotes(t *testing.T) {
	t.Parallel()
	const two = "server.1=a:2888:3888:participant;0.0.0.0:2181\nserver.2=b:2888:3888:participant;0.0.0.0:2181\n"
	for configuration, want := range map[string][2]int{
		two + "version=0": {2, 2},
		two + "server.3=c:2888:3888:observer;0.0.0.0:2181\nversion=0": {3, 0},
		two + "group.1=1:2\nweight.1=1\nversion=0":                    {2, 0},
		"version=0": {0, 0},
		"":          {0, 0},
	} {
		if all, voters := countMembers(configuration); all != want[0] || voters != want[1] {
			t.Errorf("%q: %d servers, %d voters", configuration, all, voters)
		}
	}
}

func TestAdminServersMatchTheirServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		servers, admins []string
		want            int
	}{
		{[]string{"a:2181", "b:2181"}, []string{"http://x:8080", "http://y:8080"}, 2},
		{[]string{"a:2181", "b:2181"}, []string{"http://b:8080"}, 2},
		{[]string{"a:2181"}, []string{"http://a:8080", "http://z:8080"}, 2},
		{[]string{"a:2181"}, nil, 1},
	} {
		must.Equal(t, len(newAdmins(c.servers, c.admins, zkadmin.Config{})), c.want, c.servers, c.admins)
	}
}
