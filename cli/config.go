package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/screen"
	"github.com/lockscope/lockscope/internal/config"
)

func configCommand(a *app.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "config check|example|path",
		Short: "Check the configuration, print an example, or print its path",
		Args:  noSuchSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Check the configuration", Args: app.NoArguments,
			RunE: func(*cobra.Command, []string) error {
				path, err := a.ConfigPath()
				if err != nil {
					return err
				}
				cfg, err := config.Load(path)
				if err == nil {
					err = app.CheckConfig(cfg)
				}
				if err == nil {
					err = screen.Check(cfg)
				}
				if err != nil {
					return app.Usagef("%w (see: lockscope config example)", err)
				}
				fmt.Fprintf(a.Stdout, "%s is valid; profiles: %s\n", path, cfg.Names())
				return nil
			},
		},
		&cobra.Command{
			Use: "example", Short: "Print an example configuration", Args: app.NoArguments,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprint(a.Stdout, config.Example)
				return err
			},
		},
		&cobra.Command{
			Use: "path", Short: "Print the path of the configuration file", Args: app.NoArguments,
			RunE: func(*cobra.Command, []string) error {
				path, err := a.ConfigPath()
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
