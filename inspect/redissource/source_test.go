package redissource_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

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
	logging.Disable() // some tests make dials fail
	servertest.Main(m)
}

// config configures masters for a test: short pauses, and long time limits, since the machine may be
// busy.
func config(masters ...*servertest.Redis) redissource.Config {
	cfg := redissource.Config{
		Backend: "redis", Tick: 20 * time.Millisecond, Timeout: 30 * time.Second,
		Budget: redissource.Budget{ScanEvery: 100 * time.Millisecond, Duty: 1},
	}
	for _, m := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	return cfg
}

// viewed is the config of a master for a user with all rights, except as changed by ACL rules.
func viewed(t *testing.T, m *servertest.Redis, rules string) redissource.Config {
	t.Helper()
	run(t, m.Client(t), "ACL SETUSER viewer reset on >pw allkeys allchannels +@all "+rules)
	cfg := config(m)
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	return cfg
}

// run sends commands, one a line. +5s is the Unix time in five seconds, in milliseconds. SUBSCRIBE
// lasts until the test ends.
func run(t *testing.T, c *redis.Client, commands string) {
	t.Helper()
	now := time.Now() // the permits of one client have the same score
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		if words[0] == "SUBSCRIBE" {
			sub := c.Subscribe(t.Context(), words[1:]...)
			t.Cleanup(func() { sub.Close() })
			for range words[1:] {
				must.Have(sub.Receive(t.Context()))(t)
			}
			continue
		}
		var args []any
		for _, word := range words {
			if d, err := time.ParseDuration(word); err == nil && strings.HasSuffix(word, "s") {
				word = fmt.Sprint(now.Add(d).UnixMilli())
			}
			args = append(args, word)
		}
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
}

// startMasters starts real masters, each with these keys, whose values are x.
func startMasters(t *testing.T, n int, keys ...string) (masters []*servertest.Redis) {
	t.Helper()
	for i := range n {
		masters = append(masters, servertest.StartRedis(t))
		for _, key := range keys {
			set(t, masters[i], key, "x", 0)
		}
	}
	return masters
}

// watch runs a source until the test ends.
func watch(t *testing.T, cfg redissource.Config) *sourcetest.View {
	t.Helper()
	return sourcetest.Watch(t, redissource.New(cfg))
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
				must.Be(t, m.Client(t).FlushAll(context.Background()).Err(), nil)
			}
		})
		f(t, masters)
	})
}

// set writes a key. A TTL of 0 means none.
func set(t *testing.T, r *servertest.Redis, key, value string, ttl time.Duration) {
	t.Helper()
	must.Succeed(t, r.Client(t).Set(context.Background(), key, value, ttl).Err())
}

func del(t *testing.T, r *servertest.Redis, key string) {
	t.Helper()
	must.Succeed(t, r.Client(t).Del(context.Background(), key).Err())
}

// inState is a condition for Await.
func inState(v *sourcetest.View, key string, want inspect.State) func() bool {
	return func() bool { l := v.Locks[key]; return l != nil && l.State == want }
}

func TestVotesOfFiveMasters(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		const token = "MDEyMzQ1Njc4OWFiY2RlZg=="
		for _, m := range masters {
			set(t, m, key, token, time.Minute)
		}
		cfg := config(masters...)
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
		v := watch(t, cfg)
		v.Await("held", inState(v, key, inspect.StateHeld))
		v.Await("all votes", func() bool { return v.Locks[key].Votes() == 5 })
		v.Peek(func() { check(t, v.Locks[key]) })
		for _, m := range masters[:3] {
			set(t, m, key, "b", time.Minute)
		}
		v.Await("a new holder", func() bool { return v.Locks[key].Votes() == 3 && v.Locks[key].Holders[0].Name == "b" })
		set(t, masters[0], key, "c", time.Minute)
		v.Await("split", inState(v, key, inspect.StateSplit))
		for _, m := range masters {
			del(t, m, key)
		}
		v.Await("free but listed", inState(v, key, inspect.StateFree))
		for _, m := range masters {
			set(t, m, key, "d", 6*time.Second)
		}
		v.Await("taken again", inState(v, key, inspect.StateHeld))
		v.Await("run out", inState(v, key, inspect.StateFree))
	})
}

func TestOnlyMatchingKeysAppear(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		v := watch(t, config(masters...))
		awaitPass(v, false)
		c, ctx := masters[0].Client(t), context.Background()
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
			must.Equal(t, v.Locks[key], nil, key)
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
		cfg := config(masters...)
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

func TestAllMastersDown(t *testing.T) {
	m := startMasters(t, 1, "lock:a")[0]
	cfg := config(m)
	v := watch(t, cfg)
	v.Await("held", inState(v, "lock:a", inspect.StateHeld))
	m.Kill(t)
	v.Await("unknown, not free", inState(v, "lock:a", inspect.StateUnknown))
	v.Await("down", func() bool { return v.Backend.State == inspect.Down && v.Backend.Error != "" })
	if b := once(t, cfg).Backend; b.State != inspect.Down || b.Servers[0].State != inspect.ServerDown {
		t.Errorf("backend %+v", b)
	}
}

func TestNothingIsReportedWhileNothingChanges(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		c := masters[0].Client(t)
		cfg := config(masters...)
		cfg.Match = []string{"*" + name + "*"}
		s := redissource.New(cfg)
		v := sourcetest.Watch(t, s)
		awaitPass(v, masters[0].Real)
		runsOut := time.Now().Add(time.Minute)
		set(t, masters[0], "lock:"+name, "x", time.Minute)
		v.Await("held", inState(v, "lock:"+name, inspect.StateHeld))
		s.Focus([]inspect.ID{{Backend: "redis", Path: "lock:" + name}})
		// Renewals that move the expiry by less than a round trip are read but are not changes. The
		// keys that follow show when they have been read.
		for i := range 20 {
			must.Succeed(t, c.PExpireAt(t.Context(), "lock:"+name, runsOut.Add(time.Duration(i)*time.Millisecond)).Err())
		}
		for i := range 5 {
			other := fmt.Sprintf("lock:%d:%s", i, name)
			set(t, masters[0], other, "x", time.Minute)
			v.Await("the next key", inState(v, other, inspect.StateHeld))
		}
		v.Peek(func() {
			if v.Puts < 6 || v.Puts > 6+10 { // on a busy machine, some reads look like renewals
				t.Errorf("%d locks were put, want 6 to 16", v.Puts)
			}
		})
	})
}

// A source that reaches its deadline during a read does not report its masters as failed. Each of eight rounds interrupts
// another read.
func TestOwnDeadlineIsNotAFailure(t *testing.T) {
	t.Parallel()
	masters := startMasters(t, 3, "lock:a")
	for _, m := range masters { // without tracking, there is always a read in progress
		run(t, m.Client(t), "ACL SETUSER default -client|tracking")
	}
	deadline, rounds := 400*time.Millisecond, 0
	for rounds < 8 {
		cfg := config(masters...)
		cfg.Timeout = 10 * time.Second
		s, v := redissource.New(cfg), sourcetest.NewView(t)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		done := make(chan error, 1)
		go func() {
			err := s.Run(ctx, v.Emit)
			v.Emit(inspect.Update{}) // wakes Await
			done <- err
		}()
		read := func() bool {
			return inState(v, "lock:a", inspect.StateHeld)() && v.Backend != nil && v.Backend.FirstPass
		}
		v.Await("read, or ended", func() bool { return read() || ctx.Err() != nil })
		if ctx.Err() != nil {
			cancel()
			<-done
			deadline *= 2 // a slow machine needs more time
			continue
		}
		rounds++
		for _, m := range masters { // only the deadline can end the read now
			m.Pause(t)
		}
		must.Be(t, <-done, nil)
		cancel()
		for _, m := range masters {
			m.Resume(t)
		}
		if v.Backend.State != inspect.Connected || v.Locks["lock:a"].State != inspect.StateHeld {
			t.Errorf("our own deadline is reported as a failure: %+v, %v", v.Backend, v.Describe())
		}
	}
}
