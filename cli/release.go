package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/lockops/act"
)

// release is one run of the command of that name.
type release struct {
	*app
	owner  string
	waiter bool
	dryRun bool
	yes    bool
	output string
}

func (a *app) releaseCommand() *cobra.Command {
	r := &release{app: a}
	command := &cobra.Command{
		Use:   "release LOCK [TARGET…] --owner NAME",
		Short: "Force a stuck lock free, if its holder is still the one you saw",
		Example: "  lockscope release zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --dry-run\n" +
			"  lockscope release redis:lock:orders redis://r1,r2,r3 --owner Y2NjY2NjY2NjY2NjY2NjYw== --yes",
		Args: lockFirst, ValidArgsFunction: r.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	flags := command.Flags()
	flags.StringVar(&r.owner, "owner", "", "the contender's `NAME` as ls or show prints it, or its value_digest")
	flags.BoolVar(&r.waiter, "waiter", false, "allow removing a contender that only waits")
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what would be done, and do nothing")
	flags.BoolVar(&r.yes, "yes", false, "do not ask")
	outputFlag(command, &r.output, "text", "json")
	_ = command.RegisterFlagCompletionFunc("owner", r.completeOwner) // fails for a flag that is not there only
	return command
}

func (r *release) run(ctx context.Context, args []string) error {
	request, s, err := r.check(ctx, args)
	if err != nil {
		return err
	}
	if err := s.mayWrite(); err != nil {
		return r.report(request, act.Result{Reason: act.ReadOnly}, err)
	}
	audit := "" // the default file
	if r.dryRun {
		audit = os.DevNull
	}
	all, err := r.newReleasers(s, audit)
	if err != nil {
		return r.report(request, act.Result{Reason: act.NoAudit}, exit(exitNo, "%w (no audit, no action)", err))
	}
	defer all.close()
	releaser, _ := all.of(request.ID.Backend)
	preview, err := releaser.Preview(ctx, request)
	if err != nil {
		return r.report(request, act.Result{Seen: preview.Seen}, s.explain(err))
	}
	if preview.Refused != "" {
		return r.report(request, act.Result{Seen: preview.Seen, Next: preview.Next, Reason: preview.Refused}, nil)
	}
	if r.dryRun {
		r.show(preview)
		return r.report(request, act.Result{Seen: preview.Seen, Next: preview.Next}, nil)
	}
	confirmed := r.confirm(preview)
	if confirmed == "" {
		return r.report(request, act.Result{Seen: preview.Seen, Next: preview.Next, Reason: act.Declined}, nil)
	}
	result, err := releaser.Execute(ctx, preview, confirmed)
	if err != nil {
		err = s.explain(err)
	}
	return r.report(request, result, err)
}

func (r *release) check(ctx context.Context, args []string) (act.Request, setup, error) {
	var request act.Request
	if err := oneOf(r.output, "text", "json"); err != nil {
		return request, setup{}, err
	}
	if r.owner == "" {
		return request, setup{}, usageError("--owner is missing: name the contender as you saw it (see: lockscope show)")
	}
	id, err := inspect.ParseID(args[0])
	if err != nil {
		return request, setup{}, err
	}
	owner, err := inspect.Unescape(r.owner)
	if err != nil {
		return request, setup{}, usageError("--owner: %w", err)
	}
	s, err := r.setUp(ctx, args[1:])
	if err != nil {
		return request, setup{}, err
	}
	_, err = s.backendOf(id)
	return act.Request{ID: id, Owner: inspect.Untrusted(owner), Waiter: r.waiter}, s, err
}

// show prints a preview on standard error.
func (r *release) show(p act.Preview) {
	fmt.Fprintf(r.Stderr, "release %s\n  owner   %s (%s)\n", p.Request.ID, p.Seen.Who(), p.Seen.Name)
	next := "nobody is seen waiting"
	if p.Next != nil {
		next = p.Next.Who().String() + " (" + p.Next.Name.String() + ")"
	}
	fmt.Fprintf(r.Stderr, "  next    %s\n", next)
	for _, s := range p.Sends {
		fmt.Fprintf(r.Stderr, "  sends   %s\n", s)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(r.Stderr, "  note    %s\n", w)
	}
}

// confirm is how the operator agreed; empty when not.
func (r *release) confirm(p act.Preview) string {
	if r.yes {
		return "--yes"
	}
	if _, ok := terminal(r.Stdin); !ok {
		r.say("%s: not released: there is no terminal to ask on (give --yes)", p.Request.ID)
		return ""
	}
	r.show(p)
	fmt.Fprintf(r.Stderr, "type %s to release it: ", inspect.Escape(p.Request.ID.Path))
	line, _ := bufio.NewReader(r.Stdin).ReadString('\n')
	typed, err := inspect.Unescape(strings.TrimRight(line, "\r\n"))
	if err != nil || typed != p.Request.ID.Path {
		r.say("that is not %s: nothing was done", inspect.Escape(p.Request.ID.Path))
		return ""
	}
	return "typed"
}

// releaseJSON is the contract's answer.
type releaseJSON struct {
	Released     bool            `json:"released"`
	Reason       act.Reason      `json:"reason"`
	DryRun       bool            `json:"dry_run"`
	Seen         any             `json:"seen"`
	Next         any             `json:"next"`
	HoldersAfter []any           `json:"holders_after"`
	Masters      []releaseMaster `json:"masters"`
}

type releaseMaster struct {
	Addr    string `json:"addr"`
	Deleted bool   `json:"deleted"`
	Error   string `json:"error"`
}

// report prints what came of it and makes the exit code: 1 for a refusal, which wins over 3 for a server that could
// not be asked.
func (r *release) report(request act.Request, result act.Result, err error) error {
	if r.output == "json" {
		if err := r.printJSON(r.json(result)); err != nil {
			return err
		}
	} else {
		r.print(request, result)
	}
	if err != nil && result.Reason == "" {
		return exit(exitUnreachable, "%s: %w", request.ID, err)
	}
	if result.Reason != "" {
		if err == nil {
			err = errors.New(reasons[result.Reason])
		}
		return exit(exitNo, "%s: not released (%s): %w", request.ID, result.Reason, err)
	}
	return nil
}

// reasons say what each refusal means, and what to do.
var reasons = map[act.Reason]string{
	act.NotHolder: "it waits, or its value has no quorum; clients whose waiting entry is removed can believe that they hold the lock (add --waiter if you must)",
	act.Changed:   "another contender stands there now (look again: lockscope show)",
	act.Gone:      "this contender is no longer in the queue (look again: lockscope show)",
	act.Declined:  "not confirmed",
	act.NoQuorum:  "too few masters could be made to drop it (see each master's answer)",
	act.NoAudit:   "the audit file cannot be written",
	act.ReadOnly:  "the profile is read_only",
}

func (r *release) json(result act.Result) releaseJSON {
	j := releaseJSON{
		Released: result.Released, Reason: result.Reason, DryRun: r.dryRun, Seen: r.contender(result.Seen),
		Next: r.contender(result.Next), HoldersAfter: []any{}, Masters: []releaseMaster{},
	}
	for i := range result.HoldersAfter {
		j.HoldersAfter = append(j.HoldersAfter, r.contender(&result.HoldersAfter[i]))
	}
	for _, m := range result.Masters {
		master := releaseMaster{Addr: m.Addr, Deleted: m.Deleted}
		if m.Err != nil {
			master.Error = inspect.Escape(m.Err.Error())
		}
		j.Masters = append(j.Masters, master)
	}
	return j
}

func (r *release) contender(c *inspect.Contender) any {
	if c == nil {
		return nil
	}
	return inspect.ContenderJSON(c, r.Now(), 0)
}

func (r *release) print(request act.Request, result act.Result) {
	for _, m := range result.Masters {
		answer := "had another value or none"
		switch {
		case m.Err != nil:
			answer = inspect.Escape(m.Err.Error())
		case m.Deleted:
			answer = "deleted"
		}
		fmt.Fprintf(r.Stdout, "%s  %s\n", m.Addr, answer)
	}
	switch {
	case result.Released && len(result.HoldersAfter) == 0:
		fmt.Fprintf(r.Stdout, "released %s; nobody holds it now\n", request.ID)
	case result.Released:
		fmt.Fprintf(r.Stdout, "released %s; held now by %s\n", request.ID, result.HoldersAfter[0].Who())
	}
}
