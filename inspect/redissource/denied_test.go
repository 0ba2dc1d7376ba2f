package redissource

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// The first of the denied keys is found without a look at all of them, and is the first after each change.
func TestTheFirstOfTheDeniedKeysIsKnown(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := testTable(1)
	var denied []string
	for range 2000 {
		key := strconv.Itoa(random.IntN(50))
		i, known := slices.BinarySearch(denied, key)
		switch {
		case random.IntN(2) == 0:
			b.deny(key)
			if !known {
				denied = slices.Insert(denied, i, key)
			}
		default:
			b.allow(key)
			if known {
				denied = slices.Delete(denied, i, i+1)
			}
		}
		want := ""
		if len(denied) > 0 {
			want = denied[0]
		}
		if got := b.nameDenied(); got != want {
			t.Fatalf("%q, want %q of %v", got, want, denied)
		}
	}
	for i := range 100_000 {
		b.deny("x" + strconv.Itoa(i))
	}
	b.nameDenied()
	if n := testing.AllocsPerRun(10, func() { b.nameDenied() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
