package act

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/docs"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// done means that the action succeeds. Any other sentence is part of a refusal.
const done = ""

// actions has the expected result of each action on a lock of one recipe: done, or a sentence of
// the refusal. write is what the library leaves on the server, as Redis commands or znodes. waiter
// is empty if the library shows no waiters.
type actions struct {
	recipe, write, lock, holder, waiter string
	release, wait, ttl                  string
	// left is the number of holders after the release: other readers and permits.
	left int
	// endless locks get the finding no-ttl when their keys lose their TTLs. The advised action
	// resolves it.
	endless bool
}

const (
	notAsked  = "only Curator's holders in ZooKeeper can"
	ownTimes  = "has its own expiry, which the key's TTL does not change"
	itWaits   = "it is a waiter: only a holder's TTL can be set"
	noSession = "closing it needs the session's password"
)

func redisActions() []actions {
	const uuidA, uuidB = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718", "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
	now, soon := fmt.Sprint(time.Now().UnixMilli()), fmt.Sprint(time.Now().Add(time.Minute).UnixMilli())
	job := "uniquejobs:5d41402abc4b2a76b9719d911017c592"
	const rueidis = "0123456789abcdefghijklmn"
	all := []actions{
		{recipe: "token", write: "SET lock:i anything PX 60000", lock: "lock:i", holder: "anything", endless: true},
		{
			recipe: "redisson", lock: "fair", holder: ownerA, waiter: ownerB, ttl: done, endless: true,
			write: "HSET fair " + ownerA + " 1;PEXPIRE fair 30000;RPUSH redisson_lock_queue:{fair} " + ownerB + ";ZADD redisson_lock_timeout:{fair} " + soon + " " + ownerB,
		},
		{
			recipe: "redisson", lock: "rw", holder: ownerA, ttl: ownTimes, left: 1, endless: true,
			write: "HSET rw mode read " + ownerA + " 1 " + ownerB + " 1;PEXPIRE rw 30000;SET {rw}:" + ownerA + ":rwlock_timeout:1 1 PX 30000;SET {rw}:" + ownerB + ":rwlock_timeout:1 1 PX 30000",
		},
		{recipe: "redisson", lock: "permits", holder: "0123456789abcdef", ttl: ownTimes, write: "SET permits 0;ZADD {permits}:timeout " + soon + " 0123456789abcdef"},
		{recipe: "symfony", lock: "lock:z", holder: token, ttl: ownTimes, write: "ZADD lock:z " + soon + " " + token + " " + soon + " __write__;PEXPIREAT lock:z " + soon},
		{recipe: "madelson", lock: "semaphore:m", holder: idA, ttl: ownTimes, left: 1, write: "ZADD semaphore:m " + soon + " " + idA + " " + soon + " " + idB + ";PEXPIRE semaphore:m 90000"},
		{recipe: "madelson", lock: "m.writer", holder: idA, waiter: idB + "_WRITERWAITING", ttl: ownTimes, endless: true, write: "SADD m.readers " + idA + ";PEXPIRE m.readers 30000;SET m.writer " + idB + "_WRITERWAITING PX 30000"},
		{recipe: "redis-semaphore", lock: "semaphore:r", holder: uuidA, ttl: ownTimes, left: 1, write: "ZADD semaphore:r " + now + " " + uuidA + " " + now + " " + uuidB + ";PEXPIRE semaphore:r 60000"},
		{recipe: "sidekiq-unique-jobs", lock: job + ":LOCKED", holder: "3fae29d0c1b24e5f9a7b6c8d", endless: true, write: "HSET " + job + ":LOCKED 3fae29d0c1b24e5f9a7b6c8d 1763715600.5;SET " + job + " 3fae29d0c1b24e5f9a7b6c8d;SET " + job + ":INFO {}"},
		{
			recipe: "rueidislock", lock: "rueidislock:0:a", holder: rueidis, ttl: ownTimes, endless: true,
			write: "SET rueidislock:0:a " + rueidis + " PX 60000;SET rueidislock:1:a " + rueidis + " PX 60000;SET rueidislock:2:a " + rueidis + " PX 60000",
		},
	}
	for _, l := range recipe.StringLocks() {
		key := strings.Replace(l.Key, "NAME", "a", 1)
		nameless := strings.HasPrefix(l.Name, "resque-lock") // its values name no holder, so it is at most a possible lock
		all = append(all, actions{
			recipe: l.Name, write: "SET " + key + " " + l.Value + " PX 60000", lock: key, holder: l.Value, endless: !nameless,
		})
	}
	return all
}

// Each action on a lock of each Redis library is either done, leaving the lock as expected, or
// refused with its sentence.
func TestRedisActionsWorkOnEveryRecipe(t *testing.T) {
	t.Parallel()
	server, client, releaser := onOneMaster(t)
	for _, a := range redisActions() {
		x := trial{a, server.Addr, client, releaser}
		t.Run(a.recipe+" "+a.lock, func(t *testing.T) {
			x.write(t)
			if l := lockOf(t, x.addr, x.lock); l.Recipe != x.recipe {
				t.Fatalf("recognized as a lock of %s", l.Recipe)
			}
			x.ofTheHolder(t)
			if x.waiter != "" {
				x.ofAWaiter(t)
			}
			x.ofTheEnd(t)
			x.withoutTTL(t)
		})
	}
}

// trial acts on one lock, which is alone on its server.
type trial struct {
	actions
	addr     string
	client   *redis.Client
	releaser *Redis
}

// write replaces the server's data with what the library leaves there.
func (x trial) write(t *testing.T) {
	t.Helper()
	x.client.FlushAll(t.Context())
	command(t, x.client, x.actions.write)
}

func (x trial) request(owner string) Request { return ofKey(x.lock, owner) }

func (x trial) ofTheHolder(t *testing.T) {
	ask := x.request(x.holder)
	ask.Ask = true
	act(t, x.releaser, ask, notAsked)
	ttl := x.request(x.holder)
	ttl.TTL = 5 * time.Minute
	r := act(t, x.releaser, ttl, x.ttl)
	for _, key := range x.client.Keys(t.Context(), strings.TrimSuffix(x.lock, ":LOCKED")+"*").Val() { // all keys of a sidekiq job
		if x.ttl == done && (!r.Set || x.client.PTTL(t.Context(), key).Val() < 2*time.Minute) {
			t.Errorf("ttl of %s: %+v", key, r)
		}
	}
}

func (x trial) ofAWaiter(t *testing.T) {
	waiter := x.request(x.waiter)
	if p, err := x.releaser.Preview(t.Context(), waiter); err != nil || p.Refused != NotHolder {
		t.Errorf("a waiter, not requested as one: %+v, %v", p, err)
	}
	waiter.TTL = time.Minute
	if p, err := x.releaser.Preview(t.Context(), waiter); err != nil || p.Refused != Unsupported || p.Detail != itWaits && !strings.Contains(p.Detail, ownTimes) {
		t.Errorf("a TTL for a waiter: %+v, %v", p, err)
	}
	waiter.TTL, waiter.Waiter = 0, true
	if r := act(t, x.releaser, waiter, x.wait); !r.Released || slices.ContainsFunc(lockOf(t, x.addr, x.lock).Waiters, func(c inspect.Contender) bool { return c.Name.Raw() == x.waiter }) {
		t.Errorf("waiter: %+v", r)
	}
}

func (x trial) ofTheEnd(t *testing.T) {
	r := act(t, x.releaser, x.request(x.holder), x.release)
	l := lockOf(t, x.addr, x.lock)
	if !r.Released || len(r.HoldersAfter) != x.left || l != nil && x.lock != "permits" && len(l.Holders) != x.left { // the key of a semaphore stays
		t.Errorf("release: %+v, then %+v", r, l)
	}
	if p, err := x.releaser.Preview(t.Context(), x.request(x.holder)); err != nil || p.Refused != Gone && (p.Refused != Changed || x.lock != "permits") {
		t.Errorf("again: %+v, %v", p, err)
	}
}

// withoutTTL follows the advice of no-ttl until the finding is gone.
func (x trial) withoutTTL(t *testing.T) {
	x.write(t)
	for _, key := range x.client.Keys(t.Context(), "*").Val() {
		x.client.Persist(t.Context(), key)
	}
	f := noTTLOf(t, x.addr, x.lock)
	if (f != nil) != x.endless {
		t.Fatalf("without a TTL: %+v", f)
	}
	for range 3 { // once per holder
		if f == nil {
			return
		}
		r := x.request(string(f.Subject.Contender))
		if _, ok := f.Step(inspect.VerbTTL); ok {
			r.TTL = 5 * time.Minute
		} else if _, ok := f.Step(inspect.VerbRelease); !ok {
			t.Fatalf("advice %q", f.Advice())
		}
		act(t, x.releaser, r, done)
		f = noTTLOf(t, x.addr, x.lock)
	}
	must.True(t, f == nil, "still found after following the advice:", f)
}

// act executes a request, or checks that it is refused with the sentence.
func act(t *testing.T, r Releaser, request Request, sentence string) Result {
	t.Helper()
	p := must.Have(r.Preview(t.Context(), request))(t)
	if sentence != done {
		if p.Refused == "" || !strings.Contains(p.Detail, sentence) {
			t.Errorf("%s: refused %q: %q, want %q in it", request.action(), p.Refused, p.Detail, sentence)
		}
		result, err := r.Execute(t.Context(), p, "typed")
		if err != nil || result.Released || result.Set || result.Asked {
			t.Errorf("%s was done although refused: %+v, %v", request.action(), result, err)
		}
		return result
	}
	if p.Refused != "" {
		t.Fatalf("%s: refused %q: %s", request.action(), p.Refused, p.Detail)
	}
	return must.Have(r.Execute(t.Context(), p, "typed"))(t)
}

// lockOf reads one lock, as `lockscope show` does.
func lockOf(t *testing.T, addr, key string) *inspect.Lock {
	t.Helper()
	o := inspect.NewObserver(time.Now, redissource.New(redissource.Config{
		Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{addr}}}, Only: key, Once: true, Timeout: 30 * time.Second, Budget: redissource.Budget{Unlimited: true},
	}))
	o.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Succeed(t, o.Run(ctx))
	return o.Snapshot().Lock(inspect.ID{Backend: "redis", Path: key})
}

// noTTLOf returns the finding no-ttl if it advises a command.
func noTTLOf(t *testing.T, addr, key string) *inspect.Finding {
	t.Helper()
	l := lockOf(t, addr, key)
	if l == nil {
		return nil
	}
	for i := range l.Findings {
		if l.Findings[i].Rule == "no-ttl" && l.Findings[i].Steps[0].Command != "" {
			return &l.Findings[i]
		}
	}
	return nil
}

// zookeeperActions are the actions in ZooKeeper. Each queue has a holder and a waiter behind it; a
// lock of one znode has only a holder.
func zookeeperActions() []actions {
	const uuid, hex = "e3b0c442-98fc-4c14-9afb-f4c8996fb924", "e3b0c44298fc4c149afbf4c8996fb924"
	const mute = "only Curator's locks have a way to ask the holder"
	return []actions{
		{recipe: "curator", write: "_c_" + uuid + "-lock- _c_" + uuid + "-lock-", wait: done, ttl: "", release: "it does not listen"},
		{recipe: "kazoo", write: hex + "__lock__ " + hex + "__lock__", release: mute},
		{recipe: "go-zookeeper", write: "_c_" + hex + "-lock- _c_" + hex + "-lock-", release: mute},
		{recipe: "accumulo", write: "zlock#" + uuid + "# zlock#" + uuid + "#", release: mute},
		{recipe: "zookeeper-recipes", write: "x-SESSION- x-SESSION-", release: mute},
		{recipe: "hbase", write: "write-rs1:16020=PBUF write-rs2:16020=PBUF", release: mute},
		{recipe: "hive", write: "LOCK-EXCLUSIVE-=q:1:IMPLICIT LOCK-EXCLUSIVE-=q:2:IMPLICIT", release: mute},
		{recipe: "solr", write: "SESSION-a-n_ SESSION-b-n_", release: mute},
		{recipe: "madelson", write: "write-= write-=", release: mute},
		{recipe: "zk-ruby", write: "ex ex", release: mute},
		{recipe: "sequential", write: "job- job-", release: mute},
	}
}

// A waiter can be removed. The holder's release lets only the next waiter in. Asking, setting a TTL
// and ending the session are refused with their sentences.
func TestZkActionsWorkOnEveryRecipe(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn := connectZooKeeper(t, server.Addr)
	releaser := onEnsemble(t, conn, server.Addr)
	for _, a := range zookeeperActions() {
		t.Run(a.recipe, func(t *testing.T) {
			dir := servertest.UniquePath(t)
			create(t, conn, dir, "", 0)
			var names []string
			for _, word := range strings.Fields(strings.ReplaceAll(a.write, "SESSION", fmt.Sprint(conn.SessionID()))) {
				prefix, data, given := strings.Cut(word, "=")
				if !given {
					data = "client"
				}
				names = append(names, path.Base(create(t, conn, dir+"/"+prefix, data, sequential)))
			}
			ask, ttl := ofNode(dir, names[0]), ofNode(dir, names[0])
			ask.Ask, ask.Wait, ttl.TTL = true, time.Millisecond, time.Minute
			act(t, releaser, ask, a.release)
			act(t, releaser, ttl, "a lock in ZooKeeper has no TTL: it lasts as long as its session, or its znode")
			if p, err := releaser.PreviewEnd(t.Context(), ClientRequest{Backend: "zk", Client: inspect.SessionID(conn.SessionID())}); err != nil || p.Refused != Unsupported || !strings.Contains(p.Detail, noSession) {
				t.Errorf("the end of the session: %+v, %v", p, err)
			}
			waiter := ofNode(dir, names[1])
			if p, err := releaser.Preview(t.Context(), waiter); err != nil || p.Refused != NotHolder {
				t.Errorf("a waiter, not requested as one: %+v, %v", p, err)
			}
			waiter.Waiter = true
			must.Contain(t, strings.Join(confirmed(t, releaser, waiter).Warnings, " "), "go-zookeeper", "warnings for a waiter")
			if r := act(t, releaser, waiter, done); !r.Released || len(r.HoldersAfter) != 1 || r.HoldersAfter[0].Name.Raw() != names[0] {
				t.Errorf("waiter: %+v", r)
			}
			d, err := releaser.look(t.Context(), ofNode(dir, ""))
			if err != nil || d.lock().Recipe != a.recipe {
				t.Fatalf("recognized as %+v, %v", d.lock(), err)
			}
			if r := act(t, releaser, ofNode(dir, names[0]), done); !r.Released || len(r.HoldersAfter) != 0 {
				t.Errorf("release: %+v", r)
			}
			if left, _, err := conn.Children(dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// Every recipe is in one of the tables, or has its own test of the actions.
func TestEveryRecipeHasItsActions(t *testing.T) {
	have := map[string]bool{
		"ephemeral": true, // TestReleaseFreesPermitsAndLoneNodes
		"helix":     true, // TestPersistentLockIsMarkedFree
	}
	for _, a := range append(redisActions(), zookeeperActions()...) {
		have[a.recipe] = true
	}
	rows := 0
	for _, r := range docs.Recipes() {
		rows++
		if !have[r.Name] && !recipe.PlainString(r.Name) && !recipe.OneNode(r.Name) { // these behave alike
			t.Errorf("no test acts on a lock of %s: add it to redisActions or zookeeperActions", r.Name)
		}
	}
	must.True(t, rows >= 30, rows, "rows in docs/recipes.md: the pattern that finds them may be outdated")
}
