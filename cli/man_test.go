package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// The manual page is right by mandoc's own checker.
func TestTheManualPageIsWellFormed(t *testing.T) {
	page := run(t, "man")
	if page.code != 0 || !strings.Contains(page.stdout, ".TH LOCKSCOPE 1") {
		t.Fatalf("exit %d: %.80s", page.code, page.stdout)
	}
	mandoc := tool(t, "mandoc")
	if mandoc == "" {
		return
	}
	lint := exec.CommandContext(t.Context(), mandoc, "-Tlint", "-Wwarning")
	lint.Stdin = strings.NewReader(page.stdout)
	if said, err := lint.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
