package recipe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestCustomReadsItsGroups(t *testing.T) {
	c := must.Have(NewCustom("acme", "zookeeper", "rw", Patterns{
		Lock: `/acme/(?P<library_id>[^/]+)/locks/[^/]+`, Contender: `(?P<mode>r|w)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}`, Data: `job (?P<label>.*)`,
	}))(t)
	const path = "/acme/eu/locks/orders"
	for p, owns := range map[string]bool{path: true, path + "/x": false, "x" + path: false} {
		must.Equal(t, c.Owns(p), owns, p, "matches")
	}
	for _, tt := range []struct {
		name, data string
		want       Token
		ok         bool
	}{
		{"r-host1-42-0000000007", "job nightly\nrun", Token{Recipe: "acme", Confidence: Certain, Kind: "rw", Host: "host1", PID: "42", Label: "nightly\nrun", LibraryID: "eu", Mode: Shared, HasMode: true}, true},
		{"w-host1-42-0000000007", "other", Token{Recipe: "acme", Confidence: Certain, Kind: "rw", Host: "host1", PID: "42", LibraryID: "eu", HasMode: true}, true},
		{"x-host1-42-0000000007", "", Token{}, false},
	} {
		got, ok := c.Read(path, tt.name, tt.data)
		must.True(t, ok == tt.ok && got == tt.want, tt.name, got, ok, "want", tt.want)
	}
}

func TestBadCustomRecipesAreExplained(t *testing.T) {
	for _, tt := range []struct {
		backend, kind string
		patterns      Patterns
		says          string
	}{
		{"etcd", "", Patterns{Lock: "x"}, "zookeeper, redis"},
		{"redis", "latch", Patterns{Lock: "x"}, "mutex, rw"},
		{"redis", "", Patterns{}, "missing pattern lock"},
		{"redis", "", Patterns{Lock: "("}, "pattern lock: "},
		{"redis", "", Patterns{Lock: "x", Contender: "(?P<hots>x)"}, `"hots"`},
		{"redis", "", Patterns{Lock: "x", Data: "x"}, "znodes"},
		{"redis", "", Patterns{Lock: "x", Confidence: "sure"}, `"sure"`},
	} {
		_, err := NewCustom("acme", tt.backend, tt.kind, tt.patterns)
		must.Contain(t, fmt.Sprint(err), tt.says, tt)
	}
}

func TestCustomKeyPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		`job:[a-z]+:owner`:                    "job:*:owner",
		`(?P<host>[^:]+):(?P<pid>\d+):leader`: "*:*:leader",
		`a{2}.*b|c`:                           "*",
		`x\*\?\[\\\d+\d*y`:                    `x\*\?\[\\*y`,
		`(?i)Lead`:                            "*",
		`^app:leader$`:                        "app:leader",
		`app:(?:eu|us):leader`:                "app:*:leader",
	} {
		c := must.Have(NewCustom("acme", "redis", "", Patterns{Lock: pattern}))(t)
		got := c.KeyPatterns()
		must.True(t, slices.Equal(got, []string{want}), pattern, got, "want", want)
	}
}

func TestCustomReadsTimesAndCounts(t *testing.T) {
	c := must.Have(NewCustom("acme", "redis", "semaphore", Patterns{
		Lock: `acme:.+`, Contender: `(?:(?P<count>\d+) of|(?P<uuid1>[^/ ]+)/(?P<since>{instant})) until (?P<until>.+)`,
		Scan: []string{"acme:*"}, Confidence: Possible, ConfidenceIfNamed: Likely,
	}))(t)
	end := time.UnixMilli(1795317377191).UTC()
	for _, tt := range []struct {
		key, value string
		want       Token
		ok         bool
	}{
		{"acme:a", "3 of until 1795317377191", Token{Recipe: "acme", Confidence: Possible, Kind: "semaphore", Mode: Shared, HasMode: true, Count: 3, Until: end}, true},
		{"acme:lock", "3 of until 1795317377.191", Token{Recipe: "acme", Confidence: Likely, Kind: "semaphore", Mode: Shared, HasMode: true, Count: 3, Until: end}, true},
		{"acme:a", "0 of until 1795317377191", Token{}, false},
		{"acme:a", "3 of until tomorrow", Token{}, false},
		{"acme:a", "3 of until 9995317377191", Token{}, false},
		{"acme:a", uuid + "/2026-11-21T09:00:00Z until 1795317377191", Token{}, false},
	} {
		got, ok := c.Read(tt.key, tt.value, "")
		must.True(t, ok == tt.ok && got == tt.want, tt.key, "=", tt.value, got, ok, "want", tt.want)
	}
	got, ok := c.Read("acme:a", uuidV1+"/2026-11-21T09:00:00Z until 1795317377191", "")
	must.True(t, ok && got.Host == "3c:52:00:aa:bb:cc", "host of", got, ok)
	must.Equal(t, got.Since.Year(), 2026, "year")
	must.Same(t, c.KeyPatterns(), []string{"acme:*"})
	c.patterns.NoTTL, c.patterns.Clients, c.patterns.Wakes.Channel = true, []string{"acme"}, "wake:{key}"
	channels, _ := c.WakeChannels("a")
	must.Equal(t, fmt.Sprint(c.Clients(), channels), "[acme] [wake:a]", "clients and channels")
	must.Same(t, []bool{c.NoTTL(), c.OneServer()}, []bool{true, false}, "no TTL, one server")
}

func FuzzCustom(f *testing.F) {
	f.Add(`(?P<host>.+)-(?P<mode>r)`, "a-r", "/x")
	f.Fuzz(func(_ *testing.T, pattern, name, path string) {
		if c, err := NewCustom("x", "redis", "", Patterns{Lock: pattern, Contender: pattern}); err == nil && c.Owns(path) {
			c.Read(path, name, "")
			c.KeyPatterns()
		}
	})
}
