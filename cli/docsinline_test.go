package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockscope/lockscope/internal/must"
)

var (
	anyFence = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inline   = regexp.MustCompile("`((?:lockscope |--?[a-z])[^`]*)`")
)

// Commands in texts and tables exist and accept the given flags and arguments.
func TestInlineDocCommandsParse(t *testing.T) {
	t.Parallel()
	pages := must.Have(filepath.Glob("../docs/*.md"))(t)
	commands := 0
	for _, page := range append(pages, "../README.md", "../SECURITY.md", "../CHANGELOG.md") {
		text := must.Have(os.ReadFile(page))(t)
		for _, found := range inline.FindAllSubmatch(anyFence.ReplaceAll(text, nil), -1) {
			words := strings.Fields(string(found[1]))
			if words[0] == "lockscope" {
				commands++
				must.Be(t, parses(words[1:]), nil, filepath.Base(page), found[1])
			} else if flag := strings.TrimPrefix(words[0], "--"); flag != words[0] && !someCommandHas(flag) {
				t.Errorf("%s: %s: no command has this flag", filepath.Base(page), found[1])
			}
		}
	}
	must.True(t, commands >= 20, "only", commands, "commands")
}

// placeholders are the words on the pages that stand for values.
var placeholders = map[string]string{"N": "3", "D": "3s", "COMMAND": "ls", "COMMAND…": "ls"}

// parses parses a command line without the program's name, and runs nothing. A command's name alone
// is valid.
func parses(words []string) error {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "[") })
	for i, w := range words {
		if w, _, several := strings.Cut(w, "|"); several {
			words[i] = w
		}
		if value, ok := placeholders[words[i]]; ok {
			words[i] = value
		}
	}
	on, rest, err := documentedRoot().Find(words)
	if err != nil {
		return err
	}
	on.InitDefaultHelpFlag()
	if err := on.ParseFlags(rest); err != nil {
		return err
	}
	args := on.Flags().Args()
	if len(args) == 0 {
		return nil
	}
	if !on.HasParent() && !strings.Contains(args[0], "://") {
		return fmt.Errorf("%q is neither a command nor a target", args[0])
	}
	return on.ValidateArgs(args)
}

func someCommandHas(flag string) bool {
	var has func(*cobra.Command) bool
	has = func(cmd *cobra.Command) bool {
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.PersistentFlags()} {
			if set.Lookup(flag) != nil {
				return true
			}
		}
		return slices.ContainsFunc(cmd.Commands(), has)
	}
	name, _, _ := strings.Cut(flag, "=")
	return name == "help" || has(documentedRoot())
}
