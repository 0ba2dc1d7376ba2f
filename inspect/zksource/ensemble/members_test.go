package ensemble

import (
	"testing"

	"github.com/lockscope/lockscope/inspect/zkadmin"
)

func TestAdminServersArePairedWithTheirServers(t *testing.T) {
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
		if got := newAdmins(c.servers, c.admins, zkadmin.Config{}); len(got) != c.want {
			t.Errorf("%v %v: %d", c.servers, c.admins, len(got))
		}
	}
}
