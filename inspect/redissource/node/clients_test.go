package node

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// line is one line of CLIENT LIST.
func line(addr, name string) string {
	return fmt.Sprintf("id=7 addr=%s laddr=10.0.0.1:6379 fd=8 name=%s age=3 idle=0 flags=N db=0 cmd=get user=default resp=2\n", addr, name)
}

func TestParseClients(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Clients
	}{
		"nobody":       {"", Clients{}},
		"no name":      {line("10.0.0.2:5000", ""), Clients{}},
		"too short":    {line("10.0.0.2:5000", "web"), Clients{}},
		"too long":     {line("10.0.0.2:5000", strings.Repeat("x", 1025)), Clients{}},
		"one":          {line("10.0.0.2:5000", "web-1") + line("10.0.0.3:5000", ""), Clients{"web-1": {"10.0.0.2", "10.0.0.2:5000"}}},
		"CR LF":        {strings.ReplaceAll(line("10.0.0.2:5000", "web-1"), "\n", "\r\n"), Clients{"web-1": {"10.0.0.2", "10.0.0.2:5000"}}},
		"a base64 one": {line("10.0.0.2:5000", "MDEyMw=="), Clients{"MDEyMw==": {"10.0.0.2", "10.0.0.2:5000"}}},
		"one host":     {line("10.0.0.2:5000", "web-1") + line("10.0.0.2:5001", "web-1"), Clients{"web-1": {"10.0.0.2", "10.0.0.2"}}},
		"two hosts":    {line("10.0.0.2:5000", "web-1") + line("10.0.0.3:5000", "web-1"), Clients{"web-1": {}}},
		"two, then one of them again": {
			line("10.0.0.2:5000", "web-1") + line("10.0.0.3:5000", "web-1") + line("10.0.0.3:5001", "web-1"), Clients{"web-1": {}},
		},
		"IPv6":                     {line("[2001:db8::1]:5000", "web-1"), Clients{"web-1": {"2001:db8::1", "[2001:db8::1]:5000"}}},
		"IPv4 in IPv6":             {line("[::ffff:10.0.0.2]:5000", "web-1") + line("10.0.0.2:5001", "web-1"), Clients{"web-1": {"10.0.0.2", "10.0.0.2"}}},
		"a socket":                 {line("/run/redis.sock:0", "web-1"), Clients{"web-1": {}}},
		"a socket and a host":      {line("/run/redis.sock:0", "web-1") + line("10.0.0.2:5000", "web-1"), Clients{"web-1": {}}},
		"a host and a socket":      {line("10.0.0.2:5000", "web-1") + line("/run/redis.sock:0", "web-1"), Clients{"web-1": {}}},
		"a zone of text":           {line("[fe80::1%\x1b[31m]:5000", "web-1"), Clients{"web-1": {}}},
		"a name is not an address": {line("web-1", "web-1"), Clients{"web-1": {}}},
		"a field occurs twice":     {line("10.0.0.2:5000", "web-1 addr=10.0.0.9:1"), nil},
		"a name occurs twice":      {line("10.0.0.2:5000", "web-1 name=other"), nil},
		"a space in a name":        {line("10.0.0.2:5000", "web 1"), nil},
		"a newline in a name":      {line("10.0.0.2:5000", "web\n1"), nil},
		"no address":               {"id=7 name=web-1\n", nil},
		"not a list":               {"a server that answers something else", nil},
		"one bad line of three":    {line("10.0.0.2:5000", "web-1") + "\n" + line("10.0.0.2:5001", "web-1"), nil},
		"too many":                 {strings.Repeat(line("10.0.0.2:5000", ""), 2*maxClients+1), nil},
	} {
		got := ParseClients(c.text)
		if !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzParseClients(f *testing.F) {
	f.Add(line("10.0.0.2:5000", "web-1") + line("[::1]:5000", "web-1") + line("/run/redis.sock:0", ""))
	f.Add("id=1 addr= name=\x00\x1b[31m\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, from := range ParseClients(text) {
			if len(name) < minName || len(name) > maxName || strings.ContainsAny(name, " \n") {
				t.Errorf("a name of %d bytes: %q", len(name), name)
			}
			if from == (origin{}) {
				continue
			}
			host, err := netip.ParseAddr(from.Host)
			at, err2 := netip.ParseAddrPort(from.Client)
			if err != nil || from.Client != from.Host && (err2 != nil || at.Addr() != host) {
				t.Errorf("%q is at %q", name, from)
			}
		}
	})
}

func TestConnectionNamesIdentifyOwners(t *testing.T) {
	const uuid = "0c4f6a52-6d4c-4b3c-8f52-0c4f6a526d4c"
	list := ParseClients(line("10.0.0.2:1", "token") + line("10.0.0.3:1", "label") + line("10.0.0.2:2", uuid) + line("10.0.0.2:3", "busy") + line("10.0.0.2:4", "busy"))
	for what, c := range map[string]struct {
		contender inspect.Contender
		want      string
	}{
		"its value":               {inspect.Contender{Name: "token"}, "10.0.0.2:1"},
		"its label":               {inspect.Contender{Name: "x", Owner: inspect.Owner{Label: "label"}}, "10.0.0.3:1"},
		"its library":             {inspect.Contender{Name: uuid + ":1", Owner: inspect.Owner{Process: inspect.Process{LibraryID: uuid, Thread: "1"}}}, "10.0.0.2:2"},
		"the same name and label": {inspect.Contender{Name: "token", Owner: inspect.Owner{Label: "token"}}, "10.0.0.2:1"},
		"two names of one host":   {inspect.Contender{Name: "token", Owner: inspect.Owner{Process: inspect.Process{LibraryID: uuid}}}, "10.0.0.2"},
		"two names of two hosts":  {inspect.Contender{Name: "token", Owner: inspect.Owner{Label: "label"}}, ""},
		"several connections":     {inspect.Contender{Name: "busy"}, "10.0.0.2"},
		"nobody":                  {inspect.Contender{Name: "other"}, ""},
		"no name":                 {inspect.Contender{}, ""},
		"a name within the value": {inspect.Contender{Name: "token:1"}, ""},
		"a truncated value":       {inspect.Contender{Name: "token", Special: inspect.Special{Digest: "sha256:00"}}, ""},
	} {
		must.Equal(t, list.Of(&c.contender).Client, c.want, what)
	}
}
