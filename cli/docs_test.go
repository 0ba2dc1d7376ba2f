package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// section is the part of docs/cli.md about one command.
type section struct{ title, text string }

func commandSections(t *testing.T) map[string]section {
	t.Helper()
	page := readDocs(t, "cli.md")
	_, commands, ok := strings.Cut(page, "\n## Commands\n")
	if !ok {
		t.Fatal("docs/cli.md has no section Commands")
	}
	commands, _, _ = strings.Cut(commands, "\n## ")
	all := make(map[string]section)
	for i, text := range strings.Split(commands, "\n### ") {
		if i == 0 {
			all[""] = section{text: text} // the flags of every command
			continue
		}
		title, body, _ := strings.Cut(text, "\n")
		all[strings.Fields(title)[0]] = section{title, body}
	}
	return all
}

func readDocs(t *testing.T, name string) string {
	t.Helper()
	text := must.Have(os.ReadFile("../docs/" + name))(t)
	return string(text)
}

// documentedRoot is the root command including cobra's own commands.
func documentedRoot() *cobra.Command {
	root := rootCommand((&app.App{Environment: app.OS()}))
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	return root
}

// Users write scripts from docs/cli.md, so it must list exactly the existing commands and flags.
func TestTheCommandLineIsAsDocumented(t *testing.T) {
	sections := commandSections(t)
	root := documentedRoot()
	global := flagNames(root.PersistentFlags())
	global = append(global, "help")
	slices.Sort(global)
	must.Same(t, global, flagsIn(sections[""].text), "global flags of the program, and in docs/cli.md")
	check := func(cmd *cobra.Command, inherited []string) {
		name := cmd.Name()
		s, ok := sections[name]
		if !ok {
			t.Errorf("docs/cli.md lacks the command %s", name)
			return
		}
		delete(sections, name)
		must.Equal(t, cmd.Use, s.title, "usage in the help, and in docs/cli.md")
		var own []string
		collect := func(f *pflag.Flag) {
			if !f.Hidden && !slices.Contains(inherited, f.Name) && !slices.Contains(own, f.Name) {
				own = append(own, f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(collect)
		for _, sub := range cmd.Commands() {
			if cmd == root {
				break // each has its own section
			}
			sub.LocalFlags().VisitAll(collect)
		}
		said := slices.DeleteFunc(flagsIn(s.text), func(name string) bool { return slices.Contains(inherited, name) })
		slices.Sort(own)
		must.Same(t, own, said, name, "flags of the program, and in docs/cli.md")
	}
	check(root, global)
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && cmd.Name() != "help" {
			check(cmd, global)
		}
	}
	delete(sections, "")
	for name := range sections {
		t.Errorf("docs/cli.md has the unknown command %s", name)
	}
}

func flagNames(set *pflag.FlagSet) []string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

var longFlag = regexp.MustCompile("`(?:-[a-zA-Z]`/`)?--([a-z][a-z-]+)")

// flagsIn returns the flags in a text in alphabetical order, each once.
func flagsIn(text string) (names []string) {
	for _, m := range longFlag.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The documentation lists every environment variable that holds a secret.
func TestSecretsAreDocumented(t *testing.T) {
	page := readDocs(t, "cli.md")
	for _, name := range connect.SecretVariables() {
		must.Contain(t, page, "`"+name+"`", "docs/cli.md:", name)
	}
}

func TestLockCommandsHaveExamples(t *testing.T) {
	for _, c := range documentedRoot().Commands() {
		if !strings.Contains(c.Use, "LOCK") && !strings.Contains(c.Use, "TARGET") {
			continue
		}
		if n := strings.Count(c.Example, "lockscope "+c.Name()); n < 2 || c.Short == "" {
			t.Errorf("%s has %d examples", c.Name(), n)
		}
		must.True(t, c.ValidArgsFunction != nil, c.Name(), "completes nothing")
	}
}
