package zksource_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-zookeeper/zk"

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
			compareGoldens(t, inDirectory(t, zks), servertest.StartCurator(t, zks.Addr), curatorGoldens, "curator-mutex")
		})
		t.Run("kazoo", func(t *testing.T) {
			compareGoldens(t, inDirectory(t, zks), servertest.StartKazooLocks(t, zks.Addr), kazooGoldens, "kazoo-lock")
		})
	})
}

// compareGoldens makes the peer acquire all the locks, waits until they are shown, and compares a
// one-shot read of each with its file. queue names a plain one.
func compareGoldens(t *testing.T, s *scene, peer *servertest.Peer, goldens map[string][]step, queue string) {
	s.cfg.Budget.Unlimited, s.cfg.Admin = true, []string{s.zks.Admin}
	v := s.watch()
	for name, steps := range goldens {
		p := s.root + "/" + name
		if name != "kazoo-semaphore" { // the library writes the limit only into a new node
			s.dirs("/" + name)
		}
		for _, step := range steps {
			peer.Send(t, strings.TrimSpace(strings.Join([]string{step.kind, name + "-" + step.client, p, step.word}, " ")))
			v.awaitLock(p, fmt.Sprintf("%s: %s of %s", name, step.kind, step.client), func(l *inspect.Lock) bool {
				return l.Contention() == step.then && settled(l, step.kind)
			})
		}
	}
	awaitClients(v, s.root+"/"+queue)
	initial := map[string]*inspect.Lock{}
	v.Await("no other locks", func() bool {
		maps.Copy(initial, v.Locks)
		return len(v.Locks) == len(goldens)
	})
	for name := range goldens {
		t.Run(name, func(t *testing.T) { compareGolden(t, s, name) })
	}
	for name := range goldens {
		p := s.root + "/" + name
		before := initial[p]
		if len(before.Waiters) == 0 || before.Holders[0].Persistent || name == "curator-rw-threads" {
			continue
		}
		peer.Send(t, "close", name+"-a") // it holds every lock, and also waits for some
		v.awaitLock(p, name+": the next holder", func(l *inspect.Lock) bool {
			gone := before.Holders[0].Owner.Session
			stays := slices.ContainsFunc(contenders(l), func(c inspect.Contender) bool { return c.Owner.Session == gone })
			return l.Contention() < before.Contention() && len(l.Holders) > 0 && !stays
		})
	}
}

// awaitClients waits for the address of every contender's client, and for the watches of a queue's waiters.
func awaitClients(v watching, queue string) {
	v.t.Helper()
	v.focus(queue)
	v.Await("every client's address", func() bool {
		for _, l := range v.Locks {
			if slices.ContainsFunc(contenders(l), func(c inspect.Contender) bool {
				return c.Owner.Session != 0 && v.Sessions[c.Owner.Session].Client == ""
			}) {
				return false
			}
		}
		return true
	})
	v.awaitLock(queue, "every waiter's watch", func(l *inspect.Lock) bool {
		return v.Watches != nil && len(l.Waiters) == 2 && !slices.ContainsFunc(l.Waiters, func(c inspect.Contender) bool {
			return !slices.Contains(v.Watches.Sessions[queue+"/"+c.Watches.Raw()], c.Owner.Session)
		})
	})
}

// contenders are the holders and waiters of a lock.
func contenders(l *inspect.Lock) []inspect.Contender { return slices.Concat(l.Holders, l.Waiters) }

// settled reports whether a Curator semaphore is at rest: new permits are granted or pending, and
// no client is in two places.
func settled(l *inspect.Lock, kind string) bool {
	if !strings.HasPrefix(kind, "semaphore") || l.Recipe != "curator" || len(l.Waiters) == 0 {
		return true
	}
	return l.Waiters[0].State == inspect.Pending && len(l.Holders) == l.Limit && len(l.Holders) <= 2
}

func compareGolden(t *testing.T, s *scene, name string) {
	file := filepath.Join("testdata", name+".json")
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(observed(t, s, name)), 0o600))
		return
	}
	got, want := "", string(must.Have(os.ReadFile(file))(t))
	// A client may take a moment to set its watch.
	for deadline := time.Now().Add(sourcetest.Limit); got != want; got = observed(t, s, name) {
		if time.Now().After(deadline) {
			t.Fatalf("%s differs (run with -update to accept); got %s", file, got)
		}
	}
}

// observed is a lock's JSON from a one-shot read, without its varying parts.
func observed(t *testing.T, s *scene, name string) string {
	t.Helper()
	path := s.root + "/" + name
	snapshot := observe(t, zksource.Config{Servers: s.cfg.Servers, Admin: []string{s.zks.Admin}, Only: path})
	l := snapshot.Lock(s.id("/" + name))
	if l == nil {
		t.Fatalf("%s is not a lock; backend %+v, %d locks", path, snapshot.Backends[0], snapshot.Len())
	}
	text := must.Have(json.MarshalIndent(jsonform.Lock(snapshot, l), "", "  "))(t)
	return normal(strings.ReplaceAll(string(text), path, "/lock")) + "\n"
}

// varying parts differ from run to run. Ids are numbered in their order of appearance.
var varying = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}`), "guid %d"},
	{regexp.MustCompile(`0x[0-9a-f]+|x--?[0-9]+`), "session %d"},
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]):[0-9]+`), "address %d"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "time"},
	{regexp.MustCompile(`"age_ms": \d+`), `"age_ms": 0`},
	{regexp.MustCompile(`"ttl_ms": \d+`), `"ttl_ms": 1`},
}

func normal(text string) string {
	for _, v := range varying {
		seen := map[string]string{}
		text = v.form.ReplaceAllStringFunc(text, func(s string) string {
			if seen[s] == "" {
				seen[s] = strings.ReplaceAll(v.as, "%d", strconv.Itoa(len(seen)+1))
			}
			return seen[s]
		})
	}
	return text
}

func TestHandoffIsReportedWithoutAPoll(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		const locks = 50
		var held []string
		for i := range locks {
			held = append(held, s.queue(fmt.Sprint("/l", i), "a", "b")[0])
		}
		v := s.watch()
		var latencies []time.Duration
		for _, node := range held {
			dir, start := path.Dir(node), time.Now()
			s.remove(node)
			v.awaitState(dir, inspect.StateHeld)
			v.Peek(func() { latencies = append(latencies, v.At[dir].Sub(start)) })
		}
		slices.Sort(latencies)
		must.True(t, latencies[locks/2] <= time.Second, "slow as a poll", latencies) // on any machine
	})
}

func TestHostileNamesAndDataAreEscaped(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		const dir = "/\u202elock\u200b[31m"
		huge := strings.Repeat("\xff\x1b]0;x\a", 1<<20/7-200) // near the server's packet limit
		s.dirs(dir, "/leases", "/leases/_c_x")
		for _, name := range []string{
			"_c_x", "_c_" + uuid + "-lock-", "\u2066", "x--99999999999", "lock--99999999999", "\u00ad0000000001", "__lock__0000000001",
		} {
			s.create(dir+"/"+name, huge[:64], 0)
		}
		holder := s.create(dir+"/_c_"+uuid+"-lock--2147483648", huge, zk.FlagEphemeral)
		s.create(dir+"/\u202e-note", huge, zk.FlagEphemeral)
		s.create("/\u202eleader", huge, zk.FlagEphemeral)

		snapshot := observe(t, s.cfg)
		l := snapshot.Lock(s.id(dir))
		demand(t, l, "curator mutex held 1+0")
		must.Equal(t, l.Node(&l.Holders[0]), holder, "holder")
		must.True(t, l.Holders[0].Sequence == math.MinInt32 && len(l.Aliens) > 0, l)
		lone := snapshot.Lock(s.id("/\u202eleader"))
		must.True(t, lone != nil && len(lone.Holders[0].Owner.Label) <= 1<<10, "lone node", lone)
		text := string(must.Have(json.Marshal(jsonform.Snapshot(snapshot)))(t))
		for _, r := range text {
			if !unicode.IsPrint(r) {
				t.Fatalf("%U is printed: %.1000s", r, text)
			}
		}
		must.Contain(t, strings.ToUpper(text), `\\U{202E}LOCK`)
	})
}
