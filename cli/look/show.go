package look

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
)

// showForms lists the output formats of show, the default first.
var showForms = []string{"tree", "json", "markdown", "dot", "mermaid"}

// Show returns the show command.
func Show(a *app.App) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "show LOCK [TARGET…]",
		Short: "Show one lock: its holders, its queue, and who watches whom",
		Long: "show prints the state of one lock, its holders and queue or the vote of each Redis master, and its findings.\n" +
			"Arrows show who watches whom: ⇢ confirmed by the server's watch table, ⇠ not checked, ⇥✖ missing.\n" +
			"If known clients wait for the lock, it may be part of a deadlock. Then show also reads the targets' other\n" +
			"locks, for at most 5 s. With owner_command in the configuration, it prints the command that inspects the\n" +
			"holder's process. With a recording instead of targets, it shows the lock at the recording's end.\n" +
			"Markdown is meant for a ticket.",
		Example: "  lockscope show zk:/locks/orders zk://localhost:2181\n" +
			"  lockscope show redis:lock:orders redis://r1,r2,r3 -o json\n" +
			"  lockscope show zk:/locks/orders zk://localhost -o markdown > ticket.md\n" +
			"  lockscope show zk:/locks/orders zk://localhost -o dot | dot -Tsvg > orders.svg",
		Args: app.LockFirst, ValidArgsFunction: a.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := inspect.ParseID(args[0])
			if err != nil {
				return err
			}
			s, err := a.SetUpLook(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			everything := s
			if s.Recording == "" {
				target, err := s.BackendOf(id)
				if err != nil {
					return err
				}
				s.Targets = []connect.Target{target}
			}
			snapshot, err := a.Look(cmd.Context(), s, id.Path)
			if err != nil {
				return err
			}
			if s.Recording == "" {
				snapshot = withOthers(cmd.Context(), a, everything, snapshot, id)
			}
			err = printLock(a, snapshot, id, output, s.Config.OwnerCommand)
			if output == "tree" && s.Recording == "" {
				printPossible(cmd.Context(), a, s, snapshot, id)
			}
			return err
		},
	}
	app.OutputFlag(command, &output, showForms...)
	return command
}

// shownPossible limits the possible connections shown per holder; the command candidates shows all.
const shownPossible = 2

// printPossible prints the connections that may belong to holders without a known client.
func printPossible(ctx context.Context, a *app.App, s app.Setup, snapshot *inspect.Snapshot, id inspect.ID) {
	l, target := snapshot.Lock(id), s.Targets[0]
	if l == nil || len(l.Masters) == 0 || target.Service == connect.RedisCluster || a.Budget == "gentle" {
		return
	}
	unknown := slices.DeleteFunc(slices.Clone(l.Holders),
		func(c inspect.Contender) bool { return c.Owner.Client != "" })
	if len(unknown) == 0 {
		return
	}
	list, err := a.ConnectionsOf(ctx, s, id.Backend, app.MostUnasked)
	view := describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}
	for i := range unknown {
		answer := candidatesFor(view, l, &unknown[i], target.DB, list)
		for _, one := range answer.Candidates[:min(len(answer.Candidates), shownPossible)] {
			reasons := strings.Join(one.For, "; ")
			if len(one.Against) > 0 {
				reasons += "; but " + strings.Join(one.Against, "; ")
			}
			fmt.Fprintf(a.Stdout, "possible: %s may belong to %s: %s\n", one.Addr, unknown[i].Who().Cut(40), reasons)
		}
		if n := len(answer.Candidates) + answer.More; n > 0 {
			fmt.Fprintf(a.Stdout, "none of them is certain; to see all %d: lockscope candidates %s\n", n,
				describe.Quote(id.String()))
		}
	}
	if err != nil {
		what := "its holder's connection is unknown"
		if len(list) > 0 {
			what = "not all masters listed their connections"
		}
		fmt.Fprintf(a.Stdout, "%s: %s\n", what, describe.OneLine(s.Explain(err)))
	}
}

func printLock(a *app.App, s *inspect.Snapshot, id inspect.ID, output string, look config.OwnerCommand) error {
	l := s.Lock(id)
	own := s.Backend(id.Backend)
	if own == nil { // only possible with a recording
		names := each.Of(s.Backends, func(b *inspect.Backend) string { return b.Name })
		return app.Usagef("the recording has no backend %q (it has: %s)", id.Backend,
			strings.Join(names, ", "))
	}
	failed := a.ExitOf([]*inspect.Backend{own})
	if absent := l == nil || l.State == inspect.StateFree && len(l.Masters) > 0; absent {
		if failed != nil && l == nil {
			return failed
		}
		return app.Exitf(app.ExitNo, "%s: no such lock (see: lockscope ls)", id)
	}
	failed = exitOfLocks(a, slices.Values([]*inspect.Lock{l}), failed)
	var err error
	switch output {
	case "json":
		err = a.PrintJSON(jsonform.Lock(s, l))
	case "markdown":
		var text string
		if text, err = ticket.Of(describe.View{Snapshot: s, Now: s.TakenAt}, l, nil).In(output); err == nil {
			_, err = io.WriteString(a.Stdout, text)
		}
	case "dot", "mermaid":
		_, err = fmt.Fprint(a.Stdout, render.LockGraph(l, output))
	default:
		_, err = fmt.Fprint(a.Stdout, render.LockTree(s, l, a.Width(), look))
	}
	if err != nil {
		return err
	}
	return failed
}
