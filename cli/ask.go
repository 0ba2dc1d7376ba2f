package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/lockops/act"
)

// ask is one run of the command of that name.
type ask struct {
	action
	wait time.Duration
}

func (a *app) askCommand() *cobra.Command {
	r := &ask{action: action{app: a, verb: "ask"}}
	command := &cobra.Command{
		Use:   "ask LOCK [TARGET…] --owner NAME",
		Short: "Ask a lock's holder to let go, and watch whether it does",
		Long: "Ask a lock's holder to let go, if it is still the one you saw, and watch whether it does. Milder than a release: its\n" +
			"program hears of it, and decides. Only Curator knows such a request, and only a lock that its program made revocable\n" +
			"(makeRevocable) hears it: that is seen by the empty data of its node.",
		Example: "  lockscope ask zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --dry-run\n" +
			"  lockscope ask zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --wait 1m --yes",
		Args: lockFirst, ValidArgsFunction: r.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	command.Flags().DurationVar(&r.wait, "wait", act.DefaultAskWait, "how long to watch whether it lets go")
	return command
}

func (r *ask) run(ctx context.Context, args []string) error {
	if r.wait < 0 {
		return usageError("--wait %v: give a time, such as 10s", r.wait)
	}
	request, err := r.check(ctx, args)
	if err != nil {
		return err
	}
	request.Ask, request.Wait = true, r.wait
	if err := r.setup.mayWrite(); err != nil {
		return r.report(request, act.Result{Reason: act.ReadOnly}, err)
	}
	all, err := r.releasers()
	if err != nil {
		return r.report(request, act.Result{Reason: act.NoAudit}, err)
	}
	defer all.close()
	releaser, _ := all.of(request.ID.Backend)
	preview, err := r.preview(ctx, releaser, request)
	if err != nil {
		return r.report(request, act.Result{Seen: preview.Seen}, r.setup.explain(err))
	}
	looked := act.Result{Seen: preview.Seen, Next: preview.Next, Reason: preview.Refused, Detail: preview.Detail}
	if preview.Refused != "" {
		return r.report(request, looked, r.misnamed(preview))
	}
	if r.dryRun {
		to := r.Stdout
		if r.output == "json" {
			to = r.Stderr
		}
		showAsk(to, preview)
		return r.report(request, looked, nil)
	}
	confirmed, err := r.confirm(&preview, showAsk, "ask its holder to let go")
	if err != nil {
		looked.Reason = act.Declined
		return r.report(request, looked, err)
	}
	result, err := r.execute(ctx, releaser, preview, confirmed)
	if err != nil {
		err = r.setup.explain(err)
	}
	return r.report(request, result, err)
}

// showAsk prints a preview.
func showAsk(to io.Writer, p act.Preview) {
	fmt.Fprintf(to, "ask %s\n  owner   %s (%s)\n", p.Request.ID, p.Seen.Who(), p.Seen.Name)
	next := cmp.Or(p.NextUnknown, "no visible waiters")
	if p.Next != nil {
		next = p.Next.Who().String() + " (" + p.Next.Name.String() + ")"
	}
	fmt.Fprintf(to, "  next    %s\n", next)
	for _, s := range p.Sends {
		fmt.Fprintf(to, "  sends   %s\n", s)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(to, "  note    %s\n", w)
	}
}

// askJSON is the command's answer.
type askJSON struct {
	Asked        bool       `json:"asked"`
	LetGo        bool       `json:"let_go"`
	Unknown      bool       `json:"unknown"`
	Reason       act.Reason `json:"reason"`
	Detail       string     `json:"detail"`
	DryRun       bool       `json:"dry_run"`
	Seen         any        `json:"seen"`
	Next         any        `json:"next"`
	HoldersAfter []any      `json:"holders_after"`
}

// report prints what came of it and makes the exit code.
func (r *ask) report(request act.Request, result act.Result, err error) error {
	if r.output == "json" {
		j := askJSON{
			Asked: result.Asked, LetGo: result.LetGo, Unknown: result.Unknown, Reason: result.Reason, Detail: inspect.Escape(result.Detail),
			DryRun: r.dryRun, Seen: r.contender(result.Seen), Next: r.contender(result.Next), HoldersAfter: []any{},
		}
		for i := range result.HoldersAfter {
			j.HoldersAfter = append(j.HoldersAfter, r.contender(&result.HoldersAfter[i]))
		}
		if err := r.printJSON(j); err != nil {
			return err
		}
	} else {
		r.print(request, result)
	}
	not := "not asked"
	if result.Asked {
		not = "not let go"
	}
	return r.verdict(request, result, not, err)
}

func (r *ask) print(request act.Request, result act.Result) {
	switch {
	case result.Unknown && result.Asked:
		fmt.Fprintf(r.Stdout, "%s: its holder was asked; unknown whether it let go\n", request.ID)
	case result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether the holder of %s was asked\n", request.ID)
	case result.LetGo && len(result.HoldersAfter) == 0:
		fmt.Fprintf(r.Stdout, "%s: its holder let go; nobody holds it now\n", request.ID)
	case result.LetGo:
		fmt.Fprintf(r.Stdout, "%s: its holder let go; held now by %s\n", request.ID, result.HoldersAfter[0].Who())
	}
}
