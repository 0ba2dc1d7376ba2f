package locks

import (
	"testing"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

// BenchmarkArrange100000 measures sorting and filtering as the command does them.
func BenchmarkArrange100000(b *testing.B) {
	s := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), fixture.ManyLocks(100_000))
	for b.Loop() {
		NewIndex(b.Context(), s, arrangement{Order: order{by: byHeld}, Filter: screen.NewFilter("lock-0 age>10s")}, fixture.Noon)
	}
}
