package fairness

import (
	"math"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestOvertaken(t *testing.T) {
	read := func(place int64) Claim { return Claim{place, true} }
	write := func(place int64) Claim { return Claim{place, false} }
	for _, test := range []struct {
		name    string
		granted Claim
		waiters []Claim
		spare   int
		want    []int
	}{
		{"the first", write(1), []Claim{write(2), write(3)}, 0, nil},
		{"the third", write(3), []Claim{write(2), write(1), write(4)}, 0, []int{0, 1}},
		{"a reader before a reader", read(3), []Claim{read(1), read(2)}, 0, nil},
		{"a reader before a writer", read(3), []Claim{read(1), write(2)}, 0, []int{1}},
		{"a writer before a reader", write(3), []Claim{read(1), write(4)}, 0, []int{0}},
		{"a permit for the first, too", write(3), []Claim{write(2), write(1)}, 1, []int{0}},
		{"permits for all", write(3), []Claim{write(2), write(1)}, 5, nil},
		{"numbers that wrapped", write(math.MinInt64 + 1), []Claim{write(math.MaxInt64), write(math.MinInt64 + 2)}, 0, []int{0}},
		{"no waiters", write(3), nil, 0, nil},
	} {
		must.Same(t, Overtaken(test.granted, test.waiters, test.spare), test.want, test.name)
	}
}
