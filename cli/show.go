package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/jsonform"
	"lockscope/inspect/recipe"
	"lockscope/inspect/ticket"
	"lockscope/internal/config"
	"lockscope/internal/connect"
)

// showForms are the forms of show, the default first.
var showForms = []string{"tree", "json", "markdown", "dot", "mermaid"}

func (a *app) showCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "show LOCK [TARGET…]",
		Short: "Show one lock: who holds it, who waits in which order, who watches whom",
		Long: "show prints one lock: the answer first, then the holders and the queue with who watches whom (⇢ confirmed by the\n" +
			"server's watch table, ⇠? not checked, ⇥✖ missing), or the vote of each Redis master, and last what is wrong.\n" +
			"Where known clients wait for it the other locks of the targets are read too, for at most 5 s: it may be part of a\n" +
			"deadlock. With owner_command in the configuration it prints the command that inspects the holder's process. In\n" +
			"place of targets it takes a recording, and shows its last state. As markdown it is made for a ticket.",
		Example: "  lockscope show zk:/locks/orders zk://localhost:2181\n" +
			"  lockscope show redis:lock:orders redis://r1,r2,r3 -o json\n" +
			"  lockscope show zk:/locks/orders zk://localhost -o markdown > ticket.md\n" +
			"  lockscope show zk:/locks/orders zk://localhost -o dot | dot -Tsvg > orders.svg",
		Args: lockFirst, ValidArgsFunction: a.completeLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, showForms...); err != nil {
				return err
			}
			id, err := inspect.ParseID(args[0])
			if err != nil {
				return err
			}
			s, err := a.setUpLook(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			everything := s
			if s.recording == "" {
				target, err := s.backendOf(id)
				if err != nil {
					return err
				}
				s.targets = []connect.Target{target}
			}
			snapshot, err := a.look(cmd.Context(), s, id.Path)
			if err != nil {
				return err
			}
			if s.recording == "" {
				snapshot = a.withOthers(cmd.Context(), everything, snapshot, id)
			}
			err = a.printLock(snapshot, id, output, s.config.OwnerCommand)
			if output == "tree" && s.recording == "" {
				a.printPossible(cmd.Context(), s, snapshot, id)
			}
			return err
		},
	}
	outputFlag(command, &output, showForms...)
	return command
}

// shownPossible connections of a holder are named; candidates has all.
const shownPossible = 2

// printPossible prints which connections may be those of holders of whom no client is known.
func (a *app) printPossible(ctx context.Context, s setup, snapshot *inspect.Snapshot, id inspect.ID) {
	l, target := snapshot.Lock(id), s.targets[0]
	if l == nil || len(l.Masters) == 0 || target.Service == connect.RedisCluster || a.budget == "gentle" {
		return
	}
	unknown := slices.DeleteFunc(slices.Clone(l.Holders), func(c inspect.Contender) bool { return c.Owner.Client != "" })
	if len(unknown) == 0 {
		return
	}
	list, err := a.connectionsOf(ctx, s, id.Backend, mostUnasked)
	view := describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}
	for i := range unknown {
		answer := candidatesFor(view, l, &unknown[i], target.DB, list)
		for _, one := range answer.Candidates[:min(len(answer.Candidates), shownPossible)] {
			reasons := strings.Join(one.For, "; ")
			if len(one.Against) > 0 {
				reasons += "; but " + strings.Join(one.Against, "; ")
			}
			fmt.Fprintf(a.Stdout, "possible: %s may be that of %s: %s\n", one.Addr, unknown[i].Who().Cut(40), reasons)
		}
		if n := len(answer.Candidates) + answer.More; n > 0 {
			fmt.Fprintf(a.Stdout, "none of them is certain; of all %d: lockscope candidates %s\n", n, describe.Quote(id.String()))
		}
	}
	if err != nil {
		what := "which connection may be its holder's is unknown"
		if len(list) > 0 {
			what = "not all masters listed their connections"
		}
		fmt.Fprintf(a.Stdout, "%s: %s\n", what, describe.OneLine(s.explain(err)))
	}
}

func (a *app) printLock(s *inspect.Snapshot, id inspect.ID, output string, look config.OwnerCommand) error {
	l := s.Lock(id)
	own := s.Backend(id.Backend)
	if own == nil { // of a recording
		var names []string
		for _, b := range s.Backends {
			names = append(names, b.Name)
		}
		return usageError("no backend of the recording is named %q (there are: %s)", id.Backend, strings.Join(names, ", "))
	}
	failed := a.exitOf([]*inspect.Backend{own})
	if absent := l == nil || l.State == inspect.StateFree && len(l.Masters) > 0; absent {
		if failed != nil && l == nil {
			return failed
		}
		return exit(exitNo, "%s: no such lock (see: lockscope ls)", id)
	}
	failed = a.exitOfLocks(slices.Values([]*inspect.Lock{l}), failed)
	var err error
	switch form, isGraph := graphForms()[output]; {
	case output == "json":
		err = a.printJSON(jsonform.Lock(s, l))
	case output == "markdown":
		var text string
		if text, err = ticket.Of(describe.View{Snapshot: s, Now: s.TakenAt}, l, nil).In(output); err == nil {
			_, err = io.WriteString(a.Stdout, text)
		}
	case isGraph:
		_, err = fmt.Fprint(a.Stdout, lockGraph(l, form))
	default:
		_, err = fmt.Fprint(a.Stdout, lockTree(s, l, a.width(), look))
	}
	if err != nil {
		return err
	}
	return failed
}

// lockTree draws one lock as text: the answer first, then holders, waiters and masters.
func lockTree(s *inspect.Snapshot, l *inspect.Lock, width int, look config.OwnerCommand) string {
	var b strings.Builder
	name := l.Recipe
	if name == "" {
		name = "no known library"
	}
	fmt.Fprintf(&b, "%s   %s · %s (%s)   %s\n", l.ID, describe.KindOf(l), name, l.Confidence, describe.State(l))
	fmt.Fprintln(&b, describe.View{Snapshot: s, Now: s.TakenAt}.Verdict(l))
	for i := range l.Holders {
		if command, ok := look.Fill(ownerFields(l, &l.Holders[i])); ok {
			fmt.Fprintf(&b, "look: %s\n", command)
		}
	}
	if l.Contention() > 0 && (len(l.Masters) == 0 || len(l.Waiters) > 0 || len(l.Holders) > 1) {
		b.WriteString("\n" + queueTable(s, l).render(width))
	}
	if len(l.Masters) > 0 {
		b.WriteString("\n" + masterTable(s, l).render(width))
	}
	for _, f := range l.Findings {
		fmt.Fprintf(&b, "\n%s", complaint{Finding: f}.text(fmt.Sprintf("%s: %s", f.Severity, f.Rule), s.TakenAt))
	}
	return b.String()
}

// ownerFields returns the names that an owner_command may use.
func ownerFields(l *inspect.Lock, c *inspect.Contender) map[string]string {
	o := c.Owner
	return map[string]string{
		"host": o.Host.Raw(), "pid": o.PID.Raw(), "thread": o.Thread.Raw(), "session": inspect.SessionID(o.Session),
		"client": o.Client, "server": o.Server, "label": o.Label.Raw(), "library_id": o.LibraryID.Raw(),
		"lock": l.ID.Path, "name": c.Name.Raw(),
	}
}

func queueTable(s *inspect.Snapshot, l *inspect.Lock) table {
	t := table{columns: []column{
		{head: "#", right: true, worth: 4},
		{head: "STATE"},
		{head: "CONTENDER", least: 16},
		{head: "OWNER", least: 16},
		{head: "SESSION", worth: 3},
		{head: "AGE", right: true, worth: 9},
		{head: "BLOCKS", right: true, worth: 1},
		{head: "WATCHES", worth: 5},
	}}
	view := describe.View{Snapshot: s, Now: s.TakenAt}
	if slices.ContainsFunc(slices.Concat(l.Holders, l.Waiters), func(c inspect.Contender) bool { return view.HostName(&c.Owner) != "" }) {
		t.columns = append(t.columns, column{head: "HOST", worth: 6, least: 12})
	}
	named := len(t.columns)
	if slices.ContainsFunc(slices.Concat(l.Holders, l.Waiters), func(c inspect.Contender) bool { return l.AccessTo(&c).Tells() }) {
		t.columns = append(t.columns, column{head: "ACCESS", worth: 2, least: 12})
	}
	depth := 0
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			c := &list[i]
			state := "● holds"
			if c.State != inspect.Holding {
				word := "└─○ waits"
				if c.State == inspect.Pending {
					word = "└─◐ pending"
				}
				state = strings.Repeat("  ", min(depth, 8)) + word
				depth++
			}
			if c.Mode == recipe.Shared {
				state += " (shared)"
			}
			row := []string{
				sequence(c), state, c.Name.String(), c.Who().String(), dash(inspect.SessionID(c.Owner.Session)),
				age(s, l, c), fmt.Sprint(c.BlockedBelow), watches(c), dash(view.HostName(&c.Owner)),
			}
			if row = row[:named]; len(t.columns) > named {
				row = append(row, rights(l, c))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// rights words who has rights on a contender's znode.
func rights(l *inspect.Lock, c *inspect.Contender) string {
	if a := l.AccessTo(c); a != nil {
		return a.String()
	}
	return "–"
}

// sequence is the number that the server gave a znode; a Redis waiter and a kazoo lease have none.
func sequence(c *inspect.Contender) string {
	if !c.Sequential {
		return "–"
	}
	return fmt.Sprint(c.Sequence)
}

// watches words a waiter's expected watch, with the server's confirmation or denial.
func watches(c *inspect.Contender) string {
	if c.Watches == "" {
		return ""
	}
	before := c.Watches.Raw()
	if _, seq, ok := recipe.SplitSequence(before); ok {
		before = fmt.Sprint(seq)
	}
	switch c.Watch {
	case inspect.Confirmed:
		return "⇢ " + before
	case inspect.Missing:
		return "⇥✖ not " + before
	default:
		return "⇠? " + before
	}
}

func masterTable(s *inspect.Snapshot, l *inspect.Lock) table {
	t := table{columns: []column{{head: "MASTER"}, {head: "VOTE"}, {head: "VALUE", least: 12}, {head: "TTL", right: true}}}
	for _, m := range l.Masters {
		row := []string{inspect.Escape(m.Addr), "·", m.Value.Cut(48), "–"}
		switch {
		case !m.Up:
			row[1], row[2] = "?", "no answer: "+inspect.Escape(strings.TrimPrefix(m.Error, "master "+m.Addr+": "))
		case !m.Present:
			row[2] = "absent"
		case m.Foreign:
			row[2] = "no lock: " + m.Value.Cut(40)
		case m.Agrees:
			row[1] = "●"
		}
		if m.NoExpiry {
			row[3] = "none"
		} else if m.Up && !m.ExpiresAt.IsZero() {
			row[3] = describe.Span(max(0, m.ExpiresAt.Sub(s.TakenAt)).Round(time.Millisecond))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
