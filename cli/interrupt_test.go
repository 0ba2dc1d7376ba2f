package cli

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// started is the real program running with its standard error read line by line.
func started(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	path := must.Have(program())(t)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	stderr := must.Have(cmd.StderrPipe())(t)
	must.Succeed(t, cmd.Start())
	limit := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() }) // a line that does not come ends the wait
	t.Cleanup(func() {
		limit.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(stderr)
}

// awaitLine reads lines until one holds text.
func awaitLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	var said []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("the program ended without saying %q; it said %q", text, said)
}
