package widget

import (
	"strings"
	"testing"
)

// A shell that gets the lines of a command runs what it would run of one line.
func TestWrappedCommandsStayWhole(t *testing.T) {
	command := `lockscope release 'redis:a  b' --owner 'it'\''s one' --waiter`
	for width := 10; width < 90; width += 4 {
		lines := WrapCommand(command, width)
		if got := strings.ReplaceAll(strings.Join(lines, "\n"), " \\\n", " "); got != command {
			t.Errorf("width %d: %q", width, got)
		}
		for _, l := range lines {
			if len(l) > max(width, len(`'it'\''s one' \`)) {
				t.Errorf("width %d: %q", width, l)
			}
		}
	}
}
