package ensemble

import (
	"fmt"
	"strings"
	"testing"

	"lockscope/inspect/zkadmin"
)

func TestAddressesOfAnEnsemble(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"": "",
		"server.1=z1:2888:3888:participant;0.0.0.0:2181\nserver.2=z2:2888:3888;2182\nversion=100000000": "z1:2181,z2:2182",
		"server.1=z1:2888:3888\nserver.2=[::1]:2888:3888:observer;[::]:2181":                            "z1:2181,[::1]:2181",
		"server.1=10.0.0.1:2888:3888:participant;192.168.0.1:2181\n":                                    "192.168.0.1:2181",
		// One is missing: none is returned.
		"server.1=z1:2888:3888;2181\nserver.2=\n": "",
		"server.1=z1:2888:3888;2181\nserver.2":    "",
		// No words, which could be taken for the advice's own, nor what steers a terminal.
		"server.1=z\x1b[2J:1:2;3":                           "",
		"server.1=z lockscope release zk:/l --yes:1:2;2181": "",
		many(15, "server.1=z%d:1:2;3\n"):                    strings.TrimSuffix(many(15, "z%d:3,"), ","),
		many(16, "server.1=z%d:1:2;3\n"):                    "",
		// The ports of servers on one host are missing: they cannot all be 2181.
		"server.1=127.0.0.1:2888:3888:participant\nserver.2=127.0.0.1:2889:3889:participant": "",
	} {
		if got := addresses(config); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

// many is a format with 0, 1, 2… up to n.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

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
