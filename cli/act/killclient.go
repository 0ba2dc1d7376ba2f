package act

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
)

// killClient is one run of the command kill-client.
type killClient struct {
	action
	id     inspect.ID // its path is the client
	ender  act.Ender
	seen   act.ClientPreview
	result act.ClientResult // the preview's result until the action is executed
}

// KillClient returns the kill-client command.
func KillClient(a *app.App) *cobra.Command {
	r := &killClient{action: action{App: a, verb: "kill-client"}}
	command := &cobra.Command{
		Use:   "kill-client CLIENT [TARGET…]",
		Short: "End the connection of a Redis client, if it is still the one you saw",
		Long: "End the connection of a Redis client (CLIENT KILL), named BACKEND:HOST:PORT as show prints it. Its id,\n" +
			"address and name must still be those in the preview. This frees no lock: keys stay until they expire, and\n" +
			"most libraries reconnect. ZooKeeper has no such command: only a client can close its session.",
		Example: "  lockscope kill-client redis:10.0.0.7:50312 redis://localhost --dry-run\n" +
			"  lockscope kill-client redis:10.0.0.7:50312 -p staging --reason 'hangs in BLPOP' --yes",
		Args: app.ClientFirst, ValidArgsFunction: app.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	return command
}

func (r *killClient) run(ctx context.Context, args []string) error {
	var err error
	if r.id, _, err = r.target(ctx, args); err != nil {
		return err
	}
	return r.perform(ctx, r)
}

// look implements guarded.
func (r *killClient) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	if r.ender, err = all.Ender(ctx, r.id.Backend); err != nil {
		return false, r.setup.Explain(err)
	}
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	r.seen,
		err = r.ender.PreviewEnd(limited, act.ClientRequest{Backend: r.id.Backend, Client: r.id.Path, Why: r.reason})
	r.result = act.ClientResult{Reason: r.seen.Refused, Detail: r.seen.Detail}
	if err != nil || r.seen.Refused != "" {
		return false, r.setup.Explain(err)
	}
	looking, cancel := context.WithTimeout(ctx, app.OthersWithin)
	defer cancel()
	if s, err := r.App.Look(looking, r.setup, ""); err == nil && looking.Err() == nil {
		r.seen.Consider(s)
	}
	return true, nil
}

// show implements guarded.
func (r *killClient) show(to io.Writer) {
	p := &r.seen
	fmt.Fprintf(to, "kill-client %s:%s\n", p.Request.Backend, describe.Printable(p.Request.Client))
	for _, c := range p.Seen {
		fmt.Fprintf(to, "  seen    %s: id %d, name %q, connected for %s, idle for %s, last command %s\n",
			inspect.Escape(c.Server), c.ID, c.Name.String(), describe.Age(c.Age), describe.Age(c.Idle), c.Command)
	}
	listed(to, "sends", p.Sends)
	listed(to, "locks", p.Lines())
	listed(to, "note", p.Warnings)
}

// confirm implements guarded.
func (r *killClient) confirm() (how string, err error) {
	return r.agree(r.id.Path, "end its connection", &r.seen.Request.Why, r.show)
}

// do implements guarded.
func (r *killClient) do(ctx context.Context, confirmed string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	r.result, err = r.ender.EndClient(ctx, r.seen, confirmed)
	return err
}

// KillJSON is the command's answer.
type KillJSON struct {
	Ended bool `json:"ended"`
	outcomeJSON
	Connections []app.ConnectionJSON `json:"connections"`
	Again       []app.ConnectionJSON `json:"again"`
	LocksRead   bool                 `json:"locks_read"`
	Holds       []string             `json:"holds"`
	Waits       []string             `json:"waits"`
	Perhaps     []string             `json:"perhaps"`
}

// report implements guarded.
func (r *killClient) report(stopped act.Reason, err error) error {
	p, result := &r.seen, &r.result
	result.Reason = cmp.Or(stopped, result.Reason)
	if r.output != "json" {
		r.print()
	} else if err := r.PrintJSON(KillJSON{
		Ended: len(result.Ended) > 0, outcomeJSON: r.outcome(result.Unknown, result.Reason, result.Detail),
		Connections: app.ConnectionsJSON(p.Seen), Again: app.ConnectionsJSON(result.Again), LocksRead: p.Read,
		Holds: idStrings(p.Holds), Waits: idStrings(p.Waits), Perhaps: idStrings(p.Perhaps),
	}); err != nil {
		return err
	}
	return r.verdict(act.Request{ID: r.id}, act.Result{Reason: result.Reason, Detail: result.Detail}, "not ended", err)
}

func (r *killClient) print() {
	switch result := &r.result; {
	case result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether the connection of %s was ended\n", r.id)
	case len(result.Ended) > 0:
		fmt.Fprintf(r.Stdout, "%s: its connection was ended\n", r.id)
		for _, c := range result.Again {
			fmt.Fprintf(r.Stdout, "%s: a client of the same name has connected again, from %s\n",
				inspect.Escape(c.Server), c.Addr)
		}
	}
}
