package redissource_test

import (
	"crypto/md5"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	uuidA = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	uuidB = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
	guid  = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	guidB = "7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d"
	tokA  = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	tokB  = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
)

// written is a lock as its library writes it, one command per line. NAME is the lock's name, DIGEST
// its MD5, and +Ns the Unix time N seconds from now, in milliseconds. Keys expire only after
// minutes, in case the test is paused.
type written struct {
	recipe   string
	lock     string // its key
	commands string
	channels string // subscribed until the test ends
	declared bool   // in the catalogue
}

// states are locks of the structured recipes, and one for each recipe of the catalogue.
func states() []written {
	all := slices.Clone(structured)
	for _, l := range recipe.StringLocks() {
		if !slices.ContainsFunc(all, func(w written) bool { return w.recipe == l.Name }) {
			all = append(all, written{recipe: l.Name, lock: l.Key, commands: "SET " + l.Key + " " + l.Value + " PX 600000", declared: true})
		}
	}
	return all
}

var structured = []written{
	{recipe: "redisson-mutex", lock: "lock:NAME", commands: `
			HSET lock:NAME ` + uuidA + `:57 2
			PEXPIRE lock:NAME 300000
			SET redisson_unlock_latch:{lock:NAME}:` + guid + ` 1 PX 300000`, channels: "redisson_lock__channel:{lock:NAME}"},
	{
		recipe: "redisson-fair", lock: "orders-NAME", commands: `
			HSET orders-NAME ` + uuidA + `:1 1
			PEXPIRE orders-NAME 300000
			RPUSH redisson_lock_queue:{orders-NAME} ` + uuidB + `:9 ` + uuidA + `:2 ` + uuidB + `:3
			ZADD redisson_lock_timeout:{orders-NAME} +330s ` + uuidB + `:9 +630s ` + uuidA + `:2 -5s ` + uuidB + `:3`,
		channels: "redisson_lock__channel:{orders-NAME}:" + uuidB + ":9 redisson_lock__channel:{orders-NAME}:" + uuidB + ":3",
	},
	{recipe: "redisson-fair-dead-queue", lock: "orders-NAME", commands: `
			RPUSH redisson_lock_queue:{orders-NAME} ` + uuidB + `:9
			ZADD redisson_lock_timeout:{orders-NAME} +330s ` + uuidB + `:9`},
	{recipe: "redisson-read", lock: "lock:NAME", commands: `
			HSET lock:NAME mode read ` + uuidA + `:1 2 ` + uuidB + `:5 1
			PEXPIRE lock:NAME 300000
			SET {lock:NAME}:` + uuidA + `:1:rwlock_timeout:1 1 PX 200000
			SET {lock:NAME}:` + uuidA + `:1:rwlock_timeout:2 1 PX 300000`, channels: "redisson_rwlock:{lock:NAME}"},
	{recipe: "redisson-write", lock: "lock:NAME", commands: `
			HSET lock:NAME mode write ` + uuidA + `:1:write 1 ` + uuidA + `:1 1
			PEXPIRE lock:NAME 600000
			SET {lock:NAME}:` + uuidA + `:1:rwlock_timeout:1 1 PX 300000`},
	{recipe: "redisson-fenced", lock: "lock:NAME", commands: `
			HSET lock:NAME ` + uuidA + `:1 1
			PEXPIRE lock:NAME 300000
			SET redisson_lock_token:{lock:NAME} 41`},
	{recipe: "redisson-semaphore", lock: "semaphore:NAME", commands: `SET semaphore:NAME 0`, channels: "redisson_sc:{semaphore:NAME}"},
	{recipe: "redisson-permits", lock: "semaphore:NAME", commands: `
			SET semaphore:NAME 1
			ZADD {semaphore:NAME}:timeout +600s 0123456789abcdef 922337203685477 fedcba9876543210 -1s aaaaaaaaaaaaaaaa`},
	{recipe: "symfony-write", lock: "lock:NAME", commands: `
			ZADD lock:NAME +300s ` + tokA + ` +300s __write__
			PEXPIRE lock:NAME 300000`},
	{recipe: "symfony-read", lock: "lock:NAME", commands: `
			ZADD lock:NAME +300s ` + tokA + ` +100s ` + tokB + ` -1s __write__
			PEXPIRE lock:NAME 300000`},
	{recipe: "symfony-expired", lock: "lock:NAME", commands: `
			ZADD lock:NAME -1s ` + tokA + ` -1s __write__
			PEXPIRE lock:NAME 300000`},
	{recipe: "symfony-string", lock: "lock:NAME", commands: `SET lock:NAME ` + tokA + ` PX 300000`},
	{recipe: "laravel", lock: "laravel-cache-laravel_unique_job:App:NAME", commands: `SET laravel-cache-laravel_unique_job:App:NAME aB3dE6gH9jK2mN5p`},
	{recipe: "madelson-mutex", lock: "lock:NAME", commands: `SET lock:NAME WEB_01_4711_` + guid + ` PX 300000`},
	{recipe: "madelson-readers", lock: "lock:NAME.writer", commands: `
			SADD lock:NAME.readers web1_1_` + guid + ` web2_22_` + guidB + `
			PEXPIRE lock:NAME.readers 300000
			SET lock:NAME.writer web3_3_` + guid + `_WRITERWAITING PX 300000`},
	{recipe: "madelson-only-readers", lock: "lock:NAME.writer", commands: `
			SADD lock:NAME.readers web1_1_` + guid + `
			PEXPIRE lock:NAME.readers 300000`},
	{recipe: "madelson-writer", lock: "lock:NAME.writer", commands: `SET lock:NAME.writer web3_3_` + guid + ` PX 300000`},
	{recipe: "madelson-semaphore", lock: "semaphore:NAME", commands: `
			ZADD semaphore:NAME +300s web1_1_` + guid + ` -3s web2_22_` + guidB + `
			PEXPIRE semaphore:NAME 900000`},
	{recipe: "redis-semaphore", lock: "semaphore:NAME", commands: `
			ZADD semaphore:NAME -8s ` + uuidA + ` -1s ` + uuidB + `_0 -1s ` + uuidB + `_1 -200s 11111111-2222-4333-8444-555555555555
			PEXPIRE semaphore:NAME 190000`},
	{recipe: "redis-semaphore-mutex", lock: "mutex:NAME", commands: `SET mutex:NAME ` + uuidA + `-batch PX 300000 NX`},
	{recipe: "python-redis-lock", lock: "lock:NAME", commands: `
			SET lock:NAME YWFhYWFhYWFhYWFhYWFhYWFh EX 300
			LPUSH lock-signal:NAME 1`},
	{recipe: "rueidislock", lock: "rueidislock:0:NAME", commands: `
			SET rueidislock:1:NAME 0123456789abcdefghijklmn PX 300000
			SET rueidislock:2:NAME 0123456789abcdefghijklmn PX 300000`},
	{recipe: "rueidislock-one-of-three", lock: "rueidislock:0:NAME", commands: `SET rueidislock:2:NAME 0123456789abcdefghijklmn PX 300000`},
	{recipe: "bsm-redislock", lock: "lock:NAME", commands: `SET lock:NAME YWFhYWFhYWFhYWFhYWFhYQbatch-7 PX 300000`},
	{recipe: "sidekiq-unique-jobs", lock: "uniquejobs:DIGEST:LOCKED", commands: `
			SET uniquejobs:DIGEST 3fae29d0c1b24e5f9a7b6c8d
			RPUSH uniquejobs:DIGEST:QUEUED 3fae29d0c1b24e5f9a7b6c8d
			HSET uniquejobs:DIGEST:LOCKED 3fae29d0c1b24e5f9a7b6c8d 1763715600.5
			SET uniquejobs:DIGEST:INFO {"worker":"Mailer","limit":2}
			ZADD uniquejobs:digests 1763715600.5 uniquejobs:DIGEST`},
	{recipe: "redbeat", lock: "redbeat::lock", commands: `
			SET redbeat::lock 5f0c1d4ec6f511f0a1b23c5200aabbcc PX 1500000
			ZADD redbeat::schedule 1763715600 redbeat:unlock-accounts
			SADD redbeat::statics unlock-accounts
			HSET redbeat:unlock-accounts definition {"name":"unlock-accounts"} meta {}`},
	{recipe: "redbeat-prefix", lock: "prod-redbeat:NAME::lock", commands: `SET prod-redbeat:NAME::lock 5f0c1d4ec6f511f0a1b23c5200aabbcc PX 1500000`},
	{recipe: "redis-py", lock: "lock:NAME", commands: `SET lock:NAME 5f0c1d4ec6f511f0a1b23c5200aabbcc`},
}

var ahead = regexp.MustCompile(`^([+-]\d+)s$`)

func named(s, name string) string {
	return strings.NewReplacer("NAME", name, "DIGEST", digest(name)).Replace(s)
}

func digest(name string) string { return fmt.Sprintf("%x", md5.Sum([]byte(name))) }

// write runs the state's commands on a master.
func (w written) write(t *testing.T, c *redis.Client, name string) {
	t.Helper()
	now := time.Now() // the permits of one client have the same score
	for line := range strings.Lines(named(w.commands, name)) {
		var args []any
		for _, word := range strings.Fields(line) {
			if m := ahead.FindStringSubmatch(word); m != nil {
				d, _ := time.ParseDuration(m[1] + "s")
				word = fmt.Sprint(now.Add(d).UnixMilli())
			}
			args = append(args, word)
		}
		if len(args) == 0 {
			continue
		}
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	if channels := strings.Fields(named(w.channels, name)); len(channels) > 0 {
		sub := c.Subscribe(t.Context(), channels...)
		for range channels {
			must.Have(sub.Receive(t.Context()))(t)
		}
		t.Cleanup(func() { sub.Close() })
	}
}

// look reads a backend once, as the command line does.
func look(t *testing.T, cfg redissource.Config) *inspect.Snapshot {
	t.Helper()
	cfg.Once = true
	o := inspect.NewObserver(time.Now, redissource.New(cfg))
	must.Succeed(t, o.Run(t.Context()))
	return o.Snapshot()
}

var moving = regexp.MustCompile(`("(?:ttl_ms|validity_ms|age_ms)": )[0-9]+|("(?:held|seen)_since": )"[^"]*"`)

// golden compares a lock's JSON, with its varying parts replaced, to the golden file.
func golden(t *testing.T, file string, s *inspect.Snapshot, l *inspect.Lock, name string, addrs ...string) {
	t.Helper()
	text := must.Have(json.MarshalIndent(jsonform.Lock(s, l), "", "  "))(t)
	got := strings.NewReplacer(name, "NAME", digest(name), "DIGEST").Replace(string(text))
	for i, a := range addrs {
		got = strings.ReplaceAll(got, a, fmt.Sprintf("master-%d", i))
	}
	got = moving.ReplaceAllString(got, `$1$2"…"`) + "\n"
	path := filepath.Join("testdata", file+".json")
	if *update {
		must.Succeed(t, os.MkdirAll("testdata", 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; run with -update to accept):\n%s", path, diff)
	}
}

func TestLocksOfEveryLibrary(t *testing.T) {
	for _, w := range states() {
		t.Run(w.recipe, func(t *testing.T) {
			eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
				name := strings.ToLower(strings.NewReplacer("lock", "l", "Lock", "l", "semaphore", "s", "mutex", "m").Replace(servertest.UniqueName(t)))
				c := client(t, masters[0])
				w.write(t, c, name)
				cfg := config(masters)
				cfg.Match = nil
				s := look(t, cfg)
				var found *inspect.Lock
				for l := range s.Locks() {
					if !strings.Contains(l.ID.Path, name) && !strings.Contains(l.ID.Path, digest(name)) && !strings.HasPrefix(l.ID.Path, "redbeat:") {
						continue
					}
					if l.ID.Path != named(w.lock, name) {
						t.Errorf("%s is listed", l.ID)
						continue
					}
					found = l
				}
				if found == nil {
					t.Fatalf("%s is not listed: no pattern of recipe.RedisPatterns matches its key, or no recipe recognises its value", w.lock)
				}
				if w.declared {
					if found.Recipe != w.recipe || found.State != inspect.StateHeld {
						t.Errorf("%s lock of %s, want a held lock of %s", found.State, found.Recipe, w.recipe)
					}
					return
				}
				golden(t, w.recipe, s, found, name, masters[0].Addr)

				cfg.Only = named(w.lock, name)
				alone := look(t, cfg)
				if l := alone.Lock(found.ID); l == nil {
					t.Error("not found by its name")
				} else {
					if l.Confidence == recipe.Likely { // because it was named
						named := *l
						named.Confidence = found.Confidence
						l = &named
					}
					golden(t, w.recipe, alone, l, name, masters[0].Addr)
				}
			})
		})
	}
}
