package servertest

import (
	"os/exec"
	"testing"
)

// python is Debian's, where the client libraries are packaged; another python3 in PATH would not see them.
const python = "/usr/bin/python3"

// RequirePython returns the path of a python3 that can import the module. LOCKSCOPE_REAL decides what happens
// without one.
func RequirePython(t testing.TB, module string) string {
	t.Helper()
	RequireReal(t)
	if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
		missing(t, "Python's "+module+" (for "+python+")")
	}
	return python
}
