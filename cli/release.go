package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/lockops/act"
)

// release is one run of the command of that name.
type release struct {
	action
	others *act.Others // nil: they were not looked at
	// Of release --match: a pattern of locks' ids, a finding that they must have (empty: any or none), and how many at most.
	match, finding string
	max            int
}

func (a *app) releaseCommand() *cobra.Command {
	r := &release{action: action{app: a, verb: "release"}}
	command := &cobra.Command{
		Use:   "release LOCK [TARGET…] --owner NAME",
		Short: "Force-release a stuck lock, if its holder is still the one you saw",
		Example: "  lockscope release zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --dry-run\n" +
			"  lockscope release redis:lock:orders redis://r1,r2,r3 --owner Y2NjY2NjY2NjY2NjY2NjYw== --yes\n" +
			"  lockscope release --match 'redis:job:*' --finding minority-leftover --max 20 redis://r1,r2,r3 --dry-run",
		Args: r.args, ValidArgsFunction: r.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.match != "" {
				return r.runBulk(cmd.Context(), args)
			}
			if r.finding != "" || cmd.Flags().Changed("max") {
				return usageError("--finding and --max go with --match: without it one lock is released, by its --owner")
			}
			return r.run(cmd.Context(), args)
		},
	}
	flags := command.Flags()
	r.flags(command)
	flags.StringVar(&r.match, "match", "", "release many: the holder of each lock whose id matches `PATTERN`, as SCAN's")
	flags.StringVar(&r.finding, "finding", "", "with --match: only locks with this finding (`NAME`), and what it is about")
	flags.IntVar(&r.max, "max", 0, "with --match: how many locks at most; more match: nothing is done")
	flags.BoolVar(&r.waiter, "waiter", false, "allow removing a contender that only waits")
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
	all, err := r.releasers()
	if err != nil {
		return r.report(request, act.Result{Reason: act.NoAudit}, err)
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
	confirmed, err := r.confirm(&preview, show, "release it")
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

// report prints what came of it and makes the exit code.
func (r *release) report(request act.Request, result act.Result, err error) error {
	if r.output == "json" {
		if err := r.printJSON(r.json(result)); err != nil {
			return err
		}
	} else {
		r.print(request, result)
	}
	return r.verdict(request, result, "not released", err)
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
