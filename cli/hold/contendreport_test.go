package hold

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/contend"
)

func TestFairnessInWords(t *testing.T) {
	for _, tt := range []struct {
		grants, inversions uint64
		want               string
	}{
		{0, 0, "never acquired"},
		{100, 0, "no acquisition overtook a waiter: 0 inversions"},
		{100, 37, "a race: 37% of acquisitions overtook a waiter"},
		{1000, 1, "nearly first come, first served: 0.1% of acquisitions overtook a waiter"},
	} {
		must.Equal(t, fairness(contend.Report{Grants: tt.grants, Inversions: tt.inversions}), tt.want)
	}
}

func TestOverlapsExitWithCode1(t *testing.T) {
	q := &contention{}
	err := q.verdict(contend.Report{Grants: 10, Overlaps: 2}, nil, false)
	if app.ExitCode(err) != 1 || !strings.Contains(err.Error(), "MUTUAL EXCLUSION FAILED: 2 of 10 acquisitions") {
		t.Errorf("%v", err)
	}
}
