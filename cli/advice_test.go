package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

// parsed parses a shell command as the program does, without running it.
func parsed(t *testing.T, command string) outcome {
	t.Helper()
	args := wordsOf(t, command)
	got := run(t, append(args, "--help")...)
	if got.code == 0 && !strings.Contains(got.stdout, "lockscope "+args[0]) {
		got.code = app.ExitUsage // unknown command: cobra printed the help of its parent
	}
	return got
}

// Each advised lockscope command exists and accepts its flags.
func TestAdvisedCommandsParse(t *testing.T) {
	text := must.Have(os.ReadFile("../inspect/finding/testdata/commands.txt"))(t)
	verbs := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		rule, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		verbs[strings.Fields(command)[1]] = true
		parsed(t, command).wants(t, 0, "", "", rule, "advises", command)
	}
	for _, verb := range []string{"release", "ttl", "ask"} {
		must.True(t, verbs[verb], "no advice uses the command", verb)
	}
	for _, bad := range []string{"lockscope release redis:a --no-such-flag", "lockscope free redis:a"} {
		must.True(t, parsed(t, bad).code != 0, bad, "passes")
	}
}
