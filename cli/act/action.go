package act

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops/act"
)

// guarded is an action whose steps perform calls, in this order.
type guarded interface {
	// look asks the servers what would be done, and reports whether it may be done. err explains
	// why not, if the servers' refusal alone does not.
	look(ctx context.Context, all *app.Releasers) (may bool, err error)
	// show prints what would be done.
	show(to io.Writer)
	// confirm returns how the operator confirmed, for the audit, or an error with the reason why
	// not.
	confirm() (how string, err error)
	// do acts, if the servers still show what look saw.
	do(ctx context.Context, confirmed string) error
	// report prints the outcome and returns the exit code. stopped is why the action was not done,
	// unless the servers refused it.
	report(stopped act.Reason, err error) error
}

// perform runs the steps of an action.
func (r *action) perform(ctx context.Context, d guarded) error {
	if err := r.setup.MayWrite(); err != nil && !r.dryRun {
		return d.report(act.ReadOnly, err)
	}
	all, err := r.releasers()
	if err != nil {
		return d.report(act.NoAudit, err)
	}
	defer all.Close()
	if may, err := d.look(ctx, all); !may {
		return d.report("", err)
	}
	if r.dryRun {
		to := r.Stdout // a dry run's output is its preview
		if r.output == "json" {
			to = r.Stderr
		}
		d.show(to)
		return d.report("", nil)
	}
	confirmed, err := d.confirm()
	if err != nil {
		return d.report(act.Declined, err)
	}
	return d.report("", r.setup.Explain(d.do(ctx, confirmed)))
}

// action has the flags and the setup of one run of a command that acts.
type action struct {
	*app.App
	verb   string
	dryRun bool
	yes    bool
	output string
	reason string
	setup  app.Setup
}

// flags adds the flags of every command that acts.
func (r *action) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what would be done, without doing it")
	flags.BoolVar(&r.yes, "yes", false, "do not ask for confirmation")
	flags.StringVar(&r.reason, "reason", "", "`TEXT` that says why, for the audit file; required by a profile with "+
		"environment production")
	app.OutputFlag(command, &r.output, "text", "json")
}

// releasers returns those of the setup; with --dry-run they can only preview.
func (r *action) releasers() (*app.Releasers, error) {
	if r.dryRun {
		return r.NewPreviewers(r.setup), nil
	}
	all, err := r.NewReleasers(r.setup)
	if err != nil {
		return nil, app.Exitf(app.ExitNo, "%w (actions need an audit file)", err)
	}
	return all, nil
}

// agree asks the operator to type expected; does names the action in the prompt. In production it
// also asks for a reason.
func (r *action) agree(expected, does string, why *string, show func(io.Writer)) (how string, err error) {
	needs := *why == "" && r.setup.Profile.Environment == "production"
	_, asks := app.Terminal(r.Stdin)
	switch {
	case needs && (r.yes || !asks):
		return "", errors.New("the profile's environment is production: say why (use --reason)")
	case r.yes:
		return "--yes", nil
	case !asks:
		return "", errors.New("there is no terminal to confirm on (use --yes)")
	}
	in := bufio.NewReader(r.Stdin)
	show(r.Stderr)
	if needs {
		fmt.Fprint(r.Stderr, "this is production; reason: ")
		line, _ := in.ReadString('\n')
		if *why = strings.TrimSpace(line); *why == "" {
			return "", errors.New("no reason was given")
		}
	}
	fmt.Fprintf(r.Stderr, "type %s to %s: ", inspect.Escape(expected), does)
	line, _ := in.ReadString('\n')
	typed, err := inspect.Unescape(strings.TrimRight(line, "\r\n"))
	if err != nil || typed != expected {
		return "", fmt.Errorf("you did not type %s", inspect.Escape(expected))
	}
	return "typed", nil
}

// verdict returns the exit code: 1 for a refusal, which takes precedence over 3 for an unreachable
// server.
func (r *action) verdict(request act.Request, result act.Result, not string, err error) error {
	if err != nil && result.Reason == "" {
		return app.Exitf(app.ExitUnreachable, "%s: %w", request.ID, err)
	}
	if result.Reason != "" {
		switch gone := result.Reason == act.Gone || result.Reason == act.Changed; {
		case err == nil:
			err = errors.New(r.why(request, result))
		case gone: // --owner is a label, so the contender may still exist
			return app.Exitf(app.ExitNo, "%s: %s: %w", request.ID, not, err)
		}
		return app.Exitf(app.ExitNo, "%s: %s (%s): %w", request.ID, not, result.Reason, err)
	}
	return nil
}

// why explains a refusal, with advice.
func (r *action) why(request act.Request, result act.Result) string {
	again := " (look again: " + r.setup.Command("show", request.ID) + ")"
	if result.Detail != "" {
		switch result.Reason {
		case act.Changed:
			return result.Detail + again
		case act.TwoLeaders:
			return result.Detail + " (add --yes-two-leaders if you must)"
		}
		return result.Detail
	}
	do := ""
	switch result.Reason {
	case act.NotHolder:
		if r.verb != "release" {
			break // only release has --waiter
		}
		do = " (clients whose waiting entry is removed may believe that they hold the lock; add --waiter if you must)"
	case act.Gone:
		if r.verb == "kill-client" {
			break
		}
		return fmt.Sprintf("no contender named %s; nothing was done%s", inspect.Escape(request.Owner.Raw()), again)
	case act.Changed:
		do = again
	case act.NoQuorum:
		do = " (see each master's answer)"
	}
	return describe.Refusal(string(result.Reason)) + do
}

// outcomeJSON has the fields that the JSON of all actions shares.
type outcomeJSON struct {
	Unknown bool       `json:"unknown"`
	Reason  act.Reason `json:"reason"`
	Detail  string     `json:"detail"`
	DryRun  bool       `json:"dry_run"`
}

func (r *action) outcome(unknown bool, reason act.Reason, detail string) outcomeJSON {
	return outcomeJSON{Unknown: unknown, Reason: reason, Detail: inspect.Escape(detail), DryRun: r.dryRun}
}

// errorText returns an error for JSON; empty for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return inspect.Escape(err.Error())
}

// target parses the first argument, BACKEND:PATH, and the targets after it.
func (r *action) target(ctx context.Context, args []string) (id inspect.ID, t connect.Target, err error) {
	if id, err = inspect.ParseID(args[0]); err != nil {
		return id, t, err
	}
	if r.setup, err = r.SetUp(ctx, args[1:]); err != nil {
		return id, t, err
	}
	if r.verb == "kill-client" { // a client is not a path
		t, err = r.setup.Backend(id.Backend)
		return id, t, err
	}
	t, err = r.setup.BackendOf(id)
	return id, t, err
}

// listed prints lines of a preview under one heading.
func listed(to io.Writer, heading string, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(to, "  %-7s %s\n", heading, line)
	}
}
