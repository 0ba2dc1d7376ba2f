package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"lockscope/inspect"
)

func (a *app) lsCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "ls [TARGET…]",
		Short: "List the locks with holder, age and queue length",
		Example: "  lockscope ls zk://localhost:2181/locks\n" +
			"  lockscope ls 'redis://r1,r2,r3?match=lock:*' -o json | jq '.locks[] | select(.state == \"split\")'",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, "table", "wide", "json"); err != nil {
				return err
			}
			s, err := a.setUp(cmd.Context(), args)
			if err != nil {
				return err
			}
			snapshot, err := a.look(cmd.Context(), s.targets, s.secrets, "")
			if err != nil {
				return err
			}
			if err := a.printLocks(snapshot, output); err != nil {
				return err
			}
			return a.judge(snapshot)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "table", "table, wide or json")
	return command
}

// printLocks prints a snapshot as ls does.
func (a *app) printLocks(s *inspect.Snapshot, output string) error {
	if output == "json" {
		return a.printJSON(s.JSON())
	}
	if s.Len() == 0 {
		a.say("no locks found where it was looked")
		return nil
	}
	t := table{head: []string{"LOCK", "STATE", "KIND", "LIBRARY", "HOLDER", "AGE", "WAIT", "TTL"}, right: "56", shrink: []int{4, 0}}
	if output == "wide" {
		t.head = append(t.head, "VOTES", "VALID", "SESSION", "LONGEST", "SURE")
		t.right = "5679b"
	}
	for l := range s.Locks() {
		t.rows = append(t.rows, lockRow(s, l, output == "wide"))
	}
	width, ok := terminal(a.Stdout)
	if !ok {
		width = 0
	}
	_, err := fmt.Fprint(a.Stdout, t.render(width))
	return err
}

func lockRow(s *inspect.Snapshot, l *inspect.Lock, wide bool) []string {
	row := []string{
		l.ID.String(), string(l.State), string(l.Kind), dash(l.Recipe), l.Summary().String(), "–",
		fmt.Sprint(len(l.Waiters)), "–",
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
		valid = inspect.FormatAge(l.ValidUntil.Sub(s.TakenAt))
	}
	if len(l.Waiters) > 0 {
		longest = age(s, l, &l.Waiters[0])
	}
	return append(row, votes, valid, dash(session), longest, string(l.Confidence))
}

func age(s *inspect.Snapshot, l *inspect.Lock, c *inspect.Contender) string {
	if d, ok := s.Age(l, c.Since, s.TakenAt); ok {
		return inspect.FormatAge(d)
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
		return inspect.FormatAge(c.ExpiresAt.Sub(at))
	}
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// table is text in aligned columns.
type table struct {
	head   []string
	rows   [][]string
	right  string // columns that are right-aligned, as hex digits
	shrink []int  // columns that give way, in this order, when a line is too wide
}

const gap = "  "

// render writes the table at most width cells wide; 0 is without limit.
func (t table) render(width int) string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	t.fit(widths, width)
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			cell = ansi.Truncate(cell, widths[i], "…")
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if strings.Contains(t.right, fmt.Sprintf("%x", i)) {
				line.WriteString(pad + cell + gap)
			} else {
				line.WriteString(cell + pad + gap)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// fit takes cells off the columns that give way until a line fits, but leaves each at least twelve.
func (t table) fit(widths []int, width int) {
	if width <= 0 {
		return
	}
	over := len(gap)*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for _, column := range t.shrink {
		if cut := min(over, widths[column]-12); cut > 0 {
			widths[column] -= cut
			over -= cut
		}
	}
}
