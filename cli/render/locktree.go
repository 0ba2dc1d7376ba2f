package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/config"
)

// LockTree returns one lock as text: the answer, then holders, waiters and masters.
func LockTree(s *inspect.Snapshot, l *inspect.Lock, width int, look config.OwnerCommand) string {
	var b strings.Builder
	name := cmp.Or(l.Recipe, "unknown library")
	fmt.Fprintf(&b, "%s   %s · %s (%s)   %s\n", l.ID, describe.KindOf(l), name, l.Confidence, describe.State(l))
	fmt.Fprintln(&b, viewOf(s).Verdict(l))
	for i := range l.Holders {
		if command, ok := look.Fill(OwnerFields(l, &l.Holders[i])); ok {
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
		fmt.Fprintf(&b, "\n%s", Complaint{Finding: f}.text(fmt.Sprintf("%s: %s", f.Severity, f.Rule), s.TakenAt))
	}
	return b.String()
}

// OwnerFields returns the fields that an owner_command may use.
func OwnerFields(l *inspect.Lock, c *inspect.Contender) map[string]string {
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
		{head: "QUEUED", right: true, worth: 9},
		{head: "BLOCKS", right: true, worth: 1},
		{head: "WATCHES", worth: 5},
	}}
	view := viewOf(s)
	if slices.ContainsFunc(slices.Concat(l.Holders, l.Waiters),
		func(c inspect.Contender) bool { return view.HostName(&c.Owner) != "" }) {
		t.columns = append(t.columns, column{head: "HOST", worth: 6, least: 12})
	}
	depth := 0
	for c := range l.Contenders {
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
		queued := ""
		if d, ok := view.Since(l, c); ok {
			queued = describe.Signed(d)
		}
		row := []string{
			sequence(c), state, c.Name.String(), c.Who().String(), dash(inspect.SessionID(c.Owner.Session)),
			dash(queued), dash(describe.Blocks(l, c)), dash(watches(l, c)), dash(view.HostName(&c.Owner)),
		}
		t.rows = append(t.rows, row[:len(t.columns)])
	}
	return t
}

// sequence is the number that the server gave a znode; a Redis waiter and a kazoo lease have none.
func sequence(c *inspect.Contender) string {
	if !c.Sequential {
		return "–"
	}
	return fmt.Sprint(c.Sequence)
}

// watches describes a waiter's expected watch, with the server's confirmation or denial.
func watches(l *inspect.Lock, c *inspect.Contender) string {
	if behind := describe.WatchesBehind(l, c); behind != nil {
		return "⇢ " + sequence(behind)
	}
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
		return "⇠ " + before
	}
}

func masterTable(s *inspect.Snapshot, l *inspect.Lock) table {
	t := table{columns: []column{
		{head: "MASTER"},
		{head: "VOTE"},
		{head: "VALUE", least: 12},
		{head: "TTL", right: true},
	}}
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
