package finding

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

// The message and the evidence have the numbers. A backend without outliers has no finding.
func TestOutlierClient(t *testing.T) {
	t.Parallel()
	b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper}
	if found := outlierClient().rule().Backend(b, now); found != nil {
		t.Errorf("found without outliers: %+v", found)
	}
	b.Outliers = []inspect.Outlier{
		{Owner: "worker-7\x1b[2J", Session: 7, Client: "10.0.0.7:5000", Under: "/locks", Entries: 512, Holds: 500, Peers: 40, Usual: 2},
		{Owner: "worker-8", Under: "/locks", Entries: 60, Holds: 60, Peers: 40, Usual: 2},
	}
	found := outlierClient().rule().Backend(b, now)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	f := found[0]
	readable(t, f)
	clients, _ := f.Evidence["clients"].([]evidence)
	if f.Severity != inspect.Info || !strings.Contains(f.Message, "512 entries (500 hold) under /locks; most of its 40 peers have up to 2") ||
		len(clients) != 2 || clients[0]["session"] != "0x7" || clients[0]["under"] != "zk:/locks" || clients[1]["entries"] != 60 {
		t.Errorf("%+v", f)
	}
}
