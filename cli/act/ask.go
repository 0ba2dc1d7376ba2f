package act

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/lockops/act"
)

// ask is one run of the command ask.
type ask struct {
	lockAction
	wait time.Duration
}

// Ask returns the ask command.
func Ask(a *app.App) *cobra.Command {
	r := &ask{lockAction: lockAction{action: action{App: a, verb: "ask"}}}
	command := &cobra.Command{
		Use:   "ask LOCK [TARGET…] --owner NAME",
		Short: "Ask a lock's holder to let go, and wait to see whether it does",
		Long: "Ask a lock's holder to let go, if it is still the one you saw, and wait to see whether it does.\n" +
			"This is milder than a release: the holder's program is notified, and decides whether to let go. Only\n" +
			"Curator supports it, and only for locks that their program made revocable (makeRevocable, recognised by\n" +
			"the node's empty data).",
		Example: "  lockscope ask zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --dry-run\n" +
			"  lockscope ask zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --wait 1m --yes",
		Args: app.LockFirst, ValidArgsFunction: r.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	command.Flags().DurationVar(&r.wait, "wait", act.DefaultAskWait, "how long to wait for it to let go")
	return command
}

func (r *ask) run(ctx context.Context, args []string) error {
	if r.wait < 0 {
		return app.Usagef("--wait %v: use a time, such as 10s", r.wait)
	}
	if err := r.prepare(ctx, args); err != nil {
		return err
	}
	r.request.Ask, r.request.Wait = true, r.wait
	return r.perform(ctx, r)
}

// show implements guarded.
func (r *ask) show(to io.Writer) {
	r.showOwner(to, &r.seen)
	showNext(to, &r.seen)
	listed(to, "sends", r.seen.Sends)
	listed(to, "note", r.seen.Warnings)
}

// confirm implements guarded.
func (r *ask) confirm() (how string, err error) { return r.agreeTo("ask its holder to let go", r.show) }

// askJSON is the command's answer.
type askJSON struct {
	Asked bool `json:"asked"`
	LetGo bool `json:"let_go"`
	outcomeJSON
	afterJSON
}

// report implements guarded.
func (r *ask) report(stopped act.Reason, err error) error {
	not := "not asked"
	if r.result.Asked {
		not = "not let go"
	}
	return r.answer(stopped, err, r.json, r.print, not)
}

func (r *ask) json() any {
	result := &r.result
	return askJSON{
		Asked: result.Asked, LetGo: result.LetGo, outcomeJSON: r.outcome(result.Unknown, result.Reason, result.Detail),
		afterJSON: r.after(result),
	}
}

func (r *ask) print() {
	id := r.request.ID
	switch result := &r.result; {
	case result.Unknown && result.Asked:
		fmt.Fprintf(r.Stdout, "%s: its holder was asked; unknown whether it let go\n", id)
	case result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether the holder of %s was asked\n", id)
	case result.LetGo && len(result.HoldersAfter) == 0:
		fmt.Fprintf(r.Stdout, "%s: its holder let go; it has no holder now\n", id)
	case result.LetGo:
		fmt.Fprintf(r.Stdout, "%s: its holder let go; now held by %s\n", id, result.HoldersAfter[0].Who())
	}
}
