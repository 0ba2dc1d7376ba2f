package node

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Another program may replace a collection with an empty string.
func TestEmptyStringReplacingCollectionIsRead(t *testing.T) {
	server := servertest.StartRedis(t)
	c := server.Client(t)
	const key = "lock:a"
	m := New(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}}, Settings{Timeout: 30 * time.Second, Now: time.Now})
	defer m.Close()
	for _, kind := range []recipe.KeyType{recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet} {
		m.typed.remember(key, shape{kind: kind})
		must.Succeed(t, c.Set(t.Context(), key, "", 0).Err())
		for n := range 2 {
			votes, err := m.Votes(t.Context(), []string{key})
			if err != nil || !votes[0].Up || !votes[0].Present || votes[0].Foreign || votes[0].Value != "" {
				t.Errorf("known as %s, read %d: %+v, %v", kind, n, votes, err)
			}
		}
		must.Equal(t, m.typed.shape(key).kind, recipe.TypeString, "remembered type")
	}
	must.Succeed(t, c.Del(t.Context(), key).Err())
	must.Succeed(t, c.HSet(t.Context(), key, "285475da-9152-4c83-822a-67ee2f116a79:52", 1).Err())
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return c.Set(t.Context(), key, "", time.Hour).Err() },
		func() error { return nil },
	} {
		must.Succeed(t, step())
		if votes, err := m.Votes(t.Context(), []string{key}); err != nil || !votes[0].Up || !votes[0].Present {
			t.Errorf("%+v, %v", votes, err)
		}
	}
}

// Without EXISTS, TYPE or PTTL may still distinguish an empty string from a missing key. Otherwise
// the vote is unknown and the missing right is named.
func TestEmptyStringIsRecognisedWithoutExists(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key = "lock:a"
	for n, denied := range [][]any{
		{"-exists"},
		{"-exists", "-type"},
		{"-exists", "-pttl"},
		{"-exists", "-type", "-pttl"},
	} {
		user := fmt.Sprint("viewer", n)
		must.Succeed(t, admin.Do(t.Context(), append([]any{"acl", "setuser", user, "on", ">pw", "~*", "&*", "+@all"}, denied...)...).Err())
		for name, write := range map[string]func() error{
			"absent":  func() error { return admin.Del(t.Context(), key).Err() },
			"empty":   func() error { return admin.Set(t.Context(), key, "", 0).Err() },
			"ran out": func() error { return admin.Set(t.Context(), key, "x", 0).Err() },
		} {
			must.Succeed(t, write())
			reader := redis.NewClient(&redis.Options{Addr: server.Addr, Username: user, Password: "pw"})
			if name == "ran out" {
				reader.AddHook(&endsBetween{end: func() { admin.Del(t.Context(), key) }})
			}
			vote, err := ReadKey(t.Context(), time.Now, reader, server.Addr, key, 30*time.Second)
			reader.Close()
			switch untold := len(denied) == 3; {
			case err != nil, vote.Up == untold:
				t.Errorf("%s, %v: %+v, %v", name, denied, vote, err)
			case vote.Present != (name == "empty" && !untold):
				t.Errorf("%s, %v: present %v", name, denied, vote.Present)
			case untold && !slices.ContainsFunc(vote.Unseen, func(u inspect.Unseen) bool { return u.Aspect == inspect.AspectVotes && u.Right != "" }):
				t.Errorf("%s, %v: %+v", name, denied, vote.Unseen)
			}
		}
	}
}

// A key acquired between two commands of a read never gets an empty holder.
func TestKeyTakenDuringReadHasHolder(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key = "lock:a"
	for n, denied := range [][]any{{"-exists"}, {"-exists", "-type"}} {
		user := fmt.Sprint("taken", n)
		must.Succeed(t, admin.Do(t.Context(), append([]any{"acl", "setuser", user, "on", ">pw", "~*", "&*", "+@all"}, denied...)...).Err())
		for name, take := range map[string]func(){
			"string": func() { admin.Set(t.Context(), key, "next", time.Hour) },
			"hash": func() {
				admin.Del(t.Context(), key)
				admin.HSet(t.Context(), key, "285475da-9152-4c83-822a-67ee2f116a79:52", 1)
			},
		} {
			must.Succeed(t, admin.Set(t.Context(), key, "before", 0).Err())
			reader := redis.NewClient(&redis.Options{Addr: server.Addr, Username: user, Password: "pw"})
			reader.AddHook(&endsBetween{end: take})
			vote, err := ReadKey(t.Context(), time.Now, reader, server.Addr, key, 30*time.Second)
			reader.Close()
			if err != nil || vote.Up && !vote.Present && vote.Held == nil || vote.Value == "" && !vote.Unknown(inspect.AspectHolders) || name == "string" && vote.Value != "next" {
				t.Errorf("taken by a %s, %v: %+v, %v", name, denied, vote, err)
			}
		}
	}
}

// A collection that expires or is released between its PTTL and its read is absent.
func TestCollectionEndingDuringReadIsAbsent(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key = "lock:a"
	for _, write := range [][]any{
		{"hset", key, "285475da-9152-4c83-822a-67ee2f116a79:52", 1},
		{"zadd", key, time.Now().Add(time.Hour).UnixMilli(), "web1_11_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"},
		{"sadd", key, "web1_11_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"},
	} {
		must.Succeed(t, admin.Do(t.Context(), write...).Err())
		reader := redis.NewClient(&redis.Options{Addr: server.Addr})
		ends := &endsBetween{end: func() { admin.Del(t.Context(), key) }, collection: true}
		reader.AddHook(ends)
		vote, err := ReadKey(t.Context(), time.Now, reader, server.Addr, key, 30*time.Second)
		reader.Close()
		if err != nil || !ends.done || !vote.Up || vote.Present || vote.Foreign || vote.Held != nil {
			t.Errorf("%v: ended %v; %+v, %v", write[0], ends.done, vote, err)
		}
	}
}

// endsBetween calls end between two commands of one read.
type endsBetween struct {
	servertest.Hook
	end        func()
	collection bool
	done       bool
}

func (e *endsBetween) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if e.done {
				break
			}
			switch value := cmd.(type) {
			case *redis.StringCmd:
				if e.done = cmd.Name() == "getrange" && !e.collection; e.done {
					value.SetVal("")
				}
			case *redis.ScanCmd:
				if e.done = e.collection && value.Err() == nil; e.done {
					value.SetVal(nil, 0)
				}
			case *redis.ZSliceCmd:
				if e.done = e.collection && value.Err() == nil; e.done {
					value.SetVal(nil)
				}
			}
			if e.done {
				e.end()
			}
		}
		return err
	}
}
