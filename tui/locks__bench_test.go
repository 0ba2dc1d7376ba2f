package tui

import (
	"testing"

	"lockscope/inspect"
)

// BenchmarkArrange100000 is what sorting and filtering take, in a command.
func BenchmarkArrange100000(b *testing.B) {
	s := inspect.NewSnapshot(noon, backends(), manyLocks(100_000))
	for b.Loop() {
		newIndex(b.Context(), s, arrangement{order: order{by: byHeld}, filter: newFilter("lock-0 age>10s")}, noon)
	}
}
