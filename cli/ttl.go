package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
)

// setTTL is one run of the command ttl.
type setTTL struct {
	action
	set time.Duration
}

func (a *app) ttlCommand() *cobra.Command {
	r := &setTTL{action: action{app: a, verb: "ttl"}}
	command := &cobra.Command{
		Use:   "ttl LOCK [TARGET…] --owner NAME --set D",
		Short: "Give a lock's key in Redis a time to live, if its holder is still the one you saw",
		Long: "Give a lock's key in Redis a time to live: one that has none ends by itself when its client is gone, one that has gets\n" +
			"more time or less. Milder than a release: while its client works, the lock stays its own.",
		Example: "  lockscope ttl redis:lock:orders redis://localhost --owner 7f3e…a1 --set 10m --dry-run\n" +
			"  lockscope ttl redis:lock:report redis://localhost --owner 7f3e…a1 --set 1h --reason 'the nightly job hangs' --yes",
		Args: lockFirst, ValidArgsFunction: r.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	command.Flags().DurationVar(&r.set, "set", 0, "the time that the key is to have left, such as 10m")
	return command
}

func (r *setTTL) run(ctx context.Context, args []string) error {
	if err := act.CheckTTL(r.set); err != nil {
		return usageError("--set %v: %w", r.set, err)
	}
	request, err := r.check(ctx, args)
	if err != nil {
		return err
	}
	request.TTL = r.set
	if err := r.setup.mayWrite(); err != nil {
		return r.report(request, act.Result{Reason: act.ReadOnly}, nil, err)
	}
	all, err := r.releasers()
	if err != nil {
		return r.report(request, act.Result{Reason: act.NoAudit}, nil, err)
	}
	defer all.close()
	releaser, _ := all.of(request.ID.Backend)
	preview, err := r.preview(ctx, releaser, request)
	if err != nil {
		return r.report(request, act.Result{Seen: preview.Seen}, nil, r.setup.explain(err))
	}
	looked := act.Result{Seen: preview.Seen, Reason: preview.Refused, Detail: preview.Detail}
	for _, v := range preview.Votes {
		looked.Masters = append(looked.Masters, act.MasterResult{Addr: v.Addr})
	}
	if preview.Refused != "" {
		return r.report(request, looked, preview.Votes, r.misnamed(preview))
	}
	if r.dryRun {
		to := r.Stdout
		if r.output == "json" {
			to = r.Stderr
		}
		r.show(to, preview)
		return r.report(request, looked, preview.Votes, nil)
	}
	confirmed, err := r.confirm(&preview, r.show, "set its TTL")
	if err != nil {
		looked.Reason = act.Declined
		return r.report(request, looked, preview.Votes, err)
	}
	result, err := r.execute(ctx, releaser, preview, confirmed)
	if err != nil {
		err = r.setup.explain(err)
	}
	return r.report(request, result, preview.Votes, err)
}

// show prints a preview.
func (r *setTTL) show(to io.Writer, p act.Preview) {
	fmt.Fprintf(to, "ttl %s\n  owner   %s (%s)\n", p.Request.ID, p.Seen.Who(), p.Seen.Name)
	for i := range p.Votes {
		v := &p.Votes[i]
		fmt.Fprintf(to, "  now     %s: %s\n", inspect.Escape(v.Addr), describe.Expiry(v, r.Now()))
	}
	fmt.Fprintf(to, "  then    %s\n", describe.Exact(p.Request.TTL))
	for _, s := range p.Sends {
		fmt.Fprintf(to, "  sends   %s\n", s)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(to, "  note    %s\n", w)
	}
}

// ttlJSON is the command's answer.
type ttlJSON struct {
	Set     bool        `json:"set"`
	Reason  act.Reason  `json:"reason"`
	Detail  string      `json:"detail"`
	DryRun  bool        `json:"dry_run"`
	TTL     int64       `json:"ttl_ms"`
	Seen    any         `json:"seen"`
	Masters []ttlMaster `json:"masters"`
}

// ttlMaster has what the key had left before and afterwards, in ms: -1 no expiry, null absent or unknown.
type ttlMaster struct {
	Addr   string `json:"addr"`
	Set    bool   `json:"set"`
	Before *int64 `json:"before_ms"`
	After  *int64 `json:"after_ms"`
	Error  string `json:"error"`
}

// report prints what came of it and makes the exit code.
func (r *setTTL) report(request act.Request, result act.Result, before []inspect.Vote, err error) error {
	if r.output == "json" {
		if err := r.printJSON(r.json(request, result, before)); err != nil {
			return err
		}
	} else if !r.dryRun {
		r.print(request, result)
	}
	return r.verdict(request, result, "not set", err)
}

func (r *setTTL) json(request act.Request, result act.Result, before []inspect.Vote) ttlJSON {
	j := ttlJSON{
		Set: result.Set, Reason: result.Reason, Detail: inspect.Escape(result.Detail), DryRun: r.dryRun,
		TTL: request.TTL.Milliseconds(), Seen: r.contender(result.Seen), Masters: []ttlMaster{},
	}
	for i := range result.Masters {
		m := &result.Masters[i]
		master := ttlMaster{Addr: m.Addr, Set: m.Set, After: r.left(&m.After)}
		if i < len(before) {
			master.Before = r.left(&before[i])
		}
		if m.Err != nil {
			master.Error = inspect.Escape(m.Err.Error())
		}
		j.Masters = append(j.Masters, master)
	}
	return j
}

// left is a key's time to live in milliseconds: -1 never expires, nil is unknown.
func (r *setTTL) left(v *inspect.Vote) *int64 {
	ms := int64(-1)
	switch {
	case v.NoExpiry:
	case v.ExpiresAt.IsZero():
		return nil
	default:
		ms = max(0, v.ExpiresAt.Sub(r.Now()).Milliseconds())
	}
	return &ms
}

func (r *setTTL) print(request act.Request, result act.Result) {
	for _, m := range result.Masters {
		answer := "has another value, or none"
		switch {
		case m.Err != nil:
			answer = inspect.Escape(m.Err.Error())
		case m.Set:
			answer = "set; " + describe.Expiry(&m.After, r.Now())
		}
		fmt.Fprintf(r.Stdout, "%s  %s\n", inspect.Escape(m.Addr), answer)
	}
	if result.Set {
		fmt.Fprintf(r.Stdout, "%s ends in %s unless its client renews it\n", request.ID, describe.Exact(request.TTL))
	}
}
