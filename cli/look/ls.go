// Package look has the commands that read and change nothing on a server.
package look

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
)

// Ls returns the ls command.
func Ls(a *app.App) *cobra.Command {
	var output, order, only string
	command := &cobra.Command{
		Use:   "ls [TARGET…]",
		Short: "List the locks with holder, age and queue length",
		Long: "ls reads every lock once and lists it. On a terminal the least useful columns are left out until the table\n" +
			"fits. -o wide adds votes, validity, session, longest wait, and each lock's worst finding. With a\n" +
			"recording instead of targets, ls lists the locks at its end. --sort lists the highest value first;\n" +
			"grants needs a recording.",
		Example: "  lockscope ls zk://localhost:2181/locks\n" +
			"  lockscope ls -p prod -o wide --sort wait\n" +
			"  lockscope ls -p prod --filter 'lib=redsync token=9f3a'\n" +
			"  lockscope ls 'redis://r1,r2,r3?match=lock:*' -o json | jq '.locks[] | select(.state == \"split\")'",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: app.CompleteTargetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.SetUpLook(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := checkOrder(order, output, s); err != nil {
				return err
			}
			filter := screen.NewFilter(only)
			if problem := filter.Problem(); problem != "" {
				return app.Usagef("--filter %s", problem)
			}
			snapshot, err := a.Look(cmd.Context(), s, "")
			if err != nil {
				return err
			}
			shown := app.Filtered(snapshot, filter)
			if table := output == "table" || output == "wide"; table && shown.Len() == 0 && snapshot.Len() > 0 {
				a.Say("none of %s matches the filter", describe.Count(snapshot.Len(), "lock"))
			} else if err := a.PrintLocks(shown, output, order); err != nil {
				return err
			}
			return exitOfLocks(a, snapshot.Locks(), a.ExitOf(snapshot.Backends))
		},
	}
	app.OutputFlag(command, &output, "table", "wide", "json", "csv")
	command.Flags().StringVar(&order, "sort", "",
		"highest value first: "+strings.Join(render.OrderNames(), ", ")+" (default: by name)")
	app.Complete(command, "sort", render.OrderNames()...)
	command.Flags().StringVar(&only, "filter", "",
		"only locks that match, like / on the screen: words, or "+screen.FieldNames)
	return command
}

// checkOrder refuses an order that is unknown, or not available here.
func checkOrder(order, output string, s app.Setup) error {
	switch {
	case order == "":
		return nil
	case !slices.Contains(render.OrderNames(), order):
		return app.Usagef("--sort %q: use one of %s", order, strings.Join(render.OrderNames(), ", "))
	case output == "json":
		return app.Usagef("--sort is for tables and csv (sort the JSON with jq: .locks | sort_by(…))")
	case order == render.ByGrants && s.Recording == "":
		return app.Usagef("--sort grants: a single read cannot count acquisitions (record for a while: " +
			"lockscope record FILE TARGET… --for 1m, then: lockscope ls FILE --sort grants)")
	}
	return nil
}
