package cli

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/connect"
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
	for _, want := range []string{
		`"lockscope" "Lockscope Manual"`, ".SH EXAMPLES\n", ".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n",
		"while others wait (default 10m0s)", "configuration FILE", "LOCKSCOPE_ZK_AUTH",
	} {
		if !strings.Contains(page.stdout, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, name := range connect.SecretVariables() {
		if !strings.Contains(page.stdout, name) {
			t.Errorf("the page does not name %s", name)
		}
	}
	if strings.Contains(page.stdout, "`") {
		t.Error("the page has a backtick")
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
