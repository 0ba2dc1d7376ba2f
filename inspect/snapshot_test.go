package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTableKeepsLocksSortedAndOldVersionsUntouched(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var tb table
	model := map[ID]*Lock{}
	var old table
	var oldLocks []*Lock
	for step := range 20000 {
		id := ID{"zk", fmt.Sprintf("/%d", random.IntN(3000))}
		if random.IntN(3) == 0 {
			tb.remove(id)
			delete(model, id)
		} else {
			l := &Lock{ID: id}
			tb.put(l)
			model[id] = l
		}
		if step == 10000 {
			old = tb.share()
			oldLocks = slices.Collect(old.all())
		}
	}
	got := slices.Collect(tb.all())
	if len(got) != len(model) || tb.len() != len(model) {
		t.Fatalf("%d locks, len %d, want %d", len(got), tb.len(), len(model))
	}
	if !slices.IsSortedFunc(got, func(a, b *Lock) int { return a.ID.Compare(b.ID) }) {
		t.Error("not sorted by id")
	}
	for id, l := range model {
		if tb.get(id) != l {
			t.Fatalf("%v is not the newest version", id)
		}
	}
	if !slices.Equal(slices.Collect(old.all()), oldLocks) {
		t.Error("what was shared has changed")
	}
	if tb.get(ID{"zk", "/none"}) != nil {
		t.Error("found a lock that is not there")
	}
}
