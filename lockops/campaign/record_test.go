//go:build unix

package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A round whose report cannot be written has failed, alone: the process goes on to the next.
func TestAReportThatCannotBeWrittenIsTold(t *testing.T) {
	var told []error
	report, err := OpenReport(filepath.Join(t.TempDir(), "nemesis.jsonl"), 0, func(err error) { told = append(told, err) })
	if err != nil {
		t.Fatal(err)
	}
	report.Add(Record{Op: OpFault})
	if len(told) > 0 {
		t.Errorf("told of a record that was written: %v", told)
	}
	if err := report.Close(); err != nil {
		t.Fatal(err)
	}
	report.Add(Record{Op: OpHealed})
	if len(told) != 1 || !errors.Is(told[0], os.ErrClosed) {
		t.Errorf("told %v", told)
	}
}
