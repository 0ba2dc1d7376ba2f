package redissource_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// rulesOf maps a lock's findings to their severities.
func rulesOf(l *inspect.Lock) map[string]inspect.Severity {
	found := map[string]inspect.Severity{}
	if l != nil {
		for _, f := range l.Findings {
			found[f.Rule] = f.Severity
		}
	}
	return found
}

func keysOf(s *inspect.Snapshot) (keys []string) {
	for l := range s.Locks() {
		keys = append(keys, l.ID.Path)
	}
	return keys
}

// lockAt is the lock of a key, or nil.
func lockAt(s *inspect.Snapshot, key string) *inspect.Lock {
	return s.Lock(inspect.ID{Backend: "redis", Path: key})
}

func TestOnlyLockNamesMakeLocks(t *testing.T) {
	t.Parallel()
	m := servertest.StartEmbeddedRedis(t)
	named := []string{"celery:beat:task_lock", "lock:report", "orderLock:42", "scheduler:master_lock"}
	for _, key := range named {
		set(t, m, key, "worker-3:2817", 0)
	}
	const shedLock = "ADDED:2026-11-21T09:00:00.123Z@batch-7:" + uuidA
	for _, key := range []string{"block:10.0.0.7", "clock", "unlock:a", "accounts:locked", "ratelimit:clock:7", "stock:blocks"} {
		set(t, m, key, "1", 0)
	}
	set(t, m, "job-lock:block:clock", shedLock, time.Minute)
	cfg := config([]*servertest.Redis{m})
	s := diagnosed(t, cfg)
	if got, want := keysOf(s), slices.Sorted(slices.Values(append([]string{"job-lock:block:clock"}, named...))); !slices.Equal(got, want) {
		t.Fatalf("listed %q, want %q", got, want)
	}
	for _, key := range named {
		l := lockAt(s, key)
		if got := rulesOf(l); !maps.Equal(got, map[string]inspect.Severity{"no-ttl": inspect.Info}) || l.Confidence != recipe.Possible {
			t.Errorf("%s is %s: %v", key, l.Confidence, got)
		}
	}
}

// A key that the operator names is a lock, whatever its value.
func TestOperatorNamedKeyIsALock(t *testing.T) {
	t.Parallel()
	m := servertest.StartEmbeddedRedis(t)
	set(t, m, "jobs:report", "worker-3", 0)
	set(t, m, "block:7", "1", 0)
	acme := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: `jobs:[a-z]+`, Contender: "[0-9]+"}))(t)
	for name, tt := range map[string]struct {
		change func(*redissource.Config)
		want   inspect.Severity
	}{
		"a pattern":        {func(c *redissource.Config) { c.Match = []string{"jobs:*"} }, inspect.Warning},
		"the key":          {func(c *redissource.Config) { c.Match = []string{"jobs:report"} }, inspect.Warning},
		"only this key":    {func(c *redissource.Config) { c.Only = "jobs:report" }, inspect.Warning},
		"a recipe":         {func(c *redissource.Config) { c.Custom = []recipe.Custom{acme} }, inspect.Warning},
		"match everything": {func(c *redissource.Config) { c.Match = []string{"*"} }, ""},
		"no pattern":       {func(*redissource.Config) {}, ""},
	} {
		cfg := config([]*servertest.Redis{m})
		tt.change(&cfg)
		s := diagnosed(t, cfg)
		must.Equal(t, rulesOf(lockAt(s, "jobs:report"))["no-ttl"], tt.want, name)
		if l := lockAt(s, "block:7"); (l != nil) != (name == "match everything") {
			t.Errorf("%s: block:7 is %+v", name, l)
		}
	}
}

func TestRequestedCounterIsNotALock(t *testing.T) {
	t.Parallel()
	m := servertest.StartEmbeddedRedis(t)
	set(t, m, "permits", "3", 0)
	cfg := config([]*servertest.Redis{m})
	cfg.Only = "permits"
	if l := lockAt(diagnosed(t, cfg), "permits"); len(l.Findings) > 0 || l.Confidence != recipe.Possible || l.Holders[0].Who() != "unknown" {
		t.Errorf("%s, held by %s: %v", l.Confidence, l.Holders[0].Who(), rulesOf(l))
	}
}

func TestMatchedKeysRaiseLeftoverSeverity(t *testing.T) {
	t.Parallel()
	masters := servertest.StartEmbeddedMasters(t, 3)
	for i := range 30 { // so that the masters look like one Redlock
		for _, m := range masters {
			set(t, m, fmt.Sprintf("lock:%d", i), "c", time.Minute)
		}
	}
	for i, value := range []string{"a", "b"} {
		set(t, masters[i], "lock:split", value, time.Minute)
	}
	set(t, masters[0], "lock:left", "a", time.Minute)
	for severity, match := range map[inspect.Severity][]string{inspect.Info: nil, inspect.Warning: {"lock:*"}} {
		cfg := config(masters)
		cfg.Match = match
		s := diagnosed(t, cfg)
		split := severity
		if match != nil {
			split = inspect.Critical
		}
		must.Equal(t, rulesOf(lockAt(s, "lock:split"))["split-quorum"], split, match, "severity of split-quorum")
		must.Equal(t, rulesOf(lockAt(s, "lock:left"))["minority-leftover"], severity, match, "severity of minority-leftover")
	}
}
