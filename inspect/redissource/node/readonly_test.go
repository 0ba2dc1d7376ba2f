package node

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/text"
)

// writes are commands that change something or reveal more than a reader needs.
var writes = [][]any{
	{"set", "lock:a", "two"},
	{"SET", "lock:a", "two"},
	{"del", "lock:a"},
	{"unlink", "lock:a"},
	{"pexpire", "lock:a", 1},
	{"eval", "return 1", 0},
	{"evalsha", "x", 0},
	{"fcall", "f", 0},
	{"getdel", "lock:a"},
	{"getex", "lock:a"},
	{"publish", "c", "m"},
	{"flushall"},
	{"config", "get", "*"},
	{"keys", "*"},
	{"monitor"},
	{"memory", "purge"},
	{"memory", "doctor"},
	{"zrangestore", "a", "b", 0, 1},
	{"hset", "lock:a", "f", 1},
	{"zrem", "lock:a", "m"},
	{"lpop", "lock:a"},
	{"srem", "lock:a", "m"},
	{"spublish", "c", "m"},
	{"client", "kill", "id", 1},
	{"client", "pause", 1},
	{"client", "setname", "x"},
	{"client"},
	{"multi"},
	{"debug", "sleep", 1},
	{"script", "flush"},
	{"cluster", "reset"},
	{"command", "getkeys"},
	{"wait", 1, 1},
	{7},
}

func TestOnlyReadCommandsAreSent(t *testing.T) {
	mini := miniredis.RunT(t)
	mini.Set("lock:a", "one")
	m := New("a", redis.UniversalOptions{Addrs: []string{mini.Addr()}}, Settings{Timeout: time.Second, Now: time.Now})
	defer m.Close()
	ctx, sent := context.Background(), &m.sent.commands
	client := must.Have(m.connect(ctx))(t)
	if v, err := client.GetRange(ctx, "lock:a", 0, 10).Result(); err != nil || v != "one" {
		t.Fatalf("a read: %q, %v", v, err)
	}
	before := sent.Load()
	for _, args := range writes {
		must.Be(t, client.Do(ctx, args...).Err(), ErrRefused, args)
		pipe := client.Pipeline()
		read := pipe.Get(ctx, "lock:a")
		pipe.Do(ctx, args...)
		if _, err := pipe.Exec(ctx); !errors.Is(err, ErrRefused) || !errors.Is(read.Err(), ErrRefused) {
			t.Errorf("%v in a pipeline: %v", args, err)
		}
	}
	if _, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Get(ctx, "lock:a"); return nil }); !errors.Is(err, ErrRefused) {
		t.Errorf("a transaction: %v", err)
	}
	if v, _ := mini.Get("lock:a"); v != "one" || sent.Load() != before {
		t.Errorf("something was sent: %q, %d commands", v, sent.Load()-before)
	}
	dedicated := client.(*redis.Client).Conn()
	defer dedicated.Close()
	must.Be(t, dedicated.Set(ctx, "lock:a", "two", 0).Err(), ErrRefused, "on a dedicated connection")
}

func TestGlobMatchesAsRedisDoes(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"*lock*", "my:lock:a", true},
		{"*lock*", "mylok", false},
		{"lock:?", "lock:a", true},
		{"lock:?", "lock:", false},
		{"", "", true},
		{"*", "", true},
		{"**", "a/b", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXbY", false},
		{"[a-c]x", "bx", true},
		{"[^a-c]x", "bx", false},
		{"[c-a]x", "bx", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`[\]]`, "]", true},
		{"[ab", "a", true},
		{`a\`, `a\`, true},
		{"[", "[", false},
	} {
		must.Equal(t, text.Glob(c.pattern, c.key), c.want, c.pattern, c.key)
	}
}

// FuzzGlob compares Glob with path.Match, which differs in classes, slashes and escapes.
func FuzzGlob(f *testing.F) {
	f.Add("*lock*", "my:lock")
	f.Add("*[lL][oO]*", "oLOl")
	f.Add("*[lL]*", "\xcc")
	f.Add("[a-", "\\")
	f.Fuzz(func(t *testing.T, pattern, key string) {
		got := text.Glob(pattern, key)
		if NewMatcher([]string{pattern}, nil).Any(key) != got {
			t.Errorf("NewMatcher(%q) and Glob differ on %q", pattern, key)
		}
		if strings.ContainsAny(pattern+key, `[]\/`) || strings.ContainsFunc(pattern+key, func(r rune) bool { return r >= 0x80 }) {
			return
		}
		if want, err := path.Match(pattern, key); err == nil && got != want {
			t.Errorf("Glob(%q, %q) = %v", pattern, key, got)
		}
	})
}

func FuzzInfoField(f *testing.F) {
	f.Add("# Server\r\nuptime_in_seconds:12\r\n", "uptime_in_seconds")
	f.Fuzz(func(_ *testing.T, info, name string) { infoField(info, name) })
}
