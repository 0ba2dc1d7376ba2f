package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// someone parses a contender's owner: "s1" is a session, "L=x" a label, "P=web-1:7" host and
// process, "I=x" a library's id, "@10.0.0.1:5" the client's address.
func someone(words string) Owner {
	var o Owner
	for _, w := range strings.Fields(words) {
		switch key, value, _ := strings.Cut(w, "="); {
		case w[0] == 's':
			o.Session = int64(w[1])
		case w[0] == '@':
			o.Client = w[1:]
		case key == "L":
			o.Label = Untrusted(value)
		case key == "I":
			o.LibraryID, o.Thread = Untrusted(value), "1"
		case key == "P":
			host, pid, _ := strings.Cut(value, ":")
			o.Host, o.PID = Untrusted(host), Untrusted(pid)
		}
	}
	return o
}

// between returns two locks, one in ZooKeeper and one in Redis. The first owner of each holds it,
// the second waits.
func between(zk, redis [2]string) []*Lock {
	make := func(id ID, masters []Vote, who [2]string) *Lock {
		l := &Lock{ID: id, Kind: KindMutex, Masters: masters}
		l.Holders = []Contender{{Name: Untrusted(id.Path + "-0"), State: Holding, Owner: someone(who[0])}}
		l.Waiters = []Contender{{Name: Untrusted(id.Path + "-1"), State: Waiting, Owner: someone(who[1])}}
		return l
	}
	return []*Lock{make(ID{"redis", "r"}, []Vote{{Addr: "r:1"}}, redis), make(ID{"zk", "/z"}, nil, zk)}
}

// Unique ids.
const (
	cartID = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	tillID = "1d5f1b2e-9d8a-4f6f-b1f0-a7c3d5e60719"
)

// tiedCases are pairs of locks that form a cycle if each holder is the other's waiter. want is the
// evidence for that.
var tiedCases = map[string]struct {
	zk, redis [2]string // holder, waiter: each holder may be the other lock's waiter
	more      []*Lock
	want      string
}{
	"processes by their labels": {
		zk: [2]string{"s1 L=web-1:7", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", "L=web-1:7"},
		want: "process web-1:7 (likely), process web-2:8 (likely)",
	},
	"a label and what a library writes": {
		zk: [2]string{"s1 L=7@web-1", "s2 L=web-2:8"}, redis: [2]string{"P=web-2:8", "P=web-1:7"},
		want: "process web-1:7 (likely), process web-2:8 (likely)",
	},
	"names on one host each": {
		zk:    [2]string{"s1 L=cart @10.0.0.1:5", "s2 L=till @10.0.0.2:5"},
		redis: [2]string{"L=till @10.0.0.2:9", "L=cart @10.0.0.1:9"}, want: "name cart (likely), name till (likely)",
	},
	"names alone": {
		zk: [2]string{"s1 L=cart", "s2 L=till"}, redis: [2]string{"L=till", "L=cart"},
		want: "name cart (possible), name till (possible)",
	},
	"loopback is not a host": {
		zk:    [2]string{"s1 L=cart @127.0.0.1:5", "s2 L=till @127.0.0.1:6"},
		redis: [2]string{"L=till @127.0.0.1:7", "L=cart @127.0.0.1:8"}, want: "name cart (possible), name till (possible)",
	},
	"unique ids": {
		zk: [2]string{"s1 L=" + cartID, "s2 L=" + tillID}, redis: [2]string{"I=" + tillID, "I=" + cartID},
		want: "name " + cartID + " (likely), name " + tillID + " (likely)",
	},
	"hosts alone": {
		zk: [2]string{"s1 @10.0.0.1:5", "s2 @10.0.0.2:5"}, redis: [2]string{"I=b @10.0.0.2:9", "I=a @10.0.0.1:9"},
		want: "host 10.0.0.1 (possible), host 10.0.0.2 (possible)",
	},
	"one of them by its host": {
		zk: [2]string{"s1 L=web-1:7", "s2 @10.0.0.2:5"}, redis: [2]string{"I=b @10.0.0.2:9", "L=web-1:7"},
		want: "process web-1:7 (likely), host 10.0.0.2 (possible)",
	},
	"the loopback address alone": {
		zk: [2]string{"s1 @127.0.0.1:5", "s2 @127.0.0.1:6"}, redis: [2]string{"I=b @127.0.0.1:9", "I=a @127.0.0.1:9"},
	},
	"one host, other processes": {
		zk: [2]string{"s1 L=web-1:7 @10.0.0.1:5", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", "L=web-1:9 @10.0.0.1:6"},
	},
	"one host, other names": {
		zk: [2]string{"s1 L=cart @10.0.0.1:5", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", "L=till @10.0.0.1:6"},
	},
	"one host, two sessions, one without a wait": {
		zk: [2]string{"s1 @10.0.0.1:5", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", "I=a @10.0.0.1:9"},
		more: []*Lock{{ID: ID{"zk", "/idle"}, Holders: []Contender{{Name: "x", State: Holding, Owner: someone("s3 @10.0.0.1:6")}}}},
	},
	"one name on two hosts": {
		zk: [2]string{"s1 L=cart @10.0.0.1:5", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", "L=cart @10.0.0.3:6"},
	},
	"one name of two sessions": {
		zk: [2]string{"s1 L=cart", "s2 L=cart"}, redis: [2]string{"L=cart", "L=till"},
	},
	"one name twice in a queue": {
		zk: [2]string{"s1 L=cart", "s2 L=till"}, redis: [2]string{"L=cart", "L=cart"},
	},
	"an unknown waiter": {zk: [2]string{"s1 L=web-1:7", "s2 L=web-2:8"}, redis: [2]string{"L=web-2:8", ""}},
	"an unknown holder": {zk: [2]string{"s1 L=web-1:7", "s2 L=web-2:8"}, redis: [2]string{"", "L=web-1:7"}},
	"a chain, no cycle": {zk: [2]string{"s1 L=web-1:7", "s2 L=web-2:8"}, redis: [2]string{"L=web-1:7", "L=web-2:8"}},
}

// A cycle over both backends needs a session and a client of the same program.
func TestCyclesOverBothBackends(t *testing.T) {
	for name, tt := range tiedCases {
		t.Run(name, func(t *testing.T) {
			locks := append(between(tt.zk, tt.redis), tt.more...)
			cycles := findCycles(slices.Values(locks))
			if tt.want == "" {
				must.Equal(t, len(cycles), 0, "cycles")
				return
			}
			if len(cycles) != 1 {
				t.Fatalf("%d cycles", len(cycles))
			}
			c := cycles[0]
			expect(t, "tied by", c.TiedBy(), tt.want)
			must.Equal(t, c.Certainty() == recipe.Possible, strings.Contains(tt.want, "possible"), "a possible cycle")
			for i := range c.Owners {
				if c.Wants(locks[slices.IndexFunc(locks, func(l *Lock) bool { return l.ID == c.Locks[i] })], i) == nil {
					t.Errorf("the wait of owner %d is missing", i)
				}
			}
			must.True(t, c.Cheapest.Owner >= 0, "no cheapest hold")
		})
	}
}

// A cycle over both backends does not affect cycles within one.
func TestTiesAddNothingWithinABackend(t *testing.T) {
	locks := append(between([2]string{"s1 L=web-1:7", "s2 L=web-2:8"}, [2]string{"L=web-2:8", "L=web-1:7"}), chain("1", "a", "b"), chain("2", "b", "a"))
	var got []string
	for _, c := range findCycles(slices.Values(locks)) {
		got = append(got, fmt.Sprint(c.Locks, len(c.Ties)))
	}
	expect(t, "cycles", strings.Join(got, "; "), "[redis:r zk:/z] 2; [zk:/1 zk:/2] 0")
}

// The preview of a release knows what its owner likely waits for on the other backend, and that the
// release ends the deadlock.
func TestReleasePreviewSpansBothBackends(t *testing.T) {
	for label, holds := range map[string]string{"web-1:7": "[redis:r]", "cart": "[]"} {
		locks := between([2]string{"s1 L=" + label, "s2 L=web-2:8"}, [2]string{"L=web-2:8", "L=" + label})
		s := NewSnapshot(now, nil, locks)
		_, waits, known := s.Elsewhere(locks[1].ID, &locks[1].Holders[0])
		must.True(t, known && fmt.Sprint(waits) == holds, label, "waits elsewhere for", waits, known)
		if is, then := s.DeadlockWithout(locks[1].ID, &locks[1].Holders[0]); !is || then {
			t.Errorf("%s: deadlock %v, without the holder %v", label, is, then)
		}
	}
}
