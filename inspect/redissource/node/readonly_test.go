package node

import (
	"context"
	"path"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/text"
)

// writes are commands that change something or reveal more than a reader needs.
const writes = `set lock:a two; SET lock:a two; del lock:a; unlink lock:a; pexpire lock:a 1; getdel lock:a; getex lock:a
	hset lock:a f 1; zrem lock:a m; lpop lock:a; srem lock:a m; zrangestore a b 0 1
	eval return 0; evalsha x 0; fcall f 0; multi; publish c m; spublish c m; wait 1 1
	flushall; config get *; keys *; monitor; memory purge; memory doctor; debug sleep 1; script flush; cluster reset
	client; client kill id 1; client pause 1; client setname x; command getkeys`

func TestOnlyReadCommandsAreSent(t *testing.T) {
	mini := miniredis.RunT(t)
	mini.Set("lock:a", "one")
	m := testMaster(t, at(mini.Addr()))
	ctx, sent := context.Background(), &m.sent.commands
	client := must.Have(m.connect(ctx))(t)
	must.Equal(t, must.Have(client.GetRange(ctx, "lock:a", 0, 10).Result())(t), "one", "a read")
	before := sent.Load()
	must.Contain(t, check([]any{"SET", "lock:a"}).Error(), `"set" "lock:a": not a read command: refused before it`)
	must.Equal(t, before, 2, "commands with HELLO")
	commands := [][]any{{7}}
	for _, command := range strings.FieldsFunc(writes, func(r rune) bool { return r == ';' || r == '\n' }) {
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		commands = append(commands, args)
	}
	for _, args := range commands {
		must.Be(t, client.Do(ctx, args...).Err(), ErrRefused, args)
		pipe := client.Pipeline()
		read := pipe.Get(ctx, "lock:a")
		pipe.Do(ctx, args...)
		_, err := pipe.Exec(ctx)
		must.Be(t, err, ErrRefused, args, "in a pipeline")
		must.Be(t, read.Err(), ErrRefused, "a read with", args)
	}
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Get(ctx, "lock:a").Err() })
	must.Be(t, err, ErrRefused, "a transaction")
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
		{"*[lL][oO][cC][kK]*", "BLOCK:7", true},
		{"*[lL][oO]:?", "lo", false},
		{"*?lock", "lock", false},
		{"*LOCK", "aLOCK", true},
		{"*LOCK", "alock", false},
	} {
		must.Equal(t, text.Glob(c.pattern, c.key), c.want, c.pattern, c.key)
		must.Equal(t, NewMatcher([]string{c.pattern}, nil).Any(c.key), c.want, "matcher", c.pattern, c.key)
		must.True(t, text.Glob(GlobEscape.Replace(c.pattern), c.pattern), "escaped", c.pattern)
	}
}

func TestRightsAreThoseOfReads(t *testing.T) {
	want := strings.Fields(`+scan +pttl +getrange +hscan +sscan +zrange +lrange +pubsub|numsub +pubsub|shardnumsub
		+type +memory|usage +exists +time +info +client|list +client|tracking +cluster|slots
		+ping +select +asking +command +command|info`)
	must.Same(t, Rights(), want, "rights")
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
