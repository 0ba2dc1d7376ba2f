package locks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// The free space below a short table shows the longest waits and recent grants.
const (
	overviewLeast = 10 // the minimum number of free lines
	waitsShown    = 8
	grantCells    = 30
	grantStep     = 10 * time.Second
	busiestShown  = 3
)

// overview fills the free lines below a table of a few locks. It keeps the width of the names and
// the number of lines of the longest waits.
type overview struct{ names, waits widget.Widest }

// lines draws the overview in at most that many lines; none if they are too few.
func (o *overview) lines(host screen.Context, locks []tableLine, width, lines int) []string {
	if lines < overviewLeast || len(locks) == 0 {
		return nil
	}
	grants := grantLines(host, width)
	rows := min(waitsShown, lines-len(grants)-3)
	all := append(o.waits.Fill(o.waitLines(host, locks, width, rows), 1+rows, host.Now()), nil)
	all = append(append([]widget.Line{nil}, all...), grants...)
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = l.Render(width, host.Theme().Glyphs.Ellipsis, nil)
	}
	return out
}

// wait is the longest wait for a lock.
type wait struct {
	lock *inspect.Lock
	who  *inspect.Contender
	took inspect.Age
}

// longestWaits returns the longest wait for each lock in the table, the longest first. If its
// clock was never compared with ours, its lower bound counts.
func longestWaits(host screen.Context, locks []tableLine) []wait {
	var all []wait
	for _, e := range locks {
		if e.Row == nil {
			continue
		}
		l := host.Snapshot().Lock(e.Row.ID)
		if l == nil || cellOf(host, l).old {
			continue
		}
		took, ok := screen.Ages(host).LongestWait(l)
		if !ok {
			continue
		}
		all = append(all, wait{l, describe.LongestWaiter(l), took})
	}
	slices.SortStableFunc(all, func(a, b wait) int {
		return cmp.Or(cmp.Compare(b.orderedBy(), a.orderedBy()), a.lock.ID.Compare(b.lock.ID))
	})
	return all
}

// shortWait is the wait below which all are equal. Otherwise those of busy locks would swap
// places all the time.
const shortWait = 10 * time.Second

func (w *wait) orderedBy() time.Duration {
	if w.took.Least < shortWait {
		return 0
	}
	return w.took.Least
}

func (o *overview) waitLines(host screen.Context, locks []tableLine, width, rows int) []widget.Line {
	t := host.Theme()
	lines := []widget.Line{widget.Section(t, width, "longest waits")}
	all := longestWaits(host, locks)
	if len(all) == 0 {
		return append(lines, widget.Line{{"   no waiters seen", t.Muted}})
	}
	all = all[:min(rows, len(all))]
	names := 12
	for _, w := range all {
		names = max(names, lipgloss.Width(describe.Owner(w.who)))
	}
	names = min(o.names.Keep(names, host.Now()), max(12, width/3))
	for _, w := range all {
		l := widget.Line{{describe.SignOf(w.took), t.Muted}, {describe.Seconds(w.took.Duration), t.Text}}
		l = l.Align(9, true, "").Add(t.Text, "  ")
		l = append(l, widget.Line{{describe.Owner(w.who), t.Waiting}}.Align(names, false, t.Glyphs.Ellipsis)...)
		l = l.Add(t.Muted, "  waits for ").Add(t.Text, w.lock.ID.String()).Add(t.Muted, ", held by ")
		lines = append(lines, append(l, whoHolds(host, w.lock, shortName)...))
	}
	return lines
}

// grantLines draw how often locks were acquired, and which locks most. Nothing is known before
// the newest dropped event.
func grantLines(s screen.Context, width int) []widget.Line {
	t, log, now := s.Theme(), s.Log(), s.Now()
	title := "acquired in the last 5m"
	from := now.Truncate(grantStep).Add(-(grantCells - 1) * grantStep)
	since := from
	known, _ := log.CompleteFrom(inspect.ID{})
	if len(log.List) > 0 && known.IsZero() { // nothing was seen before the first one
		known = log.List[0].At
	}
	if known.After(from) {
		since = known
		title = "acquired since " + describe.Clock(since)
	}
	counts, perLock, total := make([]float64, grantCells), make(map[inspect.ID]int), 0
	for i := len(log.List) - 1; i >= 0 && !log.List[i].At.Before(since); i-- {
		e := &log.List[i]
		granted := e.Kind == inspect.EventAcquired || e.Kind == inspect.EventHandover
		if at := int(e.At.Sub(from) / grantStep); at < grantCells && granted {
			counts[at]++
			perLock[e.Lock]++
			total++
		}
	}
	lines := []widget.Line{widget.Section(t, width, title)}
	switch {
	case since.After(now):
		return append(lines, widget.Line{{"   not kept", t.Muted}})
	case total == 0:
		return append(lines, widget.Line{{"   none seen", t.Muted}})
	}
	span := max(grantStep, now.Sub(since))
	row := func(n int, words ...widget.Span) {
		rate := widget.Line{{rateWords(n, span), t.Text}}.Align(9, true, "").Add(t.Text, "  ")
		lines = append(lines, append(rate, words...))
	}
	row(total, widget.Span{t.Sparks(counts, slices.Max(counts)), t.Waiting})
	ids := slices.SortedFunc(maps.Keys(perLock), func(a, b inspect.ID) int {
		return cmp.Or(cmp.Compare(perLock[b], perLock[a]), a.Compare(b))
	})
	for _, id := range ids[:min(busiestShown, len(ids))] {
		row(perLock[id], widget.Span{id.String(), t.Text})
	}
	return lines
}

// rateWords formats a rate per minute, so that rows can be compared.
func rateWords(n int, in time.Duration) string {
	perMinute := float64(n) / in.Minutes()
	if perMinute >= 99.95 { // no room for a digit that says little
		return fmt.Sprintf("%.0f/min", perMinute)
	}
	return fmt.Sprintf("%.1f/min", perMinute)
}
