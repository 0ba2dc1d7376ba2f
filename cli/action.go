package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
)

// action is one run of a command that acts on a contender of somebody's lock: preview, confirmation, execution, report.
type action struct {
	*app
	verb   string
	owner  string
	waiter bool
	dryRun bool
	yes    bool
	output string
	reason string
	setup  setup
}

// flags of every such command.
func (r *action) flags(command *cobra.Command) {
	command.Flags().StringVar(&r.owner, "owner", "", "the contender's `NAME` as ls or show prints it, or its value_digest")
	r.common(command)
	_ = command.RegisterFlagCompletionFunc("owner", r.completeOwner) // fails for a flag that is not there only
}

// common are the flags of every command that acts, whatever on.
func (r *action) common(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what would be done, and do nothing")
	flags.BoolVar(&r.yes, "yes", false, "do not ask")
	flags.StringVar(&r.reason, "reason", "", "why, as `TEXT` for the audit file; a profile of environment production asks for it")
	outputFlag(command, &r.output, "text", "json")
}

func (r *action) check(ctx context.Context, args []string) (act.Request, error) {
	var request act.Request
	if err := oneOf(r.output, "text", "json"); err != nil {
		return request, err
	}
	if r.owner == "" {
		words, _ := describe.Words(args)
		return request, usageError("--owner is missing: name the contender as you saw it (see: lockscope show %s)", words)
	}
	id, err := inspect.ParseID(args[0])
	if err != nil {
		return request, err
	}
	owner, err := inspect.Unescape(r.owner)
	if err != nil {
		return request, usageError("--owner: %w", err)
	}
	r.setup, err = r.setUp(ctx, args[1:])
	if err != nil {
		return request, err
	}
	_, err = r.setup.backendOf(id)
	return act.Request{ID: id, Owner: inspect.Untrusted(owner), Waiter: r.waiter, Why: r.reason}, err
}

// releasers of the setup; without an audit file, so that they can only preview, for --dry-run.
func (r *action) releasers() (*releasers, error) {
	if r.dryRun {
		return r.newPreviewers(r.setup), nil
	}
	all, err := r.newReleasers(r.setup, "")
	if err != nil {
		return nil, exit(exitNo, "%w (no audit, no action)", err)
	}
	return all, nil
}

func (r *action) preview(ctx context.Context, releaser act.Releaser, request act.Request) (act.Preview, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return releaser.Preview(ctx, request)
}

// execute acts. Interrupted, or out of time, it says what is known: a request that was sent is waited for a little longer.
func (r *action) execute(ctx context.Context, releaser act.Releaser, preview act.Preview, confirmed string) (act.Result, error) {
	acting, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	acting, cancel := context.WithTimeout(acting, r.timeout+preview.Request.Wait)
	defer cancel()
	result, err := releaser.Execute(acting, preview, confirmed)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), perMaster)
	defer cancel()
	return result.Settled(waiting, err)
}

// confirm returns the form of the operator's agreement, for the audit; without it, an error with the reason. does says in
// words what is agreed to. In production it asks for why, too, and puts that into the request.
func (r *action) confirm(p *act.Preview, show func(io.Writer, act.Preview), does string) (string, error) {
	needs := p.Request.Why == "" && r.setup.profile.Environment == "production"
	_, asks := terminal(r.Stdin)
	switch {
	case needs && (r.yes || !asks):
		return "", errors.New("the profile's environment is production: say why (give --reason)")
	case r.yes:
		return "--yes", nil
	case !asks:
		return "", errors.New("there is no terminal to ask on (give --yes)")
	}
	in := bufio.NewReader(r.Stdin)
	show(r.Stderr, *p)
	if needs {
		fmt.Fprint(r.Stderr, "this is production; why: ")
		why, _ := in.ReadString('\n')
		if p.Request.Why = strings.TrimSpace(why); p.Request.Why == "" {
			return "", errors.New("no reason was given")
		}
	}
	fmt.Fprintf(r.Stderr, "type %s to %s: ", inspect.Escape(p.Request.ID.Path), does)
	line, _ := in.ReadString('\n')
	typed, err := inspect.Unescape(strings.TrimRight(line, "\r\n"))
	if err != nil || typed != p.Request.ID.Path {
		return "", fmt.Errorf("what was typed is not %s", inspect.Escape(p.Request.ID.Path))
	}
	return "typed", nil
}

// misnamed advises where the owner was given by a contender's label rather than its name; nil where it was not. No choice
// is guessed.
func (r *action) misnamed(p act.Preview) error {
	switch {
	case len(p.Alike) == 0 || p.Seen != nil:
		return nil
	case len(p.Alike) > 1:
		return fmt.Errorf("%q is a label of %d contenders, and the name of none (choose one by its name: %s)", r.owner, len(p.Alike),
			r.setup.command("show", p.Request.ID))
	}
	one := &p.Alike[0]
	name, does := one.Name.String(), "holds it"
	if one.Digest != "" {
		name = one.Digest
	}
	flags := []string{"--owner", name}
	if p.Request.TTL > 0 {
		flags = append(flags, "--set", p.Request.TTL.String())
	}
	if one.State != inspect.Holding {
		does = "waits for it"
		if r.verb == "release" {
			flags = append(flags, "--waiter")
		}
	}
	if r.dryRun {
		flags = append(flags, "--dry-run")
	}
	return fmt.Errorf("%q is a label of %s, which %s, and not its name (if you mean that one: %s)", r.owner, name, does,
		r.setup.command(r.verb, p.Request.ID, flags...))
}

// verdict makes the exit code: 1 for a refusal, which wins over 3 for a server that could not be asked.
func (r *action) verdict(request act.Request, result act.Result, not string, err error) error {
	if err != nil && result.Reason == "" {
		return exit(exitUnreachable, "%s: %w", request.ID, err)
	}
	if result.Reason != "" {
		switch gone := result.Reason == act.Gone || result.Reason == act.Changed; {
		case err == nil:
			err = errors.New(r.why(request, result))
		case gone: // misnamed: it is there
			return exit(exitNo, "%s: %s: %w", request.ID, not, err)
		}
		return exit(exitNo, "%s: %s (%s): %w", request.ID, not, result.Reason, err)
	}
	return nil
}

// why explains a refusal, with advice.
func (r *action) why(request act.Request, result act.Result) string {
	again := " (look again: " + r.setup.command("show", request.ID) + ")"
	if result.Detail != "" {
		if result.Reason == act.Changed {
			return result.Detail + again
		}
		return result.Detail
	}
	do := ""
	switch result.Reason {
	case act.NotHolder:
		if r.verb != "release" {
			break // no other has --waiter
		}
		do = " (clients whose waiting entry is removed can believe that they hold the lock; add --waiter if you must)"
	case act.Changed, act.Gone:
		do = again
	case act.NoQuorum:
		do = " (see each master's answer)"
	}
	return describe.Refusal(string(result.Reason)) + do
}

func (r *action) contender(c *inspect.Contender) any {
	if c == nil {
		return nil
	}
	return inspect.ContenderJSON(c, r.Now(), 0)
}
