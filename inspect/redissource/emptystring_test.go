package redissource

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
)

// A key that was known as a collection, and that another program has made an empty string, is that: it is read as a string from then on.
func TestACollectionThatBecameAnEmptyStringIsRead(t *testing.T) {
	server := servertest.StartRedis(t)
	c := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer c.Close()
	const key = "lock:a"
	m := newMaster(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}}, 30*time.Second, time.Now)
	defer m.close()
	for _, kind := range []recipe.KeyType{recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet} {
		m.typed.remember(key, shape{kind: kind})
		if err := c.Set(t.Context(), key, "", 0).Err(); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			votes, err := m.readVotes(t.Context(), []string{key})
			if err != nil || !votes[0].Up || !votes[0].Present || votes[0].Foreign || votes[0].Value != "" {
				t.Errorf("known as %s, reading %d: %+v, %v", kind, n, votes, err)
			}
		}
		if s := m.typed.shape(key); s.kind != recipe.TypeString {
			t.Errorf("known as %s still", s.kind)
		}
	}
	if err := c.Del(t.Context(), key).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.HSet(t.Context(), key, "285475da-9152-4c83-822a-67ee2f116a79:52", 1).Err(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return c.Set(t.Context(), key, "", time.Hour).Err() },
		func() error { return nil },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if votes, err := m.readVotes(t.Context(), []string{key}); err != nil || !votes[0].Up || !votes[0].Present {
			t.Errorf("%+v, %v", votes, err)
		}
	}
}
