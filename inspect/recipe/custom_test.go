package recipe

import (
	"strings"
	"testing"
)

func TestCustomReadsItsGroups(t *testing.T) {
	c, err := NewCustom("acme", "zookeeper", "rw", Patterns{
		Lock: `/acme/(?P<library_id>[^/]+)/locks/[^/]+`, Contender: `(?P<mode>r|w)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}`, Data: `job (?P<label>.*)`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Owns("/acme/eu/locks/orders") || c.Owns("/acme/eu/locks/orders/x") || c.Owns("x/acme/eu/locks/orders") {
		t.Error("a pattern has to match the whole path")
	}
	for _, tt := range []struct {
		name, data string
		want       CustomEntry
		ok         bool
	}{
		{"r-host1-42-0000000007", "job nightly\nrun", CustomEntry{Host: "host1", PID: "42", Label: "nightly\nrun", LibraryID: "eu", Mode: Shared, HasMode: true}, true},
		{"w-host1-42-0000000007", "other", CustomEntry{Host: "host1", PID: "42", LibraryID: "eu", HasMode: true}, true},
		{"x-host1-42-0000000007", "", CustomEntry{}, false},
	} {
		if got, ok := c.Read("/acme/eu/locks/orders", tt.name, tt.data); ok != tt.ok || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, ok, tt.want)
		}
	}
}

func TestCustomSaysWhatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct {
		backend, kind string
		patterns      Patterns
		says          string
	}{
		{"etcd", "", Patterns{Lock: "x"}, "zookeeper, redis"},
		{"redis", "latch", Patterns{Lock: "x"}, "mutex, rw"},
		{"redis", "", Patterns{}, "no pattern lock"},
		{"redis", "", Patterns{Lock: "("}, "pattern lock"},
		{"redis", "", Patterns{Lock: "x", Contender: "(?P<hots>x)"}, `"hots"`},
		{"redis", "", Patterns{Lock: "x", Data: "x"}, "znodes"},
	} {
		if _, err := NewCustom("acme", tt.backend, tt.kind, tt.patterns); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt, err)
		}
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
		c, err := NewCustom("acme", "redis", "", Patterns{Lock: pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.KeyPattern(); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func FuzzCustom(f *testing.F) {
	f.Add(`(?P<host>.+)-(?P<mode>r)`, "a-r", "/x")
	f.Fuzz(func(_ *testing.T, pattern, name, path string) {
		if c, err := NewCustom("x", "redis", "", Patterns{Lock: pattern, Contender: pattern}); err == nil && c.Owns(path) {
			c.Read(path, name, "")
			c.KeyPattern()
		}
	})
}
