package cli

import (
	"fmt"
	"regexp"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
)

func manCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mcobra.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, corrected(page.Build(roff.NewDocument())))
			return err
		},
	}
}

var (
	emptyParagraph = regexp.MustCompile(`(?m)^\.PP\n(\.(?:PP|SH|TP|SS))`)
	cutSentence    = regexp.MustCompile(`(?m)^([^.\s].*[^.:\n])\n\.PP\n([a-z])`)
	shortOption    = regexp.MustCompile(`\\fB--(\w) (--[\w-]+)\\fP`)
)

// corrected mends what the libraries make of a manual page: a paragraph behind a section's title,
// which mandoc takes for empty; one for each line of a text; and two dashes before an option of one
// letter.
func corrected(page string) string {
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
