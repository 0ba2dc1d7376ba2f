package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
)

func versionCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Stdout, "lockscope "+app.VersionText())
			return err
		},
	}
}
