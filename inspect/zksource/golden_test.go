package zksource_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// step is one command for a real client, and the number of contenders afterwards. The lock's path
// is sent between client and word.
type step struct {
	kind, client, word string
	then               int
}

// curatorGoldens are the locks that Curator writes, by the name of the golden file.
var curatorGoldens = map[string][]step{
	"curator-mutex":           {{"mutex", "a", "", 1}, {"mutex", "b", "", 2}, {"mutex", "c", "", 3}},
	"curator-revocable":       {{"revocable", "a", "", 1}},
	"curator-rw":              {{"read", "a", "", 1}, {"read", "b", "", 2}, {"write", "c", "", 3}, {"write", "a", "", 4}, {"read", "d", "", 5}},
	"curator-write":           {{"write", "a", "", 1}, {"read", "b", "", 2}},
	"curator-rw-reentrant":    {{"both", "a", "", 2}, {"write", "b", "", 3}, {"read", "c", "", 4}},
	"curator-rw-threads":      {{"write", "a", "", 1}, {"read", "a", "", 2}},
	"curator-semaphore":       {{"semaphore", "a", "2", 1}, {"semaphore", "b", "2", 2}, {"semaphore", "c", "2", 3}, {"semaphore", "d", "2", 4}, {"semaphore", "a", "2", 5}},
	"curator-semaphore-mutex": {{"semaphore-mutex", "a", "", 1}, {"semaphore-mutex", "b", "", 2}},
	"curator-latch":           {{"latch", "a", "id-a", 1}, {"latch", "b", "id-b", 2}},
	"curator-selector":        {{"selector", "a", "id-a", 1}, {"selector", "b", "id-b", 2}},
	"curator-leads":           {{"selector", "a", "", 1}, {"selector", "b", "", 2}},
	"official-lock":           {{"official", "a", "", 1}, {"official", "b", "", 2}},
	"official-election":       {{"election", "a", "host-a", 1}, {"election", "b", "host-b", 2}},
}

var kazooGoldens = map[string][]step{
	"kazoo-lock":       {{"lock", "a", "", 1}, {"lock", "b", "", 2}, {"lock", "c", "", 3}},
	"kazoo-rw":         {{"read", "a", "", 1}, {"read", "b", "", 2}, {"write", "c", "", 3}, {"read", "d", "", 4}},
	"kazoo-write":      {{"write", "a", "", 1}, {"write", "b", "", 2}},
	"kazoo-election":   {{"election", "a", "", 1}, {"election", "b", "", 2}},
	"kazoo-semaphore":  {{"semaphore", "a", "2", 1}, {"semaphore", "b", "2", 2}, {"semaphore", "c", "2", 3}, {"semaphore", "d", "2", 4}},
	"kazoo-persistent": {{"persistent", "a", "", 1}, {"lock", "b", "", 2}},
}

func TestLocksThatRealLibrariesWrote(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		t.Run("java", func(t *testing.T) {
			compareGoldens(t, zks, servertest.StartCurator(t, zks.Addr), curatorGoldens)
		})
		t.Run("kazoo", func(t *testing.T) {
			compareGoldens(t, zks, servertest.StartKazooLocks(t, zks.Addr), kazooGoldens)
		})
	})
}

// compareGoldens makes the peer acquire all the locks, waits until they are shown, and compares a
// one-shot read of each with its file.
func compareGoldens(t *testing.T, zks *servertest.ZooKeeper, peer *servertest.Peer, goldens map[string][]step) {
	c, root := client(t, zks), servertest.UniquePath(t)
	create(t, c, root, "", 0)
	v, _ := watch(t, zksource.Config{
		Servers: []string{zks.Addr}, Roots: []string{root}, Budget: zksource.Budget{Unlimited: true},
	})
	for name, steps := range goldens {
		p := root + "/" + name
		create(t, c, p, "", 0)
		if name == "kazoo-semaphore" { // the library writes the limit only into a new node
			remove(t, c, p)
		}
		for _, s := range steps {
			peer.Send(t, strings.TrimSpace(strings.Join([]string{s.kind, name + "-" + s.client, p, s.word}, " ")))
			v.Await(fmt.Sprintf("%s: %s of %s", name, s.kind, s.client), func() bool {
				l := v.Locks[p]
				return l != nil && l.Contention() == s.then && settled(l, s.kind)
			})
		}
	}
	initial := map[string]*inspect.Lock{}
	v.Await("no other locks", func() bool {
		maps.Copy(initial, v.Locks)
		return len(v.Locks) == len(goldens)
	})
	for name := range goldens {
		t.Run(name, func(t *testing.T) { compareGolden(t, zks, name, root+"/"+name) })
	}
	for name := range goldens {
		p := root + "/" + name
		before := initial[p]
		if len(before.Waiters) == 0 || before.Holders[0].Persistent || name == "curator-rw-threads" {
			continue
		}
		peer.Send(t, "close", name+"-a") // it holds every lock, and also waits for some
		v.Await(name+": the next holder", func() bool {
			l := v.Locks[p]
			return l.Contention() < before.Contention() && len(l.Holders) > 0 && hasNoContender(l, before.Holders[0].Owner.Session)
		})
	}
}

// hasNoContender reports whether a session has no contender.
func hasNoContender(l *inspect.Lock, session int64) bool {
	for _, c := range append(slices.Clone(l.Holders), l.Waiters...) {
		if c.Owner.Session == session {
			return false
		}
	}
	return true
}

// settled reports whether a Curator semaphore is at rest: new permits are granted or pending, and
// no client is in two places.
func settled(l *inspect.Lock, kind string) bool {
	if !strings.HasPrefix(kind, "semaphore") || l.Recipe != "curator" || len(l.Waiters) == 0 {
		return true
	}
	return l.Waiters[0].State == inspect.Pending && len(l.Holders) == l.Limit && len(l.Holders) <= 2
}

func compareGolden(t *testing.T, zks *servertest.ZooKeeper, name, path string) {
	got := ""
	file := filepath.Join("testdata", name+".json")
	if *update {
		got = observed(t, zks, path)
		must.Succeed(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want := must.Have(os.ReadFile(file))(t)
	// A client may take a moment to set its watch.
	for deadline := time.Now().Add(sourcetest.Limit); got != string(want); got = observed(t, zks, path) {
		if time.Now().After(deadline) {
			t.Fatalf("%s differs (run with -update to accept); got %s", file, got)
		}
	}
}

// observed is a lock's JSON from a one-shot read, without its varying parts.
func observed(t *testing.T, zks *servertest.ZooKeeper, path string) string {
	t.Helper()
	s := observe(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Only: path})
	l := s.Lock(inspect.ID{Backend: "zk", Path: path})
	if l == nil {
		t.Fatalf("%s is not a lock; backend %+v, %d locks", path, s.Backends[0], s.Len())
	}
	text := must.Have(json.MarshalIndent(jsonform.Lock(s, l), "", "  "))(t)
	return normal(strings.ReplaceAll(string(text), path, "/lock")) + "\n"
}

// observe runs an Observer with these rules for one pass.
func observe(t *testing.T, cfg zksource.Config, rules ...inspect.Rule) *inspect.Snapshot {
	t.Helper()
	cfg.Backend, cfg.Once = "zk", true
	ctx, cancel := context.WithTimeout(t.Context(), sourcetest.Limit)
	defer cancel()
	o := inspect.NewObserver(time.Now, zksource.New(cfg))
	o.Diagnose(rules, time.Hour)
	must.Succeed(t, o.Run(ctx))
	return o.Snapshot()
}

// varying parts differ from run to run. Ids are numbered in their order of appearance.
var varying = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}`), "guid"},
	{regexp.MustCompile(`0x[0-9a-f]+|x--?[0-9]+`), "session"},
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]):[0-9]+`), "address"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "time"},
	{regexp.MustCompile(`"age_ms": \d+`), "age"},
	{regexp.MustCompile(`"ttl_ms": \d+`), "ttl"},
}

func normal(text string) string {
	for _, v := range varying {
		seen := map[string]string{}
		text = v.form.ReplaceAllStringFunc(text, func(s string) string {
			if seen[s] == "" {
				seen[s] = fmt.Sprintf("%s %d", v.as, len(seen)+1)
			}
			switch v.as {
			case "time":
				return v.as
			case "age":
				return `"age_ms": 0`
			case "ttl":
				return `"ttl_ms": 1`
			}
			return seen[s]
		})
	}
	return text
}
