package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// changesOf is the time span to compare while no moment of the past is drawn.
const changesOf = 2 * time.Minute

// changesAction opens the comparison of two moments.
func changesAction(m *Model, none func() string) screen.Action {
	return screen.Action{
		Keys: []string{"D"}, Shown: "D", Hint: "changes", Late: true, Disabled: none,
		Run:  func() tea.Cmd { return compare(m) },
		Help: "changes in 2m, or since the moment shown",
	}
}

// compare opens the comparison of the drawn moment with now. At the present or in a recording, it
// compares the last minutes with the drawn moment.
func compare(m *Model) tea.Cmd {
	at, to := m.playhead.at, m.present()
	if !m.inPast() || m.filmed() {
		at, to = m.now.Add(-changesOf), m.snapshot
	}
	began := ""
	for _, b := range to.Backends { // an incomplete first pass is not compared
		if whole := to.Watched(b.Name).Add(inspect.PastStep); at.Before(whole) {
			at = whole
			began = "Watching began at " + describe.When(to.Watched(b.Name), m.now) + "."
		}
	}
	if first := m.past.From(); at.Before(first) {
		at = first
	}
	from, _ := m.past.At(at)
	if from == nil {
		m.Flash("no history for that time")
		return nil
	}
	d := &comparing{world: m.world, from: from.TakenAt, to: to.TakenAt, generation: m.Number()}
	m.Push(d)
	var only inspect.ID
	if m.inFront == screen.Chain {
		only = m.front().Selected().Lock
	}
	top, lost := d.lostHolds(only)
	passing, seen := d.findings(only)
	top = slices.Concat(openNow(to, only), top, passing)
	if only == (inspect.ID{}) {
		top = append(top, d.passingLocks(from, to)...)
	}
	if began != "" {
		top = slices.Insert(top, 0, began)
	}
	now := m.now
	times := func(change *inspect.Difference, f *inspect.Finding, kind inspect.EventKind) string {
		if t := seen[found{change.Backend, change.Lock, f.Key(), kind}]; !t.IsZero() {
			return describe.When(t, now)
		}
		return ""
	}
	return m.Command(0, func(context.Context) tea.Msg {
		list, skipped := inspect.Differences(from, to)
		all := only == inspect.ID{}
		list = slices.DeleteFunc(list, func(c inspect.Difference) bool {
			return !all && c.Lock != only || all && lab.Temporary(c.Lock.Path)
		})
		skipped = slices.DeleteFunc(skipped, func(b inspect.NotCompared) bool { return !all && b.Backend != only.Backend })
		for i := range list { // lost holds are already at the top
			list[i].Ended = slices.DeleteFunc(list[i].Ended, func(c *inspect.Contender) bool {
				return slices.Contains(lost, hold{list[i].Lock, c.Name})
			})
		}
		head, lines := describe.Differences(list, skipped, all, times)
		lines = slices.Concat(top, lines)
		if only != (inspect.ID{}) {
			lines = slices.Insert(lines, 0, "Only "+only.String()+"; on the lock list, D compares all locks.")
		}
		return comparedMsg{d.generation, head, lines}
	})
}

// hold is an entry of a lock.
type hold struct {
	lock inspect.ID
	name inspect.Untrusted
}

// lostHolds lists the holds that ended without a release, the newest first. They come before the
// other changes, which show only that they ended.
func (d *comparing) lostHolds(only inspect.ID) (lines []string, holds []hold) {
	for _, e := range slices.Backward(d.events.Until(d.to).List) {
		lost := e.Kind == inspect.EventForced || e.Kind == inspect.EventExpired
		if !lost || d.before(e.At) || only != (inspect.ID{}) && e.Lock != only {
			continue
		}
		if len(lines) == lostShown {
			return append(lines, "  and more: see events, kind=trouble"), holds
		}
		if lines == nil {
			lines = []string{"", "holds that the holder did not release"}
		}
		lines = append(lines, fmt.Sprintf("  %s  %-7s  %s  %s",
			describe.When(e.At, d.now), describe.EventKind(e.Kind), e.Lock, e.Contender.Who().Cut(whoShown)))
		holds = append(holds, hold{e.Lock, e.Contender.Name})
	}
	if lines == nil {
		lines = []string{"No hold was seen to expire or be forced."}
	}
	return lines, holds
}

// before reports whether an event came before the first moment. A moment reached from an event is a
// step after it.
func (d *comparing) before(at time.Time) bool { return at.Before(d.from.Add(-2 * inspect.PastStep)) }

// openNow counts the findings at the second moment, whenever they were reported, and lists the
// worst ones.
func openNow(s *inspect.Snapshot, only inspect.ID) (lines []string) {
	var open [3][]string // critical findings, warnings and infos
	muted := 0
	add := func(where string, list []inspect.Finding) {
		for _, f := range list {
			level := slices.Index([]inspect.Severity{inspect.Critical, inspect.Warning, inspect.Info}, f.Severity)
			if f.Muted != nil {
				muted++
			} else if level >= 0 {
				line := fmt.Sprintf("  %-8s  %s  %s", f.Severity, where, describe.Printable(f.Rule))
				open[level] = append(open[level], line)
			}
		}
	}
	for _, b := range s.Backends {
		if only == (inspect.ID{}) {
			add("backend "+describe.Printable(b.Name), b.Findings)
		}
	}
	for l := range s.Locks() {
		if only == (inspect.ID{}) || l.ID == only {
			add(l.ID.String(), l.Findings)
		}
	}
	head := fmt.Sprintf("Open now: %d critical, %s, %d info, %d muted (f lists them).",
		len(open[0]), describe.Count(len(open[1]), "warning"), len(open[2]), muted)
	all := slices.Concat(open[0], open[1])
	return append([]string{head}, all[:min(len(all), lostShown)]...)
}

// found identifies a finding and a kind of event on a lock, or on a backend if lock is zero.
type found struct {
	backend string
	lock    inspect.ID
	key     string // Finding.Key
	kind    inspect.EventKind
}

// findings lists the findings that were reported and cleared between the two moments. last has the
// time of the last event of each found.
func (d *comparing) findings(only inspect.ID) (passing []string, last map[found]time.Time) {
	last = make(map[found]time.Time)
	reported, times, lines := make(map[found]bool), make(map[found]int), make(map[found]string)
	for _, e := range d.events.Until(d.to).List {
		if e.Finding == nil || d.before(e.At) || only != (inspect.ID{}) && e.Lock != only {
			continue
		}
		f, where := found{e.Lock.Backend, e.Lock, e.Finding.Key(), e.Kind}, e.Lock.String()
		if e.Lock == (inspect.ID{}) {
			f.backend, where = e.Backend.Name, "backend "+describe.Printable(e.Backend.Name)
		}
		last[f] = e.At
		f.kind = inspect.EventFinding
		switch {
		case e.At.Before(d.from): // the first moment may show it
		case e.Kind == inspect.EventFinding:
			reported[f] = true
		case reported[f]:
			times[f]++
			lines[f] = fmt.Sprintf("  %s  cleared  %s  %s", describe.When(e.At, d.now), where, describe.Printable(e.Finding.Rule))
			delete(reported, f)
		}
	}
	clearedAt := func(f found) time.Time {
		f.kind = inspect.EventCleared
		return last[f]
	}
	for _, f := range slices.SortedFunc(maps.Keys(lines), func(a, b found) int {
		return cmp.Or(clearedAt(a).Compare(clearedAt(b)), strings.Compare(lines[a], lines[b]))
	}) {
		if times[f] > 1 {
			lines[f] += fmt.Sprintf(", %d times", times[f])
		}
		passing = append(passing, lines[f])
	}
	return newest("findings that came and went", passing), last
}

// passingLocks lists the locks that came and went between two snapshots.
func (d *comparing) passingLocks(from, to *inspect.Snapshot) (lines []string) {
	came := make(map[inspect.ID]time.Time)
	for _, e := range d.events.Until(d.to).List {
		kept := from.Lock(e.Lock) != nil || to.Lock(e.Lock) != nil
		if kept || e.At.Before(d.from) || lab.Temporary(e.Lock.Path) {
			continue
		}
		switch at := came[e.Lock]; {
		case e.Kind == inspect.EventAppeared:
			came[e.Lock] = e.At
		case e.Kind == inspect.EventGone && e.Contender == nil && !at.IsZero():
			lines = append(lines, fmt.Sprintf("  %s to %s  %s", describe.When(at, d.now), describe.When(e.At, d.now), e.Lock))
		}
	}
	return newest("locks that came and went", lines)
}

// newest puts a title above the last lines, if there are any.
func newest(title string, lines []string) []string {
	if lines == nil {
		return nil
	}
	if over := len(lines) - lostShown; over > 0 {
		lines = append(lines[over:], "  and earlier ones: see events")
	}
	return slices.Insert(lines, 0, "", title)
}

// lostShown limits the lines of each list above the changes. whoShown limits the cells of holders.
const lostShown, whoShown = 10, 48

// comparedMsg carries the changes to the dialog of its generation.
type comparedMsg struct {
	generation int
	head       string
	lines      []string
}

// leavesComparison reports whether a key closes the comparison to open a screen, the filter, the
// palette or help.
func leavesComparison(m *Model, key string) bool {
	_, comparing := m.top().(*comparing)
	opens := slices.ContainsFunc(m.goToActions(), func(a screen.Action) bool { return slices.Contains(a.Keys, key) })
	return comparing && (opens || slices.Contains([]string{"H", "/", ":", "?", "f1"}, key))
}

// comparing shows how the locks changed from one moment to another.
type comparing struct {
	*world
	from, to   time.Time
	generation int
	head       string
	lines      []string
	// all are the lines laid out for a width; rows of them are visible.
	all                 []widget.Line
	width, widest, rows int
	text                widget.Scroller
}

// Update scrolls, and closes the dialog on esc, q, enter and D.
func (d *comparing) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case comparedMsg:
		if msg.generation == d.generation {
			d.head, d.lines, d.width = msg.head, msg.lines, 0
		}
	case tea.MouseWheelMsg:
		d.scroll(screen.Wheel(msg))
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc", "q", "enter", "D":
			return nil, true
		}
		_, _ = screen.Press(d, screen.Moves(d.scroll, func() int { return d.rows }), msg.String())
	}
	return nil, false
}

func (d *comparing) scroll(by int) { d.text.Scroll(by, len(d.all), d.rows) }

// Actions are the dialog's keys.
func (d *comparing) Actions() []screen.Action {
	list := []screen.Action{{Shown: "esc", Hint: "close"}}
	if len(d.all) > d.rows {
		list = append(list, screen.Action{Shown: "up/down", Hint: "scroll"})
	}
	return list
}

// SetSize lays the lines out.
func (d *comparing) SetSize(width, height int) {
	if width -= 4; width != d.width {
		d.width, d.widest, d.all = width, 0, nil
		for _, line := range d.lines {
			d.all = append(d.all, d.laid(line)...)
		}
		for _, l := range d.all {
			d.widest = max(d.widest, l.Width())
		}
	}
	d.rows = max(1, height-3)
	d.scroll(0)
}

// laid wraps a line, and indents the rest of a long one.
func (d *comparing) laid(line string) []widget.Line {
	t := d.theme
	line = t.Glyphs.Translate(line)
	style := t.Text
	if !strings.HasPrefix(line, " ") {
		style = t.Strong
	}
	if ansi.StringWidth(line) <= d.width {
		return []widget.Line{{{line, style}}}
	}
	var lines []widget.Line
	indent := "  "
	for _, part := range widget.Wrap(line, d.width-2*len(indent), 4, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{indent + part, style}})
		indent = "    "
	}
	return lines
}

// View shows the changes, and the two moments.
func (d *comparing) View(_, height int) string {
	t, now := d.theme, d.Clock().Local()
	head := widget.Line{{"Comparing" + t.Glyphs.Ellipsis, t.Muted}}
	if d.head != "" {
		head = widget.Line{{describe.Sentence(d.head), t.Strong}}
	}
	head = head.Add(t.Muted, fmt.Sprintf("  from %s to %s", describe.When(d.from, now), describe.When(d.to, now)))
	lines, width := d.all[min(d.text.Top, len(d.all)):], max(d.widest, head.Width())
	if more := len(lines) - d.rows; more > 0 {
		note := fmt.Sprintf("%s %s", t.Glyphs.Down, describe.Count(more+1, "more line"))
		lines = append(lines[:d.rows-1:d.rows-1], widget.Line{{note, t.Waiting}})
	}
	return widget.Box(t, append([]widget.Line{head}, lines...), min(width, d.width), height, false)
}
