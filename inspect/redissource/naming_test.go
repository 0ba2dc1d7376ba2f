package redissource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
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

// keysOf lists the keys of a snapshot's locks.
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
	for key := range strings.FieldsSeq("block:10.0.0.7 clock unlock:a accounts:locked ratelimit:clock:7 stock:blocks") {
		set(t, m, key, "1", 0)
	}
	const shedLock = "ADDED:2026-11-21T09:00:00.123Z@batch-7:" + uuidA
	set(t, m, "job-lock:block:clock", shedLock, time.Minute)
	s := diagnosed(t, config(m))
	must.Same(t, keysOf(s), slices.Insert(slices.Clone(named), 1, "job-lock:block:clock"), "listed")
	for _, key := range named {
		l := lockAt(s, key)
		if l == nil || len(l.Findings) != 1 || rulesOf(l)["no-ttl"] != inspect.Info || l.Confidence != recipe.Possible {
			t.Errorf("%s: %+v", key, l)
		}
	}
}

// A key that the operator names is a lock, and so are all keys that match a pattern. Without a
// lock's name or an owner's value, a match of everything is no reason to warn of a missing TTL.
func TestOperatorNamedKeyIsALock(t *testing.T) {
	t.Parallel()
	m := servertest.StartEmbeddedRedis(t)
	set(t, m, "jobs:report", "worker-3", 0)
	set(t, m, "block:7", "1", 0)
	acme := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: `jobs:[a-z]+`, Contender: "[0-9]+"}))(t)
	named := []string{"jobs:report"}
	for name, tt := range map[string]struct {
		change   func(*redissource.Config)
		locks    []string
		severity inspect.Severity // of the missing TTL of jobs:report
	}{
		"a pattern":        {func(c *redissource.Config) { c.Match = []string{"jobs:*"} }, named, inspect.Warning},
		"the key":          {func(c *redissource.Config) { c.Match = []string{"jobs:report"} }, named, inspect.Warning},
		"only this key":    {func(c *redissource.Config) { c.Only = "jobs:report" }, named, inspect.Warning},
		"a recipe":         {func(c *redissource.Config) { c.Custom = []recipe.Custom{acme} }, named, inspect.Warning},
		"match everything": {func(c *redissource.Config) { c.Match = []string{"*"} }, []string{"block:7", "jobs:report"}, ""},
		"no pattern":       {func(*redissource.Config) {}, nil, ""},
	} {
		cfg := config(m)
		tt.change(&cfg)
		s := diagnosed(t, cfg)
		must.Same(t, keysOf(s), tt.locks, name, "lists")
		must.Equal(t, rulesOf(lockAt(s, "jobs:report"))["no-ttl"], tt.severity, name)
	}
}

func TestRequestedCounterIsNotALock(t *testing.T) {
	t.Parallel()
	m := servertest.StartEmbeddedRedis(t)
	set(t, m, "permits", "3", 0)
	cfg := config(m)
	cfg.Only = "permits"
	if l := lockAt(diagnosed(t, cfg), "permits"); len(l.Findings) > 0 || l.Confidence != recipe.Possible || l.Holders[0].Who() != "unknown" {
		t.Errorf("%s, held by %s: %v", l.Confidence, l.Holders[0].Who(), rulesOf(l))
	}
}

// Only a custom recipe knows these keys. Keys that merely look similar are not listed.
func TestCustomRecipeKeysAreFound(t *testing.T) {
	acme := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: `acme:[a-z]+:leader`, Contender: `(?P<host>[^/]+)/(?P<pid>\d+)`}))(t)
	elsewhere := must.Have(recipe.NewCustom("other", "zookeeper", "", recipe.Patterns{Lock: `.*`}))(t)
	custom := []recipe.Custom{elsewhere, acme}
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		set(t, masters[0], "acme:orders:leader", "web-1/42", time.Minute)
		set(t, masters[0], "acme:7:leader", "web-1/42", time.Minute)
		set(t, masters[0], "lock:a", guid, time.Minute)
		cfg := config(masters...)
		cfg.Match, cfg.Custom = nil, custom
		must.Same(t, keysOf(look(t, cfg)), []string{"acme:orders:leader", "lock:a"}, "found")
		cfg.Match = []string{"lock:*"}
		must.Same(t, keysOf(look(t, cfg)), []string{"lock:a"}, "found with Match set")
		cfg.Match = nil
		v := sourcetest.Watch(t, inspect.Recognise(redissource.New(cfg), custom))
		held := func(key string) bool {
			l := v.Locks[key]
			return l != nil && l.State == inspect.StateHeld && l.Recipe == "acme" && l.Holders[0].Owner.Host == "web-1" && l.Holders[0].Owner.PID == "42"
		}
		v.Await("held", func() bool { return held("acme:orders:leader") })
		set(t, masters[0], "acme:refunds:leader", "web-1/42", time.Minute)
		v.Await("a new one held", func() bool { return held("acme:refunds:leader") && v.Locks["acme:7:leader"] == nil })
	})
}
