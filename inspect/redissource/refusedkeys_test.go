package redissource

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// forbids is the vote of a master that denies us the key.
func forbids(master int, key string) inspect.Vote {
	return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Unseen: []inspect.Unseen{{Aspect: inspect.AspectVotes, Right: "~" + key}}}
}

// narrowed is the vote of a master that denies us the waiters.
func narrowed(master int) inspect.Vote {
	v := held(master, "a", time.Hour, noon)
	v.Unseen = []inspect.Unseen{{Aspect: inspect.AspectWaiters, Right: "~queue"}}
	return v
}

// A missing key does not prove a granted right, which would make us read all refused keys again.
func TestMissingKeyProvesNoRestoredRight(t *testing.T) {
	for name, tt := range map[string]struct {
		before, now inspect.Vote // of master 0
		denied      bool         // known by name only
		can         bool
	}{
		"seen in part, then whole":          {before: narrowed(0), now: held(0, "a", time.Hour, noon), can: true},
		"forbidden, then seen":              {before: forbids(0, "k"), now: held(0, "a", time.Hour, noon), can: true},
		"known by name, then seen":          {before: absent(0), now: held(0, "a", time.Hour, noon), denied: true, can: true},
		"seen in part, then released":       {before: narrowed(0), now: absent(0)},
		"forbidden on another, absent here": {before: absent(0), now: absent(0), denied: true},
		"forbidden, then silent":            {before: forbids(0, "k"), now: inspect.Vote{Addr: "m0"}},
		"still forbidden":                   {before: forbids(0, "k"), now: forbids(0, "k"), denied: true},
		"still seen":                        {before: held(0, "a", time.Hour, noon), now: held(0, "a", time.Hour, noon)},
	} {
		b := testTable(2)
		b.add("k", noon)
		b.vote(0, "k", tt.before, noon)
		b.denied["k"] = tt.denied
		must.Equal(t, b.canBeRead(0, "k", tt.now), tt.can, name)
	}
}

func TestRefusedKeysAreRetriedGradually(t *testing.T) {
	b := testTable(2)
	for i := range 10 {
		b.read(fmt.Sprintf("k%d", i), noon, narrowed(0), held(1, "a", time.Hour, noon))
	}
	if some, all := b.refusedKeys(4), b.refusedKeys(100); len(some) != 4 || len(all) != 10 {
		t.Errorf("%d of 4, %d of 10", len(some), len(all))
	}
	if !b.refusedBy(0, "k0") || b.refusedBy(1, "k0") {
		t.Error("want a refusal by master 0 only")
	}
	b.vote(0, "k0", held(0, "a", time.Hour, noon), noon)
	if left := b.refusedKeys(100); len(left) != 9 || len(b.refused) != 9 {
		t.Errorf("one can be read: %d left, %d remembered", len(left), len(b.refused))
	}
}

// A key stays marked as unreadable while no server answers, so that it is not new when readable.
func TestDeniedKeyStaysDeniedDuringSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		then inspect.Vote
		left bool
	}{
		"silence":   {inspect.Vote{Addr: "m0"}, true},
		"forbidden": {forbids(0, "k"), true},
		"absent":    {absent(0), false},
	} {
		b := testTable(1)
		b.read("k", noon, forbids(0, "k"))
		must.True(t, b.denied["k"], "a forbidden key is not marked as denied")
		b.takeDenied(1, noon)
		b.read("k", noon, tt.then)
		must.Equal(t, b.denied["k"], tt.left, name, "denied")
	}
}
