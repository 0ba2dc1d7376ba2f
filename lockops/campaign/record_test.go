//go:build unix

package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// A round whose report cannot be written fails, but the process continues with the next one.
func TestUnwritableReportFails(t *testing.T) {
	var failures []error
	report := must.Have(OpenReport(filepath.Join(t.TempDir(), "nemesis.jsonl"), 0, func(err error) { failures = append(failures, err) }))(t)
	report.Add(Record{Op: OpFault})
	must.Equal(t, len(failures), 0, "failures of a successful write", failures)
	must.Succeed(t, report.Close())
	report.Add(Record{Op: OpHealed})
	must.Equal(t, len(failures), 1, "failures", failures)
	must.Be(t, failures[0], os.ErrClosed)
}
