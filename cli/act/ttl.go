package act

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
)

// setTTL is one run of the command ttl.
type setTTL struct {
	lockAction
	set time.Duration
}

func TTL(a *app.App) *cobra.Command {
	r := &setTTL{lockAction: lockAction{action: action{App: a, verb: "ttl"}}}
	command := &cobra.Command{
		Use:   "ttl LOCK [TARGET…] --owner NAME --set D",
		Short: "Set the time to live of a lock's key in Redis, if its holder is still the one you saw",
		Long: "Set the time to live of a lock's key in Redis. A key that had no TTL then expires if its client\n" +
			"dies. This is milder than a release: the client keeps its lock while it renews it.",
		Example: "  lockscope ttl redis:lock:orders redis://localhost --owner 7f3e…a1 --set 10m --dry-run\n" +
			"  lockscope ttl redis:lock:report redis://localhost --owner 7f3e…a1 --set 1h --reason 'the " +
			"nightly job hangs' --yes",
		Args: app.LockFirst, ValidArgsFunction: r.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	command.Flags().DurationVar(&r.set, "set", 0, "the key's new time to live, such as 10m")
	return command
}

func (r *setTTL) run(ctx context.Context, args []string) error {
	if r.set == 0 {
		return app.Usagef("--set is required: the key's new time to live, such as 10m")
	}
	if err := act.CheckTTL(r.set); err != nil {
		return app.Usagef("--set %v: %w", r.set, err)
	}
	if err := r.prepare(ctx, args); err != nil {
		return err
	}
	r.request.TTL = r.set
	return r.perform(ctx, r)
}

// look implements guarded. It lists the masters, without results until the TTL is set.
func (r *setTTL) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	if err := r.preview(ctx, all); err != nil {
		return false, err
	}
	may, err = r.judged()
	for _, v := range r.seen.Votes {
		r.result.Masters = append(r.result.Masters, act.MasterResult{Addr: v.Addr})
	}
	return may, err
}

// show implements guarded.
func (r *setTTL) show(to io.Writer) {
	r.showOwner(to, &r.seen)
	for i := range r.seen.Votes {
		v := &r.seen.Votes[i]
		fmt.Fprintf(to, "  now     %s: %s\n", inspect.Escape(v.Addr), describe.Expiry(v, r.Now()))
	}
	fmt.Fprintf(to, "  then    %s\n", describe.Exact(r.request.TTL))
	listed(to, "sends", r.seen.Sends)
	listed(to, "note", r.seen.Warnings)
}

// confirm implements guarded.
func (r *setTTL) confirm() (how string, err error) { return r.agreeTo("set its TTL", r.show) }

// TTLJSON is the output of the contract.
type TTLJSON struct {
	Set bool `json:"set"`
	outcomeJSON
	TTL     int64       `json:"ttl_ms"`
	Seen    any         `json:"seen"`
	Masters []ttlMaster `json:"masters"`
}

// ttlMaster has the key's TTL before and after, in ms; -1 means no expiry, null absent or unknown.
type ttlMaster struct {
	Addr   string `json:"addr"`
	Set    bool   `json:"set"`
	Before *int64 `json:"before_ms"`
	After  *int64 `json:"after_ms"`
	Error  string `json:"error"`
}

// report implements guarded.
func (r *setTTL) report(stopped act.Reason, err error) error {
	return r.answer(stopped, err, r.json, r.print, "not set")
}

func (r *setTTL) json() any {
	result, before := &r.result, r.seen.Votes
	j := TTLJSON{
		Set: result.Set, outcomeJSON: r.outcome(result.Unknown, result.Reason, result.Detail),
		TTL: r.request.TTL.Milliseconds(), Seen: r.contender(result.Seen), Masters: []ttlMaster{},
	}
	for i := range result.Masters {
		m := &result.Masters[i]
		master := ttlMaster{Addr: m.Addr, Set: m.Set, After: r.left(&m.After), Error: errorText(m.Err)}
		if i < len(before) {
			master.Before = r.left(&before[i])
		}
		j.Masters = append(j.Masters, master)
	}
	return j
}

// left is a key's TTL in milliseconds; -1 means no expiry, nil unknown.
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

func (r *setTTL) print() {
	if r.dryRun {
		return
	}
	for _, m := range r.result.Masters {
		answer := "not asked"
		switch {
		case m.Err != nil:
			answer = inspect.Escape(m.Err.Error())
		case m.Set:
			answer = "set; " + describe.Expiry(&m.After, r.Now())
		case m.OtherExpiry:
			answer = "not set: the key has gained or lost its expiry; " + describe.Expiry(&m.After, r.Now())
		case m.Lacked:
			answer = "has a different value, or none"
		}
		fmt.Fprintf(r.Stdout, "%s  %s\n", inspect.Escape(m.Addr), answer)
	}
	switch {
	case r.result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether the TTL of %s was set\n", r.request.ID)
	case r.result.Set:
		fmt.Fprintf(r.Stdout, "%s expires in %s unless its client renews it\n", r.request.ID,
			describe.Exact(r.request.TTL))
	}
}
