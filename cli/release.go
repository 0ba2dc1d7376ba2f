package cli

import (
	"bufio"
	"cmp"
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

// release is one run of the command of that name.
type release struct {
	*app
	owner  string
	waiter bool
	dryRun bool
	yes    bool
	output string
	setup  setup
	others *act.Others // nil: they were not looked at
}

func (a *app) releaseCommand() *cobra.Command {
	r := &release{app: a}
	command := &cobra.Command{
		Use:   "release LOCK [TARGET…] --owner NAME",
		Short: "Force-release a stuck lock, if its holder is still the one you saw",
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
	request, err := r.check(ctx, args)
	if err != nil {
		return err
	}
	s := r.setup
	if err := s.mayWrite(); err != nil {
		return r.report(request, act.Result{Reason: act.ReadOnly}, err)
	}
	all := r.newPreviewers(s)
	if !r.dryRun {
		if all, err = r.newReleasers(s, ""); err != nil {
			return r.report(request, act.Result{Reason: act.NoAudit}, exit(exitNo, "%w (no audit, no action)", err))
		}
	}
	defer all.close()
	releaser, _ := all.of(request.ID.Backend)
	preview, err := r.preview(ctx, releaser, request)
	if err != nil {
		return r.report(request, act.Result{Seen: preview.Seen}, s.explain(err))
	}
	if r.dryRun || !r.yes {
		if preview, err = r.consider(ctx, releaser, preview); err != nil {
			return r.report(request, act.Result{Seen: preview.Seen}, s.explain(err))
		}
		r.others = &preview.Others
	}
	looked := act.Result{Seen: preview.Seen, Next: preview.Next, Reason: preview.Refused, Detail: preview.Detail}
	if preview.Refused != "" {
		return r.report(request, looked, r.misnamed(preview))
	}
	if r.dryRun {
		to := r.Stdout // the preview is what is asked for
		if r.output == "json" {
			to = r.Stderr
		}
		show(to, preview)
		return r.report(request, looked, nil)
	}
	confirmed, err := r.confirm(preview)
	if err != nil {
		looked.Reason = act.Declined
		return r.report(request, looked, err)
	}
	result, err := r.execute(ctx, releaser, preview, confirmed)
	if err != nil {
		err = s.explain(err)
	}
	return r.report(request, result, err)
}

func (r *release) preview(ctx context.Context, releaser act.Releaser, request act.Request) (act.Preview, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return releaser.Preview(ctx, request)
}

// consider reads the other locks for what they show about the release. Where only watches decide the holder, it goes by
// them.
func (r *release) consider(ctx context.Context, releaser act.Releaser, p act.Preview) (act.Preview, error) {
	if p.Seen == nil {
		return p, nil
	}
	looking, cancel := context.WithTimeout(ctx, othersWithin)
	defer cancel()
	s, err := r.look(looking, r.setup, "")
	if err != nil || looking.Err() != nil {
		s = nil
	}
	if s != nil && p.Refused == act.NotHolder {
		if l := s.Lock(p.Request.ID); l != nil {
			if c, ok := l.Contender(p.Seen.Name); ok && c.State == inspect.Holding {
				p.Request.Lock = l
				if p, err = r.preview(ctx, releaser, p.Request); err != nil {
					return p, err
				}
			}
		}
	}
	p.Consider(s)
	return p, nil
}

// execute releases. Interrupted, or out of time, it says what is known: a removal that was sent is waited for a little longer.
func (r *release) execute(ctx context.Context, releaser act.Releaser, preview act.Preview, confirmed string) (act.Result, error) {
	acting, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	acting, cancel := context.WithTimeout(acting, r.timeout)
	defer cancel()
	result, err := releaser.Execute(acting, preview, confirmed)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), perMaster)
	defer cancel()
	return result.Settled(waiting, err)
}

func (r *release) check(ctx context.Context, args []string) (act.Request, error) {
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
	return act.Request{ID: id, Owner: inspect.Untrusted(owner), Waiter: r.waiter}, err
}

// misnamed advises where the owner was given by a contender's label rather than its name; nil where it was not. No choice
// is guessed.
func (r *release) misnamed(p act.Preview) error {
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
	if one.State != inspect.Holding {
		does = "waits for it"
		flags = append(flags, "--waiter")
	}
	if r.dryRun {
		flags = append(flags, "--dry-run")
	}
	return fmt.Errorf("%q is a label of %s, which %s, and not its name (if you mean that one: %s)", r.owner, name, does,
		r.setup.command("release", p.Request.ID, flags...))
}

// show prints a preview.
func show(to io.Writer, p act.Preview) {
	fmt.Fprintf(to, "release %s\n  owner   %s (%s)\n", p.Request.ID, p.Seen.Who(), p.Seen.Name)
	next := cmp.Or(p.NextUnknown, "no visible waiters")
	if p.Next != nil {
		next = p.Next.Who().String() + " (" + p.Next.Name.String() + ")"
	}
	fmt.Fprintf(to, "  next    %s\n", next)
	for _, s := range p.Sends {
		fmt.Fprintf(to, "  sends   %s\n", s)
	}
	for _, o := range p.Others.Lines() {
		fmt.Fprintf(to, "  others  %s\n", o)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(to, "  note    %s\n", w)
	}
}

// confirm returns the form of the operator's agreement, for the audit; without it, an error with the reason.
func (r *release) confirm(p act.Preview) (string, error) {
	if r.yes {
		return "--yes", nil
	}
	if _, ok := terminal(r.Stdin); !ok {
		return "", errors.New("there is no terminal to ask on (give --yes)")
	}
	show(r.Stderr, p)
	fmt.Fprintf(r.Stderr, "type %s to release it: ", inspect.Escape(p.Request.ID.Path))
	line, _ := bufio.NewReader(r.Stdin).ReadString('\n')
	typed, err := inspect.Unescape(strings.TrimRight(line, "\r\n"))
	if err != nil || typed != p.Request.ID.Path {
		return "", fmt.Errorf("what was typed is not %s", inspect.Escape(p.Request.ID.Path))
	}
	return "typed", nil
}

// releaseJSON is the contract's answer.
type releaseJSON struct {
	Released     bool            `json:"released"`
	Unknown      bool            `json:"unknown"`
	Reason       act.Reason      `json:"reason"`
	Detail       string          `json:"detail"`
	DryRun       bool            `json:"dry_run"`
	Seen         any             `json:"seen"`
	Next         any             `json:"next"`
	HoldersAfter []any           `json:"holders_after"`
	Masters      []releaseMaster `json:"masters"`
	Others       *releaseOthers  `json:"others"`
}

type releaseOthers struct {
	Read     bool         `json:"read"`
	Known    bool         `json:"known"`
	Holds    []string     `json:"holds"`
	Waits    []string     `json:"waits"`
	Deadlock act.Deadlock `json:"deadlock"`
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
		switch gone := result.Reason == act.Gone || result.Reason == act.Changed; {
		case err == nil:
			err = errors.New(r.why(request, result))
		case gone: // misnamed: it is there
			return exit(exitNo, "%s: not released: %w", request.ID, err)
		}
		return exit(exitNo, "%s: not released (%s): %w", request.ID, result.Reason, err)
	}
	return nil
}

// why explains a refusal, with advice.
func (r *release) why(request act.Request, result act.Result) string {
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
		do = " (clients whose waiting entry is removed can believe that they hold the lock; add --waiter if you must)"
	case act.Changed, act.Gone:
		do = again
	case act.NoQuorum:
		do = " (see each master's answer)"
	}
	return describe.Refusal(string(result.Reason)) + do
}

func (r *release) json(result act.Result) releaseJSON {
	j := releaseJSON{
		Released: result.Released, Unknown: result.Unknown, Reason: result.Reason, Detail: inspect.Escape(result.Detail), DryRun: r.dryRun, Seen: r.contender(result.Seen),
		Next: r.contender(result.Next), HoldersAfter: []any{}, Masters: []releaseMaster{},
	}
	if o := r.others; o != nil {
		j.Others = &releaseOthers{Read: o.Read, Known: o.Known, Holds: idStrings(o.Holds), Waits: idStrings(o.Waits), Deadlock: o.Deadlock}
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

func idStrings(ids []inspect.ID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return names
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
	case result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether %s was released\n", request.ID)
	case result.Released && len(result.HoldersAfter) == 0:
		fmt.Fprintf(r.Stdout, "released %s; nobody holds it now\n", request.ID)
	case result.Released:
		fmt.Fprintf(r.Stdout, "released %s; held now by %s\n", request.ID, result.HoldersAfter[0].Who())
	}
}
