package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

func TestTheDomainThatAllHostsShare(t *testing.T) {
	for hosts, want := range map[string]string{
		"app-1.prod.acme.net:4001 app-2.prod.acme.net:4002":             ".prod.acme.net",
		"app-1.prod.acme.net:4001 batch.test.acme.net 10.0.0.1:4003":    ".acme.net",
		"app-1.prod.acme.net:4001 app-1.prod.acme.net:4002":             "", // one host only
		"app-1.prod.acme.net worker-3 10.0.0.1:53122 app-2.example.com": "",
		"10.0.0.1:4001 10.0.0.2:4002":                                   "",
		"prod.acme.net a.prod.acme.net":                                 ".acme.net",
	} {
		var locks []*inspect.Lock
		for _, host := range strings.Fields(hosts) {
			holder := inspect.Contender{Name: "c", State: inspect.Holding, Owner: inspect.Owner{Client: host}}
			locks = append(locks, &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/" + host}, Holders: []inspect.Contender{holder}})
		}
		if got := SharedDomain(inspect.NewSnapshot(time.Now(), nil, locks)); got != want {
			t.Errorf("%s share %q, want %q", hosts, got, want)
		}
	}
}
