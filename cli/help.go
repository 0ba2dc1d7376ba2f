package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
)

// helpCommand is cobra's help command, except that an unknown command is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Args:  cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if on, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, c := range on.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), start) {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			on, rest, err := root.Find(args)
			if err != nil {
				return app.Usagef("%w (see lockscope --help)", err)
			}
			if len(rest) > 0 {
				return app.Usagef("unknown command %q (%ssee %s --help)",
					rest[0], meant(on, rest[0]), on.CommandPath())
			}
			on.InitDefaultHelpFlag()
			return on.Help()
		},
	}
}

// noCommand advises on a first argument that is neither a command nor a target.
func noCommand(root *cobra.Command, arg string) error {
	if advice := app.NoTarget(arg); advice != nil {
		return advice
	}
	return app.Usagef("%q is neither a command nor a target (%ssee lockscope --help)", arg, meant(root, arg))
}

// meant suggests commands that are spelled like the typed one; empty if there are none.
func meant(on *cobra.Command, typed string) string {
	var names []string
	for changed := 1; changed <= 2 && len(names) == 0; changed++ { // lss suggests ls, not ask
		on.SuggestionsMinimumDistance = changed
		names = on.SuggestionsFor(typed)
	}
	begun := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, typed) })
	if len(begun) > 0 { // rel suggests release, not ttl
		names = begun
	}
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, " or ") + "? "
}

func noSuchSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return app.Usagef("%s has no command %q (%ssee %s --help)", app.NameOf(cmd), args[0], meant(cmd, args[0]),
			cmd.CommandPath())
	}
	return nil
}
