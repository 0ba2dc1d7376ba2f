package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
	"lockscope/lockops/act"
)

const (
	// mostCandidates of a contender are shown; the others are counted.
	mostCandidates = 5
	// mostUnasked connections of a server are listed without that anybody asked for their list.
	mostUnasked = 1000
)

func (a *app) candidatesCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "candidates LOCK [TARGET…]",
		Short: "Show which connections to Redis may be those of a lock's holder and waiters, and why",
		Long: "candidates asks Redis for its connections (CLIENT LIST) and shows, for each holder and waiter of a lock, those that may be\n" +
			"its own, with what speaks for each and against it: their name, host, library, last command, and since when they are\n" +
			"connected. None of them is certain: Redis keeps no author of a key. It changes nothing.",
		Example: "  lockscope candidates redis:lock:orders redis://localhost\n" +
			"  lockscope candidates redis:lock:orders -p prod -o json",
		Args: lockFirst, ValidArgsFunction: a.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, "text", "json"); err != nil {
				return err
			}
			id, err := inspect.ParseID(args[0])
			if err != nil {
				return err
			}
			s, err := a.setUp(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			return a.showCandidates(cmd.Context(), s, id, output)
		},
	}
	outputFlag(command, &output, "text", "json")
	return command
}

// showCandidates looks at the lock, and then at who is connected.
func (a *app) showCandidates(ctx context.Context, s setup, id inspect.ID, output string) error {
	target, err := s.backendOf(id)
	switch {
	case err != nil:
		return err
	case target.Service == connect.ZooKeeper:
		return usageError("%s: in ZooKeeper the server itself names the session of each entry (write: lockscope show %s)", id, id)
	case target.Service == connect.RedisCluster:
		return usageError("%s: a client of a Cluster has connections to each node (give the node that has the key as a target by itself: redis://HOST:PORT)", id)
	}
	s.targets = []connect.Target{target}
	snapshot, err := a.look(ctx, s, id.Path)
	if err != nil {
		return err
	}
	l, view := snapshot.Lock(id), describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}
	if l == nil || l.Contention() == 0 {
		if failed := a.exitOf(snapshot.Backends); failed != nil {
			return failed
		}
		if l != nil && (l.State == inspect.StateUnknown || l.Unknown(inspect.AspectHolders)) {
			return exit(exitUnreachable, "%s: %s", id, view.Verdict(l))
		}
		return exit(exitNo, "%s: nobody is known to hold it or to wait for it (see: lockscope show %s)", id, id)
	}
	list, missed := a.connectionsOf(ctx, s, id.Backend, 0)
	if missed != nil {
		missed = s.explain(missed)
		if len(list) == 0 {
			return missed
		}
	}
	answer := candidatesJSON{Lock: id.String(), Connections: len(list)}
	for _, group := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range group {
			answer.Contenders = append(answer.Contenders, candidatesFor(view, l, &group[i], target.DB, list))
		}
	}
	if output == "json" {
		err = a.printJSON(answer)
	} else {
		_, err = io.WriteString(a.Stdout, answer.text())
	}
	return cmp.Or(err, missed) // what another master did not list
}

// connectionsOf are those of all masters that list them, and why others do not; most as for act.Redis.Connections.
func (a *app) connectionsOf(ctx context.Context, s setup, backend string, most int) ([]act.Connection, error) {
	all := a.newPreviewers(s)
	defer all.close()
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	list, _, err := all.connections(limited, backend, most)
	return list, err
}

// connections lists those of a Redis backend's clients, with the database of its locks; see act.Redis.Connections.
func (r *releasers) connections(ctx context.Context, backend string, most int) ([]act.Connection, int, error) {
	t, err := r.setup.backend(backend)
	switch {
	case err != nil:
		return nil, 0, err
	case t.Service == connect.RedisCluster:
		return nil, 0, errors.New("a client of a Cluster has connections to each node")
	}
	ender, err := r.ender(ctx, backend)
	if err != nil {
		return nil, 0, err
	}
	redis, ok := ender.(*act.Redis)
	if !ok {
		return nil, 0, fmt.Errorf("backend %s: it has no list of connections", backend)
	}
	list, err := redis.Connections(ctx, most)
	return list, t.DB, err
}

// unasked lists them for a screen, where nobody asked for that; nil with --budget gentle.
func (r *releasers) unasked() func(context.Context, string) ([]act.Connection, int, error) {
	if r.app.budget == "gentle" {
		return nil
	}
	return func(ctx context.Context, backend string) ([]act.Connection, int, error) {
		return r.connections(ctx, backend, mostUnasked)
	}
}

func candidatesFor(view describe.View, l *inspect.Lock, c *inspect.Contender, db int, list []act.Connection) contenderCandidateJSON {
	found := act.Candidates(l, c, view.InState(l, c), db, list)
	out := contenderCandidateJSON{Name: c.Name.String(), State: c.State.String(), Candidates: []candidateJSON{}, More: max(0, len(found)-mostCandidates)}
	for _, one := range found[:len(found)-out.More] {
		against := one.Against
		if against == nil {
			against = []string{}
		}
		out.Candidates = append(out.Candidates, candidateJSON{connectionsJSON([]act.Connection{one.Connection})[0], one.Library.String(), one.For, against})
	}
	return out
}

// text is the answer for people.
func (j *candidatesJSON) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: possible connections only; which one is whose is not certain, since Redis keeps no author of a key\n", j.Lock)
	for _, c := range j.Contenders {
		fmt.Fprintf(&b, "\n%s (%s): %d of %s may be its own\n", c.Name, c.State, len(c.Candidates)+c.More, describe.Count(j.Connections, "connection"))
		for _, one := range c.Candidates {
			fmt.Fprintf(&b, "  possible  %s with %s: id %d, name '%s', connected for %s, idle for %s\n", one.Addr, one.Server, one.ID, one.Name,
				describe.Age(time.Duration(one.AgeMS)*time.Millisecond), describe.Age(time.Duration(one.IdleMS)*time.Millisecond))
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
	Certain     bool                     `json:"certain"` // never, so far
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
	connectionJSON
	Library string   `json:"library"`
	For     []string `json:"for"`
	Against []string `json:"against"`
}
