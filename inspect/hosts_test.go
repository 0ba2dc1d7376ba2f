package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/internal/must"
)

func TestHostsHaveNames(t *testing.T) {
	var rules []inspect.HostRule
	for _, r := range [][3]string{
		{"10.0.3.7", "", "billing-1"},
		{"10.0.3.9/24", "", "batch rack"}, // the network of an address
		{"fd00::/64", "", "lab"},
		{"", `(?P<app>[a-z-]+)-[0-9a-f]{8,10}-(?P<id>[a-z0-9]{5})`, "pod {app}/{id}"},
	} {
		rules = append(rules, must.Have(inspect.NewHostRule(r[0], r[1], r[2]))(t))
	}
	for _, tt := range []struct {
		name, client string
		host, want   inspect.Untrusted // want is empty if no rule names the host
	}{
		{name: "an address", client: "10.0.3.7:50312", want: "billing-1"},
		{name: "its network", client: "10.0.3.8:50312", want: "batch rack"},
		{name: "several connections of one host", client: "10.0.3.8", want: "batch rack"},
		{name: "IPv4 in IPv6", client: "[::ffff:10.0.3.7]:1", want: "billing-1"},
		{name: "IPv6", client: "[fd00::17]:1", want: "lab"},
		{name: "only written", host: "10.0.3.7", want: "billing-1"},
		{name: "a pod", host: "orders-7d9f8b6c54-x2kqz", want: "pod orders/x2kqz"},
		{name: "a pod behind an address", client: "10.9.9.9:1", host: "orders-7d9f8b6c54-x2kqz", want: "pod orders/x2kqz"},
		{name: "all of it is matched", host: "x orders-7d9f8b6c54-x2kqz"},
		{name: "this host", client: "127.0.0.1:1"},
		{name: "a name that is not an address", host: "web-1"},
		{name: "unknown host"},
	} {
		l := heldFrom(tt.client, tt.host)
		got, ok := named(&inspect.Hosts{Rules: rules}, l).HostName(&l.Holders[0].Owner)
		must.True(t, got == tt.want && ok == (tt.want != ""), tt.name, got, ok, "want", tt.want)
	}
	l := heldFrom("10.0.3.7:1", "")
	text := func(hosts *inspect.Hosts) string {
		return string(must.Have(json.Marshal(jsonform.Lock(named(hosts, l), l)))(t))
	}
	must.Contain(t, text(&inspect.Hosts{Rules: rules}), `"host_name":{"name":"billing-1","from":"configuration"}`)
	must.True(t, !strings.Contains(text(nil), "host_name"), text(nil))
}

func heldFrom(client string, host inspect.Untrusted) *inspect.Lock {
	owner := inspect.Owner{Client: client, Process: inspect.Process{Host: host}}
	holders := []inspect.Contender{{Name: "x", State: inspect.Holding, Owner: owner}}
	return &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/l"}, Holders: holders}
}

// named returns a snapshot of a lock with host names.
func named(hosts *inspect.Hosts, l *inspect.Lock) *inspect.Snapshot {
	return inspect.NewSnapshot(time.Now(), nil, []*inspect.Lock{l}).WithHosts(hosts)
}

func TestInvalidHostRulesAreRejected(t *testing.T) {
	for _, r := range [][3]string{
		{"", "", "x"},
		{"10.0.0.1", "", ""},
		{"10.0.0.1", "web", "x"},
		{"10.0.0.1/33", "", "x"},
		{"web-1", "", "x"},
		{"", "(", "x"},
		{"", "(a)", "{}"},
		{"", "(?P<a>.*)", "{b}"},
		{"10.0.0.1", "", "{a}"},
	} {
		_, err := inspect.NewHostRule(r[0], r[1], r[2])
		must.True(t, err != nil, r, "is accepted")
	}
}
