package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
)

// killClient is one run of the command of that name.
type killClient struct {
	action
}

func (a *app) killClientCommand() *cobra.Command {
	r := &killClient{action{app: a, verb: "kill-client"}}
	command := &cobra.Command{
		Use:   "kill-client CLIENT [TARGET…]",
		Short: "End the connection of a client of Redis, if it is still the one you saw",
		Long: "End the connection of a client of Redis (CLIENT KILL), named BACKEND:HOST:PORT as show prints it, if it is still the one\n" +
			"that the preview saw: by id, address and name. It frees no lock: keys stay until their TTL is up, and most libraries\n" +
			"connect anew by themselves. ZooKeeper lets nobody else close a session; that is said, and nothing is done.",
		Example: "  lockscope kill-client redis:10.0.0.7:50312 redis://localhost --dry-run\n" +
			"  lockscope kill-client redis:10.0.0.7:50312 -p staging --reason 'hangs in BLPOP' --yes",
		Args: lockFirst, ValidArgsFunction: a.completeClient,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.common(command)
	return command
}

func (r *killClient) run(ctx context.Context, args []string) error {
	if err := oneOf(r.output, "text", "json"); err != nil {
		return err
	}
	id, err := inspect.ParseID(args[0])
	if err != nil {
		return err
	}
	if r.setup, err = r.setUp(ctx, args[1:]); err != nil {
		return err
	}
	if _, err := r.setup.backend(id.Backend); err != nil {
		return err
	}
	request := act.ClientRequest{Backend: id.Backend, Client: id.Path, Why: r.reason}
	if err := r.setup.mayWrite(); err != nil {
		return r.report(id, act.ClientPreview{}, act.ClientResult{Reason: act.ReadOnly}, err)
	}
	all, err := r.releasers()
	if err != nil {
		return r.report(id, act.ClientPreview{}, act.ClientResult{Reason: act.NoAudit}, err)
	}
	defer all.close()
	ender, err := all.ender(ctx, id.Backend)
	if err != nil {
		return r.report(id, act.ClientPreview{}, act.ClientResult{}, r.setup.explain(err))
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	p, err := ender.PreviewEnd(limited, request)
	looked := act.ClientResult{Reason: p.Refused, Detail: p.Detail}
	if err != nil || p.Refused != "" {
		return r.report(id, p, looked, r.setup.explain(err))
	}
	looking, cancel := context.WithTimeout(ctx, othersWithin)
	defer cancel()
	if s, err := r.look(looking, r.setup, ""); err == nil && looking.Err() == nil {
		p.Consider(s)
	}
	if r.dryRun {
		to := r.Stdout
		if r.output == "json" {
			to = r.Stderr
		}
		showKill(to, p)
		return r.report(id, p, looked, nil)
	}
	asked := act.Preview{Request: act.Request{ID: id, Why: r.reason}}
	confirmed, err := r.confirm(&asked, func(to io.Writer, _ act.Preview) { showKill(to, p) }, "end its connection")
	if err != nil {
		looked.Reason = act.Declined
		return r.report(id, p, looked, err)
	}
	p.Request.Why = asked.Request.Why
	acting, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	result, err := ender.EndClient(acting, p, confirmed)
	return r.report(id, p, result, r.setup.explain(err))
}

// showKill prints a preview.
func showKill(to io.Writer, p act.ClientPreview) {
	fmt.Fprintf(to, "kill-client %s:%s\n", p.Request.Backend, describe.Printable(p.Request.Client))
	for _, c := range p.Seen {
		fmt.Fprintf(to, "  seen    %s: id %d, name %q, connected for %s, idle for %s, last command %s\n", inspect.Escape(c.Server), c.ID, c.Name.String(), describe.Age(c.Age), describe.Age(c.Idle), c.Command)
	}
	for _, s := range p.Sends {
		fmt.Fprintf(to, "  sends   %s\n", s)
	}
	for _, o := range p.Lines() {
		fmt.Fprintf(to, "  locks   %s\n", o)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(to, "  note    %s\n", w)
	}
}

// killJSON is the command's answer.
type killJSON struct {
	Ended       bool             `json:"ended"`
	Unknown     bool             `json:"unknown"`
	Reason      act.Reason       `json:"reason"`
	Detail      string           `json:"detail"`
	DryRun      bool             `json:"dry_run"`
	Connections []connectionJSON `json:"connections"`
	Again       []connectionJSON `json:"again"`
	LocksRead   bool             `json:"locks_read"`
	Holds       []string         `json:"holds"`
	Waits       []string         `json:"waits"`
	Perhaps     []string         `json:"perhaps"`
}

type connectionJSON struct {
	Server  string `json:"server"`
	ID      int64  `json:"id"`
	Addr    string `json:"addr"`
	Name    string `json:"name"`
	AgeMS   int64  `json:"age_ms"`
	IdleMS  int64  `json:"idle_ms"`
	Command string `json:"command"`
}

func connectionsJSON(list []act.Connection) []connectionJSON {
	out := make([]connectionJSON, 0, len(list))
	for _, c := range list {
		out = append(out, connectionJSON{inspect.Escape(c.Server), c.ID, c.Addr.String(), c.Name.String(), c.Age.Milliseconds(), c.Idle.Milliseconds(), c.Command.String()})
	}
	return out
}

// report prints what came of it and makes the exit code.
func (r *killClient) report(id inspect.ID, p act.ClientPreview, result act.ClientResult, err error) error {
	ended := len(result.Ended) > 0
	if r.output == "json" {
		j := killJSON{
			Ended: ended, Unknown: result.Unknown, Reason: result.Reason, Detail: inspect.Escape(result.Detail), DryRun: r.dryRun, Connections: connectionsJSON(p.Seen),
			Again: connectionsJSON(result.Again), LocksRead: p.Read, Holds: idStrings(p.Holds), Waits: idStrings(p.Waits), Perhaps: idStrings(p.Perhaps),
		}
		if err := r.printJSON(j); err != nil {
			return err
		}
	} else if result.Unknown {
		fmt.Fprintf(r.Stdout, "unknown whether the connection of %s was ended\n", id)
	} else if ended {
		fmt.Fprintf(r.Stdout, "%s: its connection was ended\n", id)
		for _, c := range result.Again {
			fmt.Fprintf(r.Stdout, "%s: a client of the same name is connected anew, from %s\n", inspect.Escape(c.Server), c.Addr)
		}
	}
	return r.verdict(act.Request{ID: id}, act.Result{Reason: result.Reason, Detail: result.Detail}, "not ended", err)
}
