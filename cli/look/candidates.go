package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops/act"
)

// mostCandidates of a contender are shown; the others are counted.
const mostCandidates = 5

// Candidates returns the candidates command.
func Candidates(a *app.App) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "candidates LOCK [TARGET…]",
		Short: "Show which Redis connections may belong to a lock's holder and waiters, and why",
		Long: "candidates asks Redis for its connections (CLIENT LIST) and shows which may belong to each holder and\n" +
			"waiter of a lock. It gives reasons for and against each: name, host, library, last command, and age of\n" +
			"the connection. None is certain: Redis does not record who wrote a key. It changes nothing.",
		Example: "  lockscope candidates redis:lock:orders redis://localhost\n" +
			"  lockscope candidates redis:lock:orders -p prod -o json",
		Args: app.LockFirst, ValidArgsFunction: a.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := inspect.ParseID(args[0])
			if err != nil {
				return err
			}
			s, err := a.SetUp(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			return showCandidates(cmd.Context(), a, s, id, output)
		},
	}
	app.OutputFlag(command, &output, "text", "json")
	return command
}

// showCandidates reads the lock, and then the connected clients.
func showCandidates(ctx context.Context, a *app.App, s app.Setup, id inspect.ID, output string) error {
	target, err := s.BackendOf(id)
	switch {
	case err != nil:
		return err
	case target.Service == connect.ZooKeeper:
		return app.Usagef("%s: ZooKeeper knows the session of each entry (write: "+
			"lockscope show %s)", id, id)
	case target.Service == connect.RedisCluster:
		return app.Usagef("%s: a client of a Cluster has connections to each node (use the node that has the key as a target: redis://HOST:PORT)", id)
	}
	s.Targets = []connect.Target{target}
	snapshot, err := a.Look(ctx, s, id.Path)
	if err != nil {
		return err
	}
	l, view := snapshot.Lock(id), describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}
	if l == nil || l.Contention() == 0 {
		if failed := a.ExitOf(snapshot.Backends); failed != nil {
			return failed
		}
		if l != nil && (l.State == inspect.StateUnknown || l.Unknown(inspect.AspectHolders)) {
			return app.Exitf(app.ExitUnreachable, "%s: %s", id, view.Verdict(l))
		}
		return app.Exitf(app.ExitNo,
			"%s: no holder or waiter is known (see: lockscope show %s)", id, id)
	}
	list, missed := a.ConnectionsOf(ctx, s, id.Backend, 0)
	if missed != nil {
		missed = s.Explain(missed)
		if len(list) == 0 {
			return missed
		}
	}
	answer := candidatesJSON{Lock: id.String(), Connections: len(list)}
	for c := range l.Contenders {
		answer.Contenders = append(answer.Contenders, candidatesFor(view, l, c, target.DB, list))
	}
	if output == "json" {
		err = a.PrintJSON(answer)
	} else {
		_, err = io.WriteString(a.Stdout, answer.text())
	}
	return cmp.Or(err, missed) // some masters may not have listed theirs
}

func candidatesFor(
	view describe.View, l *inspect.Lock, c *inspect.Contender, db int, list []act.Connection,
) contenderCandidateJSON {
	found := act.Candidates(l, c, view.InState(l, c), db, list)
	out := contenderCandidateJSON{
		Name: c.Name.String(), State: c.State.String(), Candidates: []candidateJSON{},
		More: max(0, len(found)-mostCandidates),
	}
	for _, one := range found[:len(found)-out.More] {
		against := one.Against
		if against == nil {
			against = []string{}
		}
		out.Candidates = append(out.Candidates, candidateJSON{
			app.ConnectionsJSON([]act.Connection{one.Connection})[0],
			one.Library.String(), one.For, against,
		})
	}
	return out
}

// text is the answer for people.
func (j *candidatesJSON) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: candidates only, none of them certain: Redis does not record who wrote a key\n", j.Lock)
	for _, c := range j.Contenders {
		fmt.Fprintf(&b, "\n%s (%s): %d of %s may belong to it\n", c.Name, c.State, len(c.Candidates)+c.More,
			describe.Count(j.Connections, "connection"))
		for _, one := range c.Candidates {
			fmt.Fprintf(&b, "  possible  %s with %s: id %d, name '%s', connected for %s, idle for %s\n",
				one.Addr, one.Server, one.ID, one.Name,
				describe.Age(time.Duration(one.AgeMS)*time.Millisecond),
				describe.Age(time.Duration(one.IdleMS)*time.Millisecond))
			fmt.Fprintf(&b, "    for      %s\n", strings.Join(one.For, "; "))
			if len(one.Against) > 0 {
				fmt.Fprintf(&b, "    against  %s\n", strings.Join(one.Against, "; "))
			}
		}
		if c.More > 0 {
			fmt.Fprintf(&b, "  and %d more\n", c.More)
		}
	}
	return b.String()
}

// candidatesJSON is the command's answer.
type candidatesJSON struct {
	Lock        string                   `json:"lock"`
	Certain     bool                     `json:"certain"` // always false so far
	Connections int                      `json:"connections"`
	Contenders  []contenderCandidateJSON `json:"contenders"`
}

type contenderCandidateJSON struct {
	Name       string          `json:"name"`
	State      string          `json:"state"`
	Candidates []candidateJSON `json:"candidates"`
	More       int             `json:"more"`
}

type candidateJSON struct {
	app.ConnectionJSON
	Library string   `json:"library"`
	For     []string `json:"for"`
	Against []string `json:"against"`
}
