package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

func (a *app) lsCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "ls [TARGET…]",
		Short: "List the locks with holder, age and queue length",
		Long: "ls reads every lock once and lists it. On a terminal the table is cut to fit, the least useful columns first;\n" +
			"piped it is whole. -o wide adds votes, validity, session, longest wait, and each lock's worst finding. In place of\n" +
			"targets it takes a recording, and lists its last state.",
		Example: "  lockscope ls zk://localhost:2181/locks\n" +
			"  lockscope ls -p prod -o wide\n" +
			"  lockscope ls 'redis://r1,r2,r3?match=lock:*' -o json | jq '.locks[] | select(.state == \"split\")'",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: completeTargetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, "table", "wide", "json"); err != nil {
				return err
			}
			s, err := a.setUpLook(cmd.Context(), args)
			if err != nil {
				return err
			}
			snapshot, err := a.look(cmd.Context(), s, "")
			if err != nil {
				return err
			}
			if err := a.printLocks(snapshot, output); err != nil {
				return err
			}
			return a.judge(snapshot.Backends)
		},
	}
	outputFlag(command, &output, "table", "wide", "json")
	return command
}

// printLocks prints a snapshot as ls does.
func (a *app) printLocks(s *inspect.Snapshot, output string) error {
	if output == "json" {
		return s.WriteJSON(a.Stdout)
	}
	if s.Len() == 0 {
		if !slices.ContainsFunc(s.Backends, unseen) { // else the reason is reported, and that there are none is unknown
			a.say("no locks found in these targets")
		}
		return nil
	}
	t := lockTable(output == "wide")
	for l := range s.Locks() {
		t.rows = append(t.rows, lockRow(s, l, output == "wide"))
	}
	_, err := fmt.Fprint(a.Stdout, t.render(a.width()))
	return err
}

func lockTable(wide bool) table {
	t := table{columns: []column{
		{head: "LOCK", least: 24},
		{head: "STATE"},
		{head: "KIND", worth: 3},
		{head: "LIBRARY", worth: 4},
		{head: "HOLDER", least: 16},
		{head: "AGE", right: true, worth: 9},
		{head: "WAIT", right: true, worth: 8},
		{head: "TTL", worth: 5},
	}}
	if wide {
		t.columns = append(t.columns, column{head: "VOTES", right: true, worth: 6}, column{head: "VALID", worth: 2},
			column{head: "SESSION", right: true, worth: 2}, column{head: "LONGEST", right: true, worth: 2},
			column{head: "SURE", worth: 1}, column{head: "FINDING", worth: 7})
	}
	return t
}

func lockRow(s *inspect.Snapshot, l *inspect.Lock, wide bool) []string {
	row := []string{
		l.ID.String(), string(l.State), string(l.Kind), dash(l.Recipe), describe.Summary(l), "–",
		describe.QueueLength(l), "–",
	}
	var session string
	if len(l.Holders) > 0 {
		h := &l.Holders[0]
		row[5] = age(s, l, h)
		row[7] = ttl(h, s.TakenAt)
		session = inspect.SessionID(h.Owner.Session)
	}
	if !wide {
		return row
	}
	votes, valid, longest := "–", "–", "–"
	if len(l.Masters) > 0 {
		votes = fmt.Sprintf("%d/%d", l.Votes(), len(l.Masters))
	}
	if !l.ValidUntil.IsZero() {
		valid = describe.Span(l.ValidUntil.Sub(s.TakenAt))
	}
	if len(l.Waiters) > 0 {
		longest = age(s, l, &l.Waiters[0])
	}
	return append(row, votes, valid, dash(session), longest, string(l.Confidence), worst(l))
}

// worst names a lock's worst finding.
func worst(l *inspect.Lock) string {
	f := describe.Worst(l.Findings)
	if f == nil {
		return "–"
	}
	return fmt.Sprintf("%s: %s", f.Severity, f.Rule)
}

func age(s *inspect.Snapshot, l *inspect.Lock, c *inspect.Contender) string {
	if d, ok := s.Age(l, c.Since, s.TakenAt); ok {
		return describe.Span(d)
	}
	return "–"
}

func ttl(c *inspect.Contender, at time.Time) string {
	switch {
	case c.NoExpiry:
		return "none"
	case c.ExpiresAt.IsZero():
		return "–"
	default:
		return describe.Span(c.ExpiresAt.Sub(at))
	}
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
