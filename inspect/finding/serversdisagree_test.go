package finding

import (
	"strings"
	"testing"

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
