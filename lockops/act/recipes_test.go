package act

import (
	"context"
	"os"
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
const done = "done"

// redisActions returns the locks on which every action is tried: one of each Redis library.
func redisActions(t *testing.T) []redisLock {
	t.Helper()
	all := slices.DeleteFunc(redisLocks(t, "a"), func(l redisLock) bool { return l.Recipe == "" })
	for _, l := range recipe.StringLocks() {
		key := strings.Replace(l.Key, "NAME", "a", 1)
		nameless := strings.HasPrefix(l.Name, "resque-lock") // its values name no holder, so it is at most a possible lock
		all = append(all, redisLock{
			Name: l.Name, Recipe: l.Name, Write: []string{"SET " + key + " " + l.Value + " PX 60000"}, Lock: key,
			Owner: l.Value, TTL: done, Endless: !nameless,
		})
	}
	return all
}

// Each action on a lock of each Redis library is either done, leaving the lock as expected, or
// refused with its sentence.
func TestRedisActionsWorkOnEveryRecipe(t *testing.T) {
	t.Parallel()
	eachOwnRedis(t, func(t *testing.T, server *servertest.Redis, client *redis.Client, releaser *Redis) {
		for _, l := range redisActions(t) {
			x := trial{l, server.Addr, client, releaser}
			t.Run(l.Name, func(t *testing.T) {
				leave(t, client, l.Write...)
				if has := lockOf(t, x.addr, x.Lock); has.Recipe != x.Recipe {
					t.Fatalf("recognized as a lock of %s", has.Recipe)
				}
				x.ofTheHolder(t)
				x.ofTheEnd(t)
				x.withoutTTL(t)
			})
		}
	})
}

// trial acts on one lock, which is alone on its server.
type trial struct {
	redisLock
	addr     string
	client   *redis.Client
	releaser *Redis
}

func (x trial) ofTheHolder(t *testing.T) {
	ask := x.request()
	ask.Ask = true
	act(t, x.releaser, ask, "only Curator's holders in ZooKeeper can")
	ttl := x.request()
	ttl.TTL = 5 * time.Minute
	r := act(t, x.releaser, ttl, x.TTL)
	if x.TTL != done {
		return
	}
	keys := []string{x.Lock}
	if x.Recipe == "sidekiq-unique-jobs" { // all keys of the job
		keys = x.client.Keys(t.Context(), "uniquejobs:*").Val()
	}
	for _, key := range keys {
		left := x.client.PTTL(t.Context(), key).Val()
		must.True(t, r.Set && left >= 2*time.Minute && left <= 5*time.Minute, "ttl of", key, left, r)
	}
}

func (x trial) ofTheEnd(t *testing.T) {
	r := act(t, x.releaser, x.request(), done)
	l := lockOf(t, x.addr, x.Lock)
	counts := strings.HasPrefix(x.Name, "permit-of-redisson") // its key stays, and looks like a held lock
	must.True(t, r.Released && len(r.HoldersAfter) == x.Left && (l == nil || counts || len(l.Holders) == x.Left),
		"release:", r, "then", l)
	p, err := x.releaser.Preview(t.Context(), x.request())
	must.True(t, err == nil && (p.Refused == Gone || (p.Refused == Changed && counts)), "again:", p, err)
}

// withoutTTL follows the advice of no-ttl until the finding is gone.
func (x trial) withoutTTL(t *testing.T) {
	leave(t, x.client, x.Write...)
	for _, key := range x.client.Keys(t.Context(), "*").Val() {
		x.client.Persist(t.Context(), key)
	}
	f := noTTLOf(t, x.addr, x.Lock)
	if (f != nil) != x.Endless {
		t.Fatalf("without a TTL: %+v", f)
	}
	for range 3 { // once per holder
		if f == nil {
			return
		}
		r := ofKey(x.Lock, string(f.Subject.Contender))
		if _, ok := f.Step(inspect.VerbTTL); ok {
			r.TTL = 5 * time.Minute
		} else if _, ok := f.Step(inspect.VerbRelease); !ok {
			t.Fatalf("advice %q", f.Advice())
		}
		act(t, x.releaser, r, done)
		f = noTTLOf(t, x.addr, x.Lock)
	}
	must.Equal(t, f, nil, "found after following the advice")
}

// act executes a request, or checks that it is refused with the sentence.
func act(t *testing.T, r Releaser, request Request, sentence string) Result {
	t.Helper()
	p := must.Have(r.Preview(t.Context(), request))(t)
	if sentence != done {
		must.True(t, p.Refused != "" && strings.Contains(p.Detail, sentence),
			request.action(), "refused", p.Refused, p.Detail, "want", sentence, "in it")
		result, err := r.Execute(t.Context(), p, "typed")
		must.True(t, err == nil && !result.Released && !result.Set && !result.Asked,
			request.action(), "was done although refused:", result, err)
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
		Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{addr}}}, Only: key, Once: true,
		Timeout: 30 * time.Second, Budget: redissource.Budget{Unlimited: true},
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

// Every recipe is in one of the tables, or has its own test of the actions.
func TestEveryRecipeHasItsActions(t *testing.T) {
	have := map[string]bool{
		"ephemeral": true, // testdata/script/zookeeper-holders.txt
		"helix":     true, // the same
	}
	queues := string(must.Have(os.ReadFile("testdata/script/zookeeper-queues.txt"))(t))
	for line := range strings.Lines(queues) {
		if name, ok := strings.CutPrefix(line, "recipe  "); ok {
			have[strings.TrimSpace(name)] = true
		}
	}
	for _, l := range redisActions(t) {
		have[l.Recipe] = true
	}
	rows := 0
	for _, r := range docs.Recipes() {
		rows++
		if !have[r.Name] && !recipe.PlainString(r.Name) && !recipe.OneNode(r.Name) { // these behave alike
			t.Errorf("no test acts on a lock of %s: add it to testdata/redis.yaml or testdata/script/zookeeper-queues.txt", r.Name)
		}
	}
	must.True(t, rows >= 30, rows, "rows in docs/recipes.md: the pattern that finds them may be outdated")
}
