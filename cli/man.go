package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/docs"
)

func manCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			plainOptions(root)
			page, err := mcobra.NewManPage(1, root)
			if err != nil {
				return err
			}
			page = page.WithSection("Examples", root.Example).WithSection("Exit status", exitStatus()).
				WithSection("Environment", environment).WithSection("Files", files)
			_, err = fmt.Fprint(a.Stdout, corrected(page.Build(roff.NewDocument())))
			return err
		},
	}
}

// plainOptions adds the defaults to the options' texts, and removes the backquotes around value
// names.
func plainOptions(c *cobra.Command) {
	mend := func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "`", "")
		if unset := []string{"", "false", "0", "0s", "[]"}; !slices.Contains(unset, f.DefValue) &&
			!strings.Contains(f.Usage, "(default") {
			f.Usage += " (default " + f.DefValue + ")"
		}
	}
	c.LocalFlags().VisitAll(mend)
	for _, sub := range c.Commands() {
		plainOptions(sub)
	}
}

func exitStatus() string {
	var lines []string
	for _, w := range docs.Errors() {
		if w.Where == "exit code" {
			lines = append(lines, w.Name+"  "+strings.ReplaceAll(w.Means, "`", ""))
		}
	}
	return strings.Join(lines, "\n\n")
}

const environment = "LOCKSCOPE_REDIS_USERNAME, LOCKSCOPE_REDIS_PASSWORD: login for Redis\n\n" +
	"LOCKSCOPE_REDIS_SENTINEL_USERNAME, LOCKSCOPE_REDIS_SENTINEL_PASSWORD: login for the sentinels\n\n" +
	"LOCKSCOPE_ZK_AUTH: login for ZooKeeper, as digest:USER:PASSWORD\n\n" +
	"LOCKSCOPE_ZK_ADMIN_USERNAME, LOCKSCOPE_ZK_ADMIN_PASSWORD: login for the AdminServers\n\n" +
	"LOCKSCOPE_WEBHOOK_TOKEN: token that --webhook sends\n\n" +
	"NO_COLOR: no colour, if set\n\n" +
	"XDG_CONFIG_HOME, XDG_STATE_HOME: where the files below are"

const files = "~/.config/lockscope/config.yaml: the configuration; lockscope config path prints its path\n\n" +
	"~/.local/state/lockscope/audit.jsonl: a line before and after each action"

var (
	table          = regexp.MustCompile(`(?m)(?:^(?:\.PP\n)?  .*\n)+`)
	heading        = regexp.MustCompile(`(?m)^(\.TH LOCKSCOPE 1 "[^"]*" "lockscope") .*$`)
	emptyParagraph = regexp.MustCompile(`(?m)^\.PP\n(\.(?:PP|SH|TP|SS))`)
	cutSentence    = regexp.MustCompile(`(?m)^([^.\s].*[^.:\n])\n\.PP\n([a-z])`)
	shortOption    = regexp.MustCompile(`\\fB--(\w) (--[\w-]+)\\fP`)
)

// corrected fixes the generated page: filled tables, an empty paragraph after a section's title, one
// paragraph per line of text, and two dashes before one-letter options.
func corrected(page string) string {
	page = table.ReplaceAllStringFunc(page, func(lines string) string {
		rows := strings.TrimPrefix(lines, ".PP\n")
		return strings.TrimSuffix(lines, rows) + ".nf\n" + strings.ReplaceAll(rows, ".PP\n", "") + ".fi\n"
	})
	page = strings.Replace(page, `[\fIoptions\&.\&.\&.\fP] [\fIargument\&.\&.\&.\fP]`, `[\fITARGET\fP…] [\fIflags\fP]`, 1)
	page = heading.ReplaceAllString(page, `$1 "Lockscope Manual"`)
	page = emptyParagraph.ReplaceAllString(page, "$1")
	page = shortOption.ReplaceAllString(page, `\fB-$1\fP, \fB$2\fP`)
	for {
		joined := cutSentence.ReplaceAllString(page, "$1\n$2")
		if joined == page {
			return page
		}
		page = joined
	}
}
