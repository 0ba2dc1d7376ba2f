package cli

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

func TestLockCommandsHaveExamples(t *testing.T) {
	a := &app.App{}
	for _, c := range rootCommand(a).Commands() {
		if !strings.Contains(c.Use, "LOCK") && !strings.Contains(c.Use, "TARGET") {
			continue
		}
		if n := strings.Count(c.Example, "lockscope "+c.Name()); n < 2 || c.Short == "" {
			t.Errorf("%s has %d examples", c.Name(), n)
		}
		must.True(t, c.ValidArgsFunction != nil, c.Name(), "completes nothing")
	}
}
