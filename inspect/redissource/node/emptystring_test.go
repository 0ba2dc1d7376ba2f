package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	emptied = "lock:a" // the key of these tests
	owner   = "285475da-9152-4c83-822a-67ee2f116a79:52"
	member  = "web1_11_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
)

// Another program may replace a collection with an empty string.
func TestEmptyStringReplacingCollectionIsRead(t *testing.T) {
	server := servertest.StartRedis(t)
	c, m := server.Client(t), testMaster(t, at(server.Addr))
	read := func(about string, empty bool) {
		t.Helper()
		v := must.Have(m.Votes(t.Context(), []string{emptied}))(t)[0]
		if !v.Up || !v.Present || v.Foreign || empty != (v.Value == "") {
			t.Errorf("%s: %+v", about, v)
		}
	}
	for _, kind := range []recipe.KeyType{recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet} {
		m.typed.remember(emptied, shape{kind: kind})
		send(t, c, []any{"set", emptied, ""})
		read("known as "+string(kind), true)
		read("known as a string", true)
		must.Equal(t, m.typed.shape(emptied).kind, recipe.TypeString, "remembered type")
	}
	send(t, c, []any{"del", emptied}, []any{"hset", emptied, owner, 1})
	read("a hash", false)
	send(t, c, []any{"set", emptied, "", "px", 3600_000})
	read("a replaced hash", true)
	read("a known string", true)
}

// readWithout reads the key as a user without the denied commands. During the read, change happens.
func readWithout(t *testing.T, server *servertest.Redis, denied []string, change *endsBetween) inspect.Vote {
	t.Helper()
	options := viewer(t, server, denied...)
	reader := redis.NewClient(&redis.Options{Addr: server.Addr, Username: options.Username, Password: options.Password})
	defer reader.Close()
	if change != nil {
		reader.AddHook(change)
	}
	return must.Have(ReadKey(t.Context(), time.Now, reader, server.Addr, emptied, 30*time.Second))(t)
}

// Without EXISTS, TYPE or PTTL may still distinguish an empty string from a missing key. Otherwise
// the vote is unknown and the missing right is named.
func TestEmptyStringIsRecognisedWithoutExists(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	gone := &endsBetween{commands: []string{"getrange"}, end: func() { admin.Del(t.Context(), emptied) }}
	for _, denied := range [][]string{
		{"-exists"},
		{"-exists", "-type"},
		{"-exists", "-pttl"},
		{"-exists", "-type", "-pttl"},
	} {
		unknown := len(denied) == 3
		for name, write := range map[string][]any{
			"absent":  {"del", emptied},
			"empty":   {"set", emptied, ""},
			"ran out": {"set", emptied, "x"},
		} {
			send(t, admin, write)
			var change *endsBetween
			if gone.done = false; name == "ran out" {
				change = gone
			}
			vote := readWithout(t, server, denied, change)
			must.Equal(t, vote.Up, !unknown, name, denied, "up")
			must.Equal(t, vote.Present, name == "empty" && !unknown, name, denied, "present")
			named := slices.ContainsFunc(vote.Unseen, func(u inspect.Unseen) bool {
				return u.Aspect == inspect.AspectVotes && u.Right != ""
			})
			must.True(t, named || !unknown, name, denied, vote.Unseen)
		}
	}
}

// A key acquired between two commands of a read never gets an empty holder.
func TestKeyTakenDuringReadHasHolder(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	for _, denied := range [][]string{{"-exists"}, {"-exists", "-type"}} {
		for name, take := range map[string][][]any{
			"string": {{"set", emptied, "next", "px", 3600_000}},
			"hash":   {{"del", emptied}, {"hset", emptied, owner, 1}},
		} {
			send(t, admin, []any{"set", emptied, "before"})
			vote := readWithout(t, server, denied, &endsBetween{
				commands: []string{"getrange"}, end: func() { send(t, admin, take...) },
			})
			must.True(t, !vote.Up || vote.Present || vote.Held != nil, "absent, taken by a", name, denied, vote)
			must.True(t, vote.Value != "" || vote.Unknown(inspect.AspectHolders), "no holder of a", name, denied, vote)
			must.True(t, name != "string" || vote.Value == "next", "another holder of a", name, denied, vote)
		}
	}
}

// A collection that expires or is released between its PTTL and its read is absent.
func TestCollectionEndingDuringReadIsAbsent(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	reads := []string{"hscan", "sscan", "zrange"}
	for _, write := range [][]any{
		{"hset", emptied, owner, 1},
		{"zadd", emptied, time.Now().Add(time.Hour).UnixMilli(), member},
		{"sadd", emptied, member},
	} {
		send(t, admin, write)
		ends := &endsBetween{commands: reads, end: func() { admin.Del(t.Context(), emptied) }}
		vote := readWithout(t, server, nil, ends)
		if !ends.done || !vote.Up || vote.Present || vote.Foreign || vote.Held != nil {
			t.Errorf("%v: ended %v; %+v", write[0], ends.done, vote)
		}
	}
}

// endsBetween empties the reply to the first of some commands, as if the key had ended before it, and
// then calls end.
type endsBetween struct {
	servertest.Hook
	commands []string
	end      func()
	done     bool
}

func (e *endsBetween) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if e.done || cmd.Err() != nil || !slices.Contains(e.commands, cmd.Name()) {
				continue
			}
			switch reply := cmd.(type) {
			case *redis.StringCmd:
				reply.SetVal("")
			case *redis.ScanCmd:
				reply.SetVal(nil, 0)
			case *redis.ZSliceCmd:
				reply.SetVal(nil)
			}
			e.done = true
			e.end()
		}
		return err
	}
}

// An empty helper key exists if its TTL is known.
func TestEmptyHelperKeyNeedsTTL(t *testing.T) {
	for kind, ttl := range map[recipe.KeyType]error{recipe.TypeString: nil, recipe.TypeNone: proto("NOPERM")} {
		read := probe{query: recipe.Query{Type: recipe.TypeString}, ttl: redis.NewDurationResult(time.Minute, ttl)}
		read.body = redis.NewStringResult("", nil)
		must.Equal(t, read.value(first).Type, kind, "type, with", ttl)
	}
}

// A read returns at most 1000 items, each cut to 1024 bytes, and notes if there are more.
func TestReadsAreBounded(t *testing.T) {
	many := make([]string, 1001)
	scores := make([]redis.Z, len(many))
	for i := range many {
		many[i] = fmt.Sprintf("member%04d", i)
		scores[i].Member = many[i]
	}
	fields := []string{"b", "y", "a", strings.Repeat("x", 1025)}
	for name, tt := range map[string]struct {
		kind  recipe.KeyType
		reply redis.Cmder
		items int
		more  bool
		text  string // of the first item
	}{
		"a full set":            {recipe.TypeSet, redis.NewScanCmdResult(many[:1000], 0, nil), 1000, false, ""},
		"a larger set":          {recipe.TypeSet, redis.NewScanCmdResult(many[:1000], 7, nil), 1000, true, ""},
		"a full list":           {recipe.TypeList, redis.NewStringSliceResult(many[:1000], nil), 1000, false, ""},
		"a longer list":         {recipe.TypeList, redis.NewStringSliceResult(many, nil), 1000, true, ""},
		"a full sorted set":     {recipe.TypeZSet, redis.NewZSliceCmdResult(scores[:1000], nil), 1000, false, ""},
		"a larger sorted set":   {recipe.TypeZSet, redis.NewZSliceCmdResult(scores, nil), 1000, true, ""},
		"a hash":                {recipe.TypeHash, redis.NewScanCmdResult(fields, 0, nil), 2, false, fields[3][:1024]},
		"a field without value": {recipe.TypeHash, redis.NewScanCmdResult(fields[:3], 0, nil), 1, false, "y"},
	} {
		v := probe{query: recipe.Query{Type: tt.kind}, body: tt.reply}.value(first)
		if len(v.Items) != tt.items || v.More != tt.more || v.Items[0].Text != tt.text {
			t.Errorf("%s: %d items, more %v, %q", name, len(v.Items), v.More, v.Items[0].Text)
		}
	}
	hash := &keyReading{shape: shape{kind: recipe.TypeHash}}
	hash.main.query.Type, hash.main.ttl = recipe.TypeHash, redis.NewDurationResult(forEver, nil)
	hash.main.body = redis.NewScanCmdResult(many, 7, nil)
	new(Master).readMain(hash)
	must.Equal(t, hash.there, isPresent, "a large hash")
	must.True(t, hash.vote.Foreign && hash.vote.Value == "hash", "a large hash is", hash.vote)
}
