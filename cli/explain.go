package cli

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"lockscope/inspect/describe"
	"lockscope/inspect/finding"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE]",
		Short: "Say what a finding means, what it rests on, and what to do",
		Long:  "explain says what docs/findings.md has of a rule. Without one it lists all.",
		Example: "  lockscope explain\n" +
			"  lockscope explain missing-watch",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("explain takes one RULE")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, e := range finding.Explanations() {
				names = append(names, e.Rule)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, e := range finding.Explanations() {
				switch {
				case len(args) == 0:
					fmt.Fprintf(a.Stdout, "%-9s %s\n", e.Severity, e.Rule)
				case e.Rule == args[0]:
					_, err := fmt.Fprint(a.Stdout, explained(e))
					return err
				}
			}
			if len(args) > 0 {
				return usageError("explain: no finding is named %q (lockscope explain lists all)", args[0])
			}
			return nil
		},
	}
}

// explainedWidth is the width of the text, in cells.
const explainedWidth = 96

// explained is a rule in words, wrapped; the Markdown of the page is left out.
func explained(e finding.Explanation) string {
	var b strings.Builder
	part := func(title, text string) {
		if text == "" {
			return
		}
		text = ansi.Wordwrap(strings.ReplaceAll(text, "`", ""), explainedWidth-10, "")
		fmt.Fprintf(&b, "  %-8s%s\n", title, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 10)))
	}
	fmt.Fprintf(&b, "%s (%s)\n", e.Rule, e.Severity)
	part("means", e.Means)
	part("do", e.Do)
	part("seen", e.Evidence)
	var rests []string
	for _, aspect := range e.RestsOn {
		rests = append(rests, describe.Aspect(aspect))
	}
	part("rests", strings.Join(rests, "; "))
	if e.Quiet {
		part("", "Silent on what is only possibly a lock.")
	}
	if e.Twice {
		part("", "Told when two looks a second apart find it: one may see it halfway.")
	}
	if e.Watched {
		part("", "Needs the lock to have been watched for a while: one-shot commands do not look for it.")
	}
	return b.String()
}
