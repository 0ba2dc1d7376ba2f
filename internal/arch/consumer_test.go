package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The lines of README.md by which other modules use a checkout work.
func TestAnotherModuleCanUseACheckout(t *testing.T) {
	servertest.Long(t) // it compiles everything once more
	root := must.Have(filepath.Abs("../.."))(t)
	readme := must.Have(os.ReadFile(filepath.Join(root, "README.md")))(t)
	lines := regexp.MustCompile("(?s)```\n(require github.com/lockscope.*?)```").FindStringSubmatch(string(readme))
	if lines == nil {
		t.Fatal("README.md shows no lines for go.mod")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/consumer\n\ngo 1.26\n\n" + strings.ReplaceAll(lines[1], "../lockscope", root), "go.sum": "", "main.go": ""} {
		from := map[string]string{"go.sum": filepath.Join(root, "go.sum"), "main.go": "testdata/consumer/main.go"}[name]
		if from != "" {
			copied := must.Have(os.ReadFile(from))(t)
			text = string(copied)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := run.CombinedOutput(); err != nil || string(out) != "zk:/locks/deploy\n" {
		t.Errorf("%v: %s", err, out)
	}
}
