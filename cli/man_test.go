package cli

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The manual page is right by mandoc's own checker.
func TestTheManualPageIsWellFormed(t *testing.T) {
	t.Parallel()
	page := run(t, "man")
	if page.code != 0 || !strings.Contains(page.stdout, ".TH LOCKSCOPE 1") {
		t.Fatalf("exit %d: %.80s", page.code, page.stdout)
	}
	if !strings.Contains(page.stdout, `\fB-p\fP, \fB--profile\fP`) {
		t.Error("an option of one letter is not called so")
	}
	if cut := regexp.MustCompile(`(?m)^[^.\s].*[a-z,]\n\.PP\n[a-z].*`).FindString(page.stdout); cut != "" {
		t.Errorf("a sentence ends in the middle: %s", cut)
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
