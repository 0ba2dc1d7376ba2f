package redissource_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) {
	if d, err := time.ParseDuration(os.Getenv(foreignTime)); err == nil {
		if err := beForeign(os.Getenv(foreignAddr), d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redis.SetLogger(quiet{}) // some tests make dials fail
	servertest.Main(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func config(masters []*servertest.Redis) redissource.Config {
	cfg := redissource.Config{
		Backend: "redis", Tick: 20 * time.Millisecond, Timeout: 30 * time.Second, // the machine may be busy
		Budget: redissource.Budget{ScanEvery: 100 * time.Millisecond, Duty: 1},
	}
	for _, m := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	return cfg
}

// watch runs a source until the test ends.
func watch(t *testing.T, cfg redissource.Config) (*sourcetest.View, *redissource.Source) {
	t.Helper()
	s := redissource.New(cfg)
	return sourcetest.Watch(t, s), s
}

// once runs a source for one pass.
func once(t *testing.T, cfg redissource.Config) *sourcetest.View {
	t.Helper()
	cfg.Once = true
	return sourcetest.Once(t, redissource.New(cfg))
}

// eachRedis is servertest.EachRedis, and flushes the servers afterwards.
func eachRedis(t *testing.T, n int, f func(t *testing.T, masters []*servertest.Redis)) {
	t.Helper()
	servertest.EachRedis(t, n, func(t *testing.T, masters []*servertest.Redis) {
		t.Cleanup(func() {
			for _, m := range masters {
				must.Be(t, client(t, m).FlushAll(context.Background()).Err(), nil)
			}
		})
		f(t, masters)
	})
}

func client(t *testing.T, r *servertest.Redis) *redis.Client {
	t.Helper()
	c := r.Client(t)
	return c
}

func set(t *testing.T, r *servertest.Redis, key, value string, ttl time.Duration) {
	t.Helper()
	must.Succeed(t, client(t, r).Set(context.Background(), key, value, ttl).Err())
}

func del(t *testing.T, r *servertest.Redis, key string) {
	t.Helper()
	must.Succeed(t, client(t, r).Del(context.Background(), key).Err())
}

func state(v *sourcetest.View, key string, want inspect.State) func() bool {
	return func() bool { l := v.Locks[key]; return l != nil && l.State == want }
}

func TestVotesOfFiveMasters(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		const token = "MDEyMzQ1Njc4OWFiY2RlZg=="
		for _, m := range masters {
			set(t, m, key, token, time.Minute)
		}
		cfg := config(masters)
		cfg.Match = []string{key + "*"}
		check := func(t *testing.T, l *inspect.Lock) {
			t.Helper()
			if l == nil || l.State != inspect.StateHeld || l.Votes() != 5 || l.Margin != 2 || l.Recipe != "redsync" {
				t.Fatalf("lock %+v", l)
			}
			if left := time.Until(l.Holders[0].ExpiresAt); left < 50*time.Second || left > time.Minute {
				t.Errorf("expires in %v", left)
			}
		}
		one := once(t, cfg)
		check(t, one.Locks[key])
		if one.Backend.State != inspect.Connected || one.Backend.Mode != inspect.ModeOnce || len(one.Backend.Servers) != 5 || !one.Backend.FirstPass {
			t.Errorf("backend %+v", one.Backend)
		}
		v, _ := watch(t, cfg)
		v.Await("held", state(v, key, inspect.StateHeld))
		v.Await("all votes", func() bool { return v.Locks[key].Votes() == 5 })
		peek(v, func() { check(t, v.Locks[key]) })
		for _, m := range masters[:3] {
			set(t, m, key, "b", time.Minute)
		}
		v.Await("a new holder", func() bool { return v.Locks[key].Votes() == 3 && v.Locks[key].Holders[0].Name == "b" })
		set(t, masters[0], key, "c", time.Minute)
		v.Await("split", state(v, key, inspect.StateSplit))
		for _, m := range masters {
			del(t, m, key)
		}
		v.Await("free but listed", state(v, key, inspect.StateFree))
		for _, m := range masters {
			set(t, m, key, "d", 6*time.Second)
		}
		v.Await("taken again", state(v, key, inspect.StateHeld))
		v.Await("run out", state(v, key, inspect.StateFree))
	})
}

func TestOnlyMatchingKeysAppear(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		v, _ := watch(t, config(masters))
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		c, ctx := client(t, masters[0]), context.Background()
		set(t, masters[0], name+":other", "x", time.Minute)
		set(t, masters[0], "lockscope:fence:{"+name+"}", "7", 0)
		c.HSet(ctx, "lock:hash:"+name, "field", 1)
		set(t, masters[0], "lock:"+name, "", 0)
		set(t, masters[0], "my:mutex:"+name, "\xff\x00binary", time.Minute)
		v.Await("both", func() bool { return v.Locks["lock:"+name] != nil && v.Locks["my:mutex:"+name] != nil })
		if l := v.Locks["lock:"+name]; l.State != inspect.StateHeld || !l.Holders[0].NoExpiry || l.Holders[0].Name != "" {
			t.Errorf("an empty value without expiry: %+v", l)
		}
		if l := v.Locks["my:mutex:"+name]; l.Holders[0].Name.Raw() != "\xff\x00binary" || l.Kind != inspect.KindMutex {
			t.Errorf("a binary value: %+v", l)
		}
		for _, key := range []string{name + ":other", "lockscope:fence:{" + name + "}", "lock:hash:" + name} {
			must.True(t, v.Locks[key] == nil, key, "is listed")
		}
		// A known lock that becomes a list is foreign, not free.
		del(t, masters[0], "lock:"+name)
		c.RPush(ctx, "lock:"+name, "x")
		v.Await("a wrong type", func() bool {
			m := v.Locks["lock:"+name].Masters[0]
			return m.Foreign && m.Present && m.Value == "list"
		})
	})
}

func TestLongValuesAreCutAndDigested(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		long := strings.Repeat("x", 60_000) + "end"
		set(t, masters[0], key, long, 0)
		cfg := config(masters)
		cfg.Only = key
		v := once(t, cfg)
		vote := v.Locks[key].Masters[0]
		want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(long)))
		if len(vote.Value) != 1<<10 || vote.Digest != want || len(v.Locks) != 1 {
			t.Errorf("%d bytes, digest %s, want %s", len(vote.Value), vote.Digest, want)
		}
		set(t, masters[0], key, strings.Repeat(long, 2), 0)
		if vote := once(t, cfg).Locks[key].Masters[0]; len(vote.Value) != 1<<10 || vote.Digest != "" {
			t.Errorf("too long for a digest: %d bytes, digest %s", len(vote.Value), vote.Digest)
		}
		del(t, masters[0], key)
		if l := once(t, cfg).Locks[key]; l == nil || l.State != inspect.StateFree {
			t.Errorf("a named key that is absent: %+v", l)
		}
	})
}

func TestAStoppedMasterDelaysNoOther(t *testing.T) {
	t.Parallel()
	masters := make([]*servertest.Redis, 5)
	for i := range masters {
		masters[i] = servertest.StartRedis(t)
		set(t, masters[i], "lock:a", "one", 0)
	}
	cfg := config(masters)
	cfg.Timeout = 15 * time.Second
	v, _ := watch(t, cfg)
	v.Await("5 of 5", func() bool { l := v.Locks["lock:a"]; return l != nil && l.Votes() == 5 })

	masters[4].Kill(t)
	v.Await("4 of 5", func() bool {
		l := v.Locks["lock:a"]
		return l.Votes() == 4 && l.State == inspect.StateHeld && !l.Masters[4].Up && l.Masters[4].Error != "" && v.Backend.State == inspect.Degraded
	})
	masters[3].Pause(t)
	start := time.Now()
	for _, m := range masters[:3] {
		set(t, m, "lock:a", "two", 0)
	}
	v.Await("the change on the others", func() bool { l := v.Locks["lock:a"]; return l.Votes() == 3 && l.Holders[0].Name == "two" })
	if took := time.Since(start); took > cfg.Timeout {
		t.Errorf("the change was seen after %v", took)
	}
	v.Await("the paused master down", func() bool { return !v.Locks["lock:a"].Masters[3].Up })
	masters[3].Resume(t)
	masters[4].Restart(t)
	v.Await("both masters back", func() bool {
		l := v.Locks["lock:a"]
		return l.Masters[3].Present && l.Masters[4].Up && !l.Masters[4].Present && v.Backend.State == inspect.Connected
	})
	v.Await("the start time", func() bool {
		return !v.Backend.Servers[4].StartedAt.IsZero() && time.Since(v.Backend.Servers[4].StartedAt) < sourcetest.Limit+5*time.Second
	})
	peek(v, func() {
		for i, s := range v.Backend.Servers {
			if s.Role != "master" || !s.ClockKnown || s.ClockOffset.Abs() > time.Second {
				t.Errorf("server %d: %+v", i, s)
			}
		}
	})
}

func TestAllMastersDown(t *testing.T) {
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "one", 0)
	cfg := config([]*servertest.Redis{m})
	v, _ := watch(t, cfg)
	v.Await("held", state(v, "lock:a", inspect.StateHeld))
	m.Kill(t)
	v.Await("unknown, not free", state(v, "lock:a", inspect.StateUnknown))
	v.Await("down", func() bool { return v.Backend.State == inspect.Down && v.Backend.Error != "" })
	if b := once(t, cfg).Backend; b.State != inspect.Down || b.Servers[0].State != inspect.ServerDown {
		t.Errorf("backend %+v", b)
	}
}

func TestLoginFailureHidesPassword(t *testing.T) {
	m := servertest.StartRedis(t, "--requirepass", "sesame")
	for name, password := range map[string]string{"none": "", "wrong": "open-barley"} {
		cfg := config([]*servertest.Redis{m})
		cfg.Masters[0].Password = password
		b := once(t, cfg).Backend
		if b.State != inspect.Down || !strings.Contains(b.Error, m.Addr) || !strings.Contains(b.Error, `user "default"`) {
			t.Errorf("%s: %+v", name, b)
		}
		must.True(t, !strings.Contains(b.Error, "barley"), name, "the error contains the password", b.Error)
	}
	cfg := config([]*servertest.Redis{m})
	cfg.Masters[0].Password = "sesame"
	if b := once(t, cfg).Backend; b.State != inspect.Connected {
		t.Errorf("the right password: %+v", b)
	}
}

func TestDeniedCommandHidesOneFeature(t *testing.T) {
	m := servertest.StartRedis(t)
	c, ctx := client(t, m), context.Background()
	set(t, m, "lock:a", "one", 0)
	set(t, m, "lock:secret", "one", 0)
	err := c.Do(ctx, "acl", "setuser", "viewer", "on", ">pw", "resetchannels", "-@all", "+ping", "+auth", "+hello", "+select",
		"+scan", "+type", "+getrange", "+pttl", "+exists", "%R~lock:a").Err()
	must.Succeed(t, err)
	cfg := config([]*servertest.Redis{m})
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	v := once(t, cfg)
	if v.Backend.State != inspect.Connected || v.Locks["lock:a"] == nil || v.Locks["lock:a"].State != inspect.StateHeld {
		t.Errorf("backend %+v, locks %v", v.Backend, v.Describe())
	}
	rights := map[string]inspect.Aspect{}
	for _, u := range v.Backend.Unseen {
		rights[u.Right] = u.Aspect
	}
	if want := map[string]inspect.Aspect{"+info": inspect.AspectServer, "+time": inspect.AspectServer, "~lock:secret": inspect.AspectLocks}; !maps.Equal(rights, want) {
		t.Errorf("unseen %+v", v.Backend.Unseen)
	}
	if s := v.Backend.Servers[0]; s.Role != "master" || s.Version == "" {
		t.Errorf("role and version should come from HELLO: %+v", s)
	}
	cfg.Only = "lock:secret"
	if l := once(t, cfg).Locks["lock:secret"]; l == nil || l.State != inspect.StateUnknown {
		t.Errorf("an unreadable key: %+v", l)
	}
}

// Without SCAN the list of keys is unknown. A named key is still read.
func TestWithoutScanABackendIsDegraded(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "one", 0)
	must.Succeed(t, client(t, m).Do(context.Background(), "acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all", "-scan").Err())
	cfg := config([]*servertest.Redis{m})
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	if b := once(t, cfg).Backend; b.State != inspect.Degraded || !strings.Contains(b.Error, m.Addr) || !strings.Contains(b.Error, "ACL SETUSER viewer +scan") {
		t.Errorf("%+v", b)
	}
	cfg.Only = "lock:a"
	if v := once(t, cfg); v.Backend.State != inspect.Connected || v.Locks["lock:a"].State != inspect.StateHeld {
		t.Errorf("a named key: %+v, %v", v.Backend, v.Describe())
	}
}

func TestNothingIsReportedWhileNothingChanges(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		c := client(t, masters[0])
		cfg := config(masters)
		cfg.Match = []string{"*" + name + "*"}
		v, s := watch(t, cfg)
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		if masters[0].Real {
			awaitPush(v)
		}
		runsOut := time.Now().Add(time.Minute)
		set(t, masters[0], "lock:"+name, "x", time.Minute)
		v.Await("held", state(v, "lock:"+name, inspect.StateHeld))
		s.Focus([]inspect.ID{{Backend: "redis", Path: "lock:" + name}})
		// Renewals that move the expiry by less than a round trip are read but are not changes. The
		// keys that follow show when they have been read.
		for i := range 20 {
			must.Succeed(t, c.PExpireAt(t.Context(), "lock:"+name, runsOut.Add(time.Duration(i)*time.Millisecond)).Err())
		}
		for i := range 5 {
			other := fmt.Sprintf("lock:%d:%s", i, name)
			set(t, masters[0], other, "x", time.Minute)
			v.Await("the next key", state(v, other, inspect.StateHeld))
		}
		peek(v, func() {
			if v.Puts < 6 || v.Puts > 6+10 { // on a busy machine, some reads look like renewals
				t.Errorf("%d locks were put, want 6 to 16", v.Puts)
			}
		})
	})
}
