package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/jsonform"
	"lockscope/tui/screen"
)

func (a *app) lsCommand() *cobra.Command {
	var output, order, only string
	command := &cobra.Command{
		Use:   "ls [TARGET…]",
		Short: "List the locks with holder, age and queue length",
		Long: "ls reads every lock once and lists it. On a terminal the table is cut to fit, the least useful columns first;\n" +
			"piped it is whole. -o wide adds votes, validity, session, longest wait, and each lock's worst finding. In place of\n" +
			"targets it takes a recording, and lists its last state. --sort has the locks with the most first, grants only of a recording.",
		Example: "  lockscope ls zk://localhost:2181/locks\n" +
			"  lockscope ls -p prod -o wide --sort wait\n" +
			"  lockscope ls -p prod --filter 'lib=redsync token=9f3a'\n" +
			"  lockscope ls 'redis://r1,r2,r3?match=lock:*' -o json | jq '.locks[] | select(.state == \"split\")'",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: completeTargetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, "table", "wide", "json", "csv"); err != nil {
				return err
			}
			s, err := a.setUpLook(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := checkOrder(order, output, s); err != nil {
				return err
			}
			filter := screen.NewFilter(only)
			if problem := filter.Problem(); problem != "" {
				return usageError("--filter %s", problem)
			}
			snapshot, err := a.look(cmd.Context(), s, "")
			if err != nil {
				return err
			}
			shown := filtered(snapshot, filter)
			if table := output == "table" || output == "wide"; table && shown.Len() == 0 && snapshot.Len() > 0 {
				a.say("none of %s matches the filter", describe.Count(snapshot.Len(), "lock"))
			} else if err := a.printLocks(shown, output, order); err != nil {
				return err
			}
			return a.exitOfLocks(snapshot.Locks(), a.exitOf(snapshot.Backends))
		},
	}
	outputFlag(command, &output, "table", "wide", "json", "csv")
	command.Flags().StringVar(&order, "sort", "", "the locks with the most first: "+strings.Join(orderNames(), ", ")+" (default: by name)")
	complete(command, "sort", orderNames()...)
	command.Flags().StringVar(&only, "filter", "", "only the locks that match, as / on the screen: words, or "+screen.FieldNames)
	return command
}

// filtered is a snapshot with the locks alone that match.
func filtered(s *inspect.Snapshot, filter screen.Filter) *inspect.Snapshot {
	if filter.Empty() {
		return s
	}
	return s.Where(func(l *inspect.Lock) bool {
		return filter.Match(screen.FilterSubject{Lock: l, Snapshot: s, Now: s.TakenAt})
	})
}

// printLocks prints a snapshot as ls does, in an order of lockOrders or by name.
func (a *app) printLocks(s *inspect.Snapshot, output, order string) error {
	switch output {
	case "json":
		return jsonform.Write(a.Stdout, s)
	case "csv":
		return writeCSV(a.Stdout, locksCSV(s, inOrder(s, order)))
	}
	if s.Len() == 0 {
		if !slices.ContainsFunc(s.Backends, unseen) { // else the reason is reported, and that there are none is unknown
			a.say("no locks found in these targets")
		}
		return nil
	}
	columns := lockColumns(output == "wide")
	if order == byGrants {
		at := slices.IndexFunc(columns, func(c lockColumn) bool { return c.head == "QUEUE" })
		columns = slices.Insert(columns, at, lockColumn{column: column{head: "GRANTS", right: true, worth: 10}, cell: grants})
	}
	t := table{}
	for _, c := range columns {
		t.columns = append(t.columns, c.column)
	}
	for _, l := range inOrder(s, order) {
		var row []string
		for _, c := range columns {
			row = append(row, dash(c.cell(s, l)))
		}
		t.rows = append(t.rows, row)
	}
	_, err := fmt.Fprint(a.Stdout, t.render(a.width()))
	return err
}

// lockColumn is a column of the table of locks: its head and room, and what it says of a lock; empty: nothing.
type lockColumn struct {
	column
	wide bool // only in the wide table
	cell func(*inspect.Snapshot, *inspect.Lock) string
}

// lockColumns are all columns of the table, or of the wide one.
func lockColumns(wide bool) []lockColumn {
	all := []lockColumn{
		{column: column{head: "LOCK", least: 24}, cell: of(func(l *inspect.Lock) string { return l.ID.String() })},
		{column: column{head: "STATE"}, cell: of(describe.State)},
		{column: column{head: "KIND", worth: 3}, cell: of(describe.KindOf)},
		{column: column{head: "LIBRARY", worth: 4}, cell: of(func(l *inspect.Lock) string { return l.Recipe })},
		{column: column{head: "HOLDER", least: 16}, cell: of(holder)},
		{column: column{head: "HELD", right: true, worth: 9}, cell: holderAge},
		{column: column{head: "QUEUE", right: true, worth: 8}, cell: of(describe.QueueLength)},
		{column: column{head: "TTL", worth: 5}, cell: holderTTL},
		{wide: true, column: column{head: "VOTES", right: true, worth: 6}, cell: of(votes)},
		{wide: true, column: column{head: "VALID", worth: 2}, cell: validity},
		{wide: true, column: column{head: "SESSION", right: true, worth: 2}, cell: of(session)},
		{wide: true, column: column{head: "WAIT", right: true, worth: 2}, cell: longestWait},
		{wide: true, column: column{head: "SURE", worth: 1}, cell: of(func(l *inspect.Lock) string { return string(l.Confidence) })},
		{wide: true, column: column{head: "FINDING", worth: 7}, cell: of(worst)},
	}
	return slices.DeleteFunc(all, func(c lockColumn) bool { return c.wide && !wide })
}

// of is a cell that is the same whatever the time.
func of(f func(*inspect.Lock) string) func(*inspect.Snapshot, *inspect.Lock) string {
	return func(_ *inspect.Snapshot, l *inspect.Lock) string { return f(l) }
}

// holder says in a few words who holds a lock, or why nobody does.
func holder(l *inspect.Lock) string {
	if len(l.Holders) == 1 {
		return l.Holders[0].Who().String()
	}
	brief, _ := describe.Summary(l)
	return brief
}

// worst names a lock's worst finding.
func worst(l *inspect.Lock) string {
	f := describe.Worst(l.Findings)
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s", f.Severity, f.Rule)
}

func holderAge(s *inspect.Snapshot, l *inspect.Lock) string {
	if len(l.Holders) == 0 {
		return ""
	}
	return age(s, l, &l.Holders[0])
}

func age(s *inspect.Snapshot, l *inspect.Lock, c *inspect.Contender) string {
	if d, ok := (describe.View{Snapshot: s, Now: s.TakenAt}).Since(l, c); ok {
		return describe.SignOf(d) + describe.Span(d.Duration)
	}
	return "–"
}

func holderTTL(s *inspect.Snapshot, l *inspect.Lock) string {
	switch {
	case len(l.Holders) == 0:
		return ""
	case l.Holders[0].NoExpiry:
		return "none"
	case l.Holders[0].ExpiresAt.IsZero():
		return ""
	default:
		return describe.Span(l.Holders[0].ExpiresAt.Sub(s.TakenAt))
	}
}

func votes(l *inspect.Lock) string {
	if len(l.Masters) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", l.Votes(), len(l.Masters))
}

func validity(s *inspect.Snapshot, l *inspect.Lock) string {
	if l.ValidUntil.IsZero() {
		return ""
	}
	return describe.Span(l.ValidUntil.Sub(s.TakenAt))
}

func session(l *inspect.Lock) string {
	if len(l.Holders) == 0 {
		return ""
	}
	return inspect.SessionID(l.Holders[0].Owner.Session)
}

// longestWait is that of the waiter who came first: a queue that is not fair may have another at its head.
func longestWait(s *inspect.Snapshot, l *inspect.Lock) string {
	if d, ok := (describe.View{Snapshot: s, Now: s.TakenAt}).LongestWait(l); ok {
		return describe.SignOf(d) + describe.Span(d.Duration)
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
