package cli

import (
	"fmt"
	"regexp"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"lockscope/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "config check|example|path",
		Short: "Check the configuration, print an example, or print its path",
		Args:  noSuchSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Check that the configuration can be used", Args: noArguments,
			RunE: func(*cobra.Command, []string) error {
				path, err := a.configPath()
				if err != nil {
					return err
				}
				cfg, err := config.Load(path)
				if err == nil {
					_, err = customRecipes(cfg)
				}
				if err == nil {
					err = checkHosts(cfg)
				}
				if err == nil {
					err = checkScreen(cfg)
				}
				if err != nil {
					return usageError("%w (see: lockscope config example)", err)
				}
				fmt.Fprintf(a.Stdout, "%s is fine; profiles: %s\n", path, cfg.Names())
				return nil
			},
		},
		&cobra.Command{
			Use: "example", Short: "Print an example configuration", Args: noArguments,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprint(a.Stdout, config.Example)
				return err
			},
		},
		&cobra.Command{
			Use: "path", Short: "Print the path of the configuration file", Args: noArguments,
			RunE: func(*cobra.Command, []string) error {
				path, err := a.configPath()
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.Stdout, path)
				return err
			},
		},
	)
	return command
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Stdout, "lockscope "+versionText())
			return err
		},
	}
}

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: noArguments,
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

// corrected mends what the libraries make of a manual page: a paragraph behind a section's title, which
// mandoc takes for empty; one for each line of a text; and two dashes before an option of one letter.
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

// noArguments and its like are cobra's checks with the exit code for bad use.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s takes no arguments, got %q", nameOf(cmd), args[0])
	}
	return nil
}

func noSuchSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s has no command %q (%ssee %s --help)", nameOf(cmd), args[0], meant(cmd, args[0]), cmd.CommandPath())
	}
	return nil
}

// lockFirst wants a LOCK and then any number of targets.
func lockFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("%s needs a LOCK, such as zk:/locks/orders or redis:lock:orders", nameOf(cmd))
	}
	return nil
}
