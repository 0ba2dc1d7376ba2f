package redissource

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testConfig configures masters m0, m1 and so on.
func testConfig(masters int) Config {
	cfg := Config{Backend: "redis"}
	for i := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{fmt.Sprintf("m%d", i)}})
	}
	return cfg
}

// testedTable is a key table to which a test reports reads.
type testedTable struct{ *keyTable }

func testTable(masters int) testedTable {
	cfg := testConfig(masters)
	cfg.explicit = true
	return testedTable{newKeyTable(cfg, New(cfg).masters())}
}

// read records what masters answered about a key, and returns its lock if it changed.
func (b testedTable) read(key string, now time.Time, votes ...inspect.Vote) *inspect.Lock {
	b.add(key, now)
	for _, v := range votes {
		b.vote(int(v.Addr[1]-'0'), key, v, now)
	}
	l, _ := b.judge(key, now)
	return l
}

// held is a master's vote for a value with this TTL left.
func held(master int, value inspect.Untrusted, left time.Duration, now time.Time) inspect.Vote {
	v := absent(master)
	v.Present, v.Value, v.ExpiresAt = true, value, now.Add(left)
	return v
}

// absent is the vote of a master without the key.
func absent(master int) inspect.Vote { return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true} }

// foreign is the vote of a master with a key of another type.
func foreign(master int, kind inspect.Untrusted) inspect.Vote {
	return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true, Present: true, Foreign: true, Value: kind}
}

// forbids is the vote of a master that denies us the key.
func forbids(master int, key string) inspect.Vote {
	return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Unseen: []inspect.Unseen{{Aspect: inspect.AspectVotes, Right: "~" + key}}}
}

func one(string) int { return 1 }

func TestChoosePrefersFocusThenRotates(t *testing.T) {
	b := testTable(1)
	for i := range 10 {
		b.read(fmt.Sprintf("k%d", i), noon, held(0, "a", time.Hour, noon))
	}
	many := map[string]bool{"k1": true, "k2": true, "k3": true, "k4": true, "k5": true, "k6": true, "k7": true}
	must.Same(t, b.choose(8, one, many), strings.Fields("k1 k2 k3 k4 k5 k6 k0 k7"), "three quarters in focus")
	focus := map[string]bool{"k9": true, "unknown": true}
	seen := map[string]int{}
	for range 9 {
		chosen := b.choose(3, one, focus)
		if len(chosen) != 3 || chosen[0] != "k9" {
			t.Fatalf("chosen %v", chosen)
		}
		for _, key := range chosen {
			seen[key]++
		}
	}
	for i := range 9 {
		if n := seen[fmt.Sprintf("k%d", i)]; n < 1 || n > 3 {
			t.Errorf("k%d was read %d times in 9 ticks of 3: %v", i, n, seen)
		}
	}
	delete(b.entries, "k3")
	for range 4 {
		must.True(t, !slices.Contains(b.choose(3, one, nil), "k3"), "a removed key is read")
	}
}

func TestShortLivedKeysAreForgotten(t *testing.T) {
	b := testTable(1)
	for i := range 10_000 {
		b.read(fmt.Sprintf("short:%d", i), noon, absent(0))
	}
	if len(b.ring) > 100 || len(b.entries) != 0 {
		t.Errorf("%d in the ring, %d entries", len(b.ring), len(b.entries))
	}
	b.read("list", noon, foreign(0, "list"))
	b.sweep(noon.Add(foreignFor))
	must.True(t, !b.add("list", noon.Add(foreignFor/2)), "read again too early")
	b.sweep(noon.Add(foreignFor + 2*rememberPostponed))
	must.Equal(t, len(b.foreign), 0, "remembered keys", b.foreign)
}
