package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/text"
)

// chainPane draws one lock: what it is, the verdict, findings, its rows (masters, contenders), what is known of the
// selected one, and the last grants.
type chainPane struct {
	Context
	id            inspect.ID
	width, height int
	rows          []chainRow
	// top is the first row shown; cursor the selected one, selected what it is: the cursor follows it.
	top, cursor int
	selected    string
	// longest is the longest time to live seen of the lock's keys: the full length of the gauges.
	longest time.Duration
	// listTop is the line of the view where the rows start, room how many there is room for.
	listTop, room int
	// lanes are those of the strip below the rows, length the time that it shows.
	lanes  laneSource
	length time.Duration
	// opened are the groups of rows whose members are shown, by their key.
	opened map[string]bool
	// root is who blocks the lock at last, on another one; nil when the holder waits for nothing that we know.
	root *inspect.Entry
}

// chainRow is a selectable row: a master's vote, a contender or a group of them.
type chainRow struct {
	vote      *inspect.Vote
	contender *inspect.Contender
	group     *group
	within    *group // the group that a contender is in
	prefix    string // of the tree
}

// key tells rows apart from one snapshot to the next.
func (r chainRow) key() string {
	switch {
	case r.vote != nil:
		return "master " + r.vote.Addr
	case r.group != nil:
		return r.group.key
	}
	return "contender " + r.contender.Name.Raw()
}

func newChainPane(host Context) *chainPane {
	return &chainPane{Context: host, lanes: newLaneSource(host), opened: make(map[string]bool)}
}

// Show turns to a lock.
func (p *chainPane) Show(id inspect.ID) {
	if id != p.id {
		p.id, p.top, p.cursor, p.selected, p.length, p.longest, p.root = id, 0, 0, "", 0, 0, nil
		clear(p.opened)
	}
	p.Refresh()
}

func (p *chainPane) SetSize(width, height int) {
	p.width, p.height = width, height
}

// Refresh takes over the lock from the snapshot.
func (p *chainPane) Refresh() {
	l := p.Snapshot().Lock(p.id)
	p.rows = nil
	if l == nil {
		return
	}
	for i := range l.Masters {
		v := &l.Masters[i]
		p.rows = append(p.rows, chainRow{vote: v})
		if !v.ExpiresAt.IsZero() {
			p.longest = max(p.longest, v.ExpiresAt.Sub(l.ReadAt))
		}
	}
	// One holder that nobody is seen to wait for is what the masters' values tell already.
	if len(l.Masters) == 0 || l.Contention() > 1 || l.Kind == inspect.KindSemaphore {
		p.rows = append(p.rows, tree(l.Holders, l.Waiters, p.Theme().Glyphs.Branch, p.Theme().Glyphs.LastBranch)...)
	}
	p.rows = fold(p.rows, p.opened)
	if at := p.find(p.selected); at >= 0 {
		p.cursor = at
	}
	p.Move(0)
}

// Move moves the cursor.
func (p *chainPane) Move(by int) {
	p.cursor = max(0, min(p.cursor+by, len(p.rows)-1))
	p.selected = ""
	if p.cursor < len(p.rows) {
		p.selected = p.rows[p.cursor].key()
	}
}

// Click selects the row at a line of the view; true when it was selected before.
func (p *chainPane) Click(y int) bool {
	at := p.top + y - p.listTop
	if y < p.listTop || at >= len(p.rows) || y-p.listTop >= p.room {
		return false
	}
	again := at == p.cursor
	p.Move(at - p.cursor)
	return again
}

func (p *chainPane) page() int { return max(1, p.height/2) }

// Target is the contender that a release is about: the selected one, or the holder when a master is selected; nil
// when there is none, as for a group.
func (p *chainPane) Target(l *inspect.Lock) *inspect.Contender {
	if p.cursor < len(p.rows) && (p.rows[p.cursor].contender != nil || p.rows[p.cursor].group != nil) {
		return p.rows[p.cursor].contender
	}
	if len(l.Holders) > 0 {
		return &l.Holders[0]
	}
	return nil
}

// Selected is the lock and who is behind the selected contender, or behind the holder when a master is selected.
func (p *chainPane) Selected() subject {
	about := subject{lock: p.id}
	if l := p.Snapshot().Lock(p.id); l != nil {
		if c := p.Target(l); c != nil {
			about.owner, _ = c.Identity(p.id.Backend)
		}
	}
	return about
}

func (p *chainPane) Lively() bool {
	l := p.Snapshot().Lock(p.id)
	if l == nil {
		return false
	}
	for i := range l.Masters {
		if left := l.Masters[i].ExpiresAt.Sub(p.Now()); left > 0 && left < time.Minute {
			return true // the gauges run down smoothly
		}
	}
	longest, ok := agesOf(p).LongestWait(l)
	return tenths(p, l) || ok && describe.InTenths(longest)
}

// View is the whole pane, exactly its height in lines.
func (p *chainPane) View() string {
	t := p.Theme()
	l := p.Snapshot().Lock(p.id)
	if l == nil {
		return p.finish(p.goneLines())
	}
	lines := append([]line{p.header(l)}, p.verdictLines(l)...)
	lines = append(lines, nil)
	var below []line
	if details := p.details(l); len(details) > 0 {
		below = append([]line{nil}, details...)
	}
	columns, row := p.table(l)
	rows := min(len(p.rows), leastRows)
	below = below[:max(0, min(len(below), p.height-len(lines)-1-rows))]
	room := max(1, p.height-len(lines)-1-len(below))
	widths := lay(columns, p.width-margin-1)
	lines = append(lines, append(line{{"   ", t.Header}}, titles(columns, widths, t.Header)...))
	p.listTop, p.room = len(lines), room
	lines = append(lines, p.list(l, row, room)...)
	lines = append(lines, below...)
	lines = append(lines, p.strip(p.height-len(lines))...)
	return p.finish(append(lines, p.grants(p.height-len(lines))...))
}

// leastRows is how many rows of the list stay when the window is low.
const leastRows = 4

// finish draws the lines of the pane; those of the list are drawn already.
func (p *chainPane) finish(lines []line) string {
	out := make([]string, 0, p.height)
	for _, l := range lines[:min(len(lines), p.height)] {
		out = append(out, l.render(p.width, p.Theme().Glyphs.Ellipsis, nil))
	}
	for len(out) < p.height {
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

func (p *chainPane) goneLines() []line {
	t := p.Theme()
	if p.id == (inspect.ID{}) {
		return []line{{{" No lock is selected.", t.Muted}}}
	}
	return []line{
		{{" " + p.id.String(), t.Strong}},
		nil,
		{{" This lock is gone: its servers no longer list it. It comes back here when it does.", t.Text}},
	}
}

func (p *chainPane) header(l *inspect.Lock) line {
	t, dot := p.Theme(), " "+p.Theme().Glyphs.Dot+" "
	what := string(l.Kind)
	if l.Recipe != "" {
		what += dot + l.Recipe + " (" + string(l.Confidence) + ")"
	}
	return line{{" " + l.ID.String(), t.Strong}, {"  " + what, t.Muted}}
}

// verdictLines are the verdict and, below it, the findings with their advice.
func (p *chainPane) verdictLines(l *inspect.Lock) []line {
	t, tail := p.Theme(), p.Theme().Glyphs.Ellipsis
	mark := sign(t, l)
	style := t.Text
	if r := describe.LevelOf(l); r == describe.LevelCritical || r == describe.LevelUnknown {
		style = mark.style
	}
	var lines []line
	for i, text := range wrap(verdict(p, l), p.width-4, 2, tail) {
		lead := span{"   ", t.Text}
		if i == 0 {
			lead = span{" " + mark.text + " ", mark.style}
		}
		lines = append(lines, line{lead, {text, style}})
	}
	lines = append(lines, p.rootLines()...)
	return append(lines, p.findings(l)...)
}

// most findings are listed with all their advice, and of more this many.
const mostFindings, listedFindings = 3, 2

// findings are those of a lock, the worst first, with what to do. A low window has room for the worst one's advice only.
func (p *chainPane) findings(l *inspect.Lock) []line {
	t, tail := p.Theme(), p.Theme().Glyphs.Ellipsis
	found := slices.Clone(l.Findings)
	slices.SortStableFunc(found, func(a, b inspect.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	rest := 0
	if len(found) > mostFindings {
		found, rest = found[:listedFindings], len(found)-listedFindings
	}
	var lines []line
	for i, f := range found {
		s := severitySign(t, f.Severity)
		rule := describe.Printable(f.Rule)
		for j, text := range wrap(said(p.Theme(), f.Message), p.width-6-len(rule), 2, tail) {
			lead := line{{strings.Repeat(" ", 5+len(rule)), t.Text}}
			if j == 0 {
				lead = line{{" " + s.text + " " + rule + "  ", s.style}}
			}
			lines = append(lines, lead.add(t.Text, text))
		}
		if f.Advice != "" && (i == 0 || p.height >= roomy) {
			lines = append(lines, p.adviceLines(said(p.Theme(), f.Advice))...)
		}
	}
	if rest > 0 {
		lines = append(lines, line{{fmt.Sprintf("   and %s (lockscope doctor tells all)", describe.Count(rest, "more finding")), t.Muted}})
	}
	return lines
}

// adviceLines are what to do. Each command has lines of its own, that can be copied and pasted.
func (p *chainPane) adviceLines(advice string) []line {
	t, width := p.Theme(), p.width-6
	var lines []line
	for _, part := range describe.Phrases(advice) {
		texts, style := wrap(part.Text, width, 5, t.Glyphs.Ellipsis), t.Muted
		if part.Command {
			texts, style = wrapCommand(part.Text, width), t.Waiting
		}
		for _, text := range texts {
			lines = append(lines, line{{"     " + text, style}})
		}
	}
	return lines
}

// roomy is the height from which there is room for all that is known.
const roomy = 26

// grants are the last times that somebody got the lock while we looked, as many as there is room for.
func (p *chainPane) grants(room int) []line {
	t, list := p.Theme(), p.Grants(p.id)
	if room < 3 || len(list) == 0 {
		return nil
	}
	lines := []line{nil, p.section("last grants")}
	for i := len(list) - 1; i >= 0 && len(lines) < room; i-- {
		g := list[i]
		l := line{{"   " + g.seen.Format("15:04:05") + "  ", t.Muted}}
		if g.from == "" {
			l = l.add(t.Muted, "granted to ").add(t.Holding, text.Middle(g.to, 40, t.Glyphs.Ellipsis))
		} else {
			l = l.add(t.Muted, "handed over ").add(t.Text, text.Middle(g.from, 40, t.Glyphs.Ellipsis)).
				add(t.Muted, " "+t.Glyphs.Arrow+" ").add(t.Holding, text.Middle(g.to, 40, t.Glyphs.Ellipsis))
		}
		lines = append(lines, l)
	}
	return lines
}

func (p *chainPane) section(name string) line { return section(p.Theme(), p.width, name) }

// stripFrom is the height from which the last minutes are drawn below the rows, and what room they leave for the last
// grants where there is much.
const stripFrom, roomForGrants = 25, 7

// leastStrip is the shortest time that the strip shows: at the slow beat it moves by a cell or two.
const leastStrip = time.Minute

// strip is the timeline of the last minutes, as many lanes as there is room for.
func (p *chainPane) strip(room int) []line {
	const frame = 3 // a blank, the name, the axis
	if p.height < stripFrom || room < frame+2 {
		return nil
	}
	if n := len(p.Grants(p.id)); n > 0 && room > 2*roomForGrants {
		room -= min(roomForGrants, n+2)
	}
	all := p.lanes.of(p.id)
	p.length = max(p.length, fitting(all, p.Now(), leastStrip))
	v := newLaneView(&p.lanes, p.id, time.Time{}, p.length, p.width)
	shown := v.in(all)
	if len(shown) == 0 {
		return nil
	}
	at, selected := present(shown), -1
	if p.cursor < len(p.rows) && p.rows[p.cursor].contender != nil {
		name := p.rows[p.cursor].contender.Name
		selected = slices.IndexFunc(shown, func(l *lane) bool { return l.present && l.contender.Name == name })
	}
	if selected >= 0 {
		at = selected
	}
	lines := []line{nil, section(p.Theme(), p.width, "the last "+describe.Exact(p.length)), v.header()}
	return append(lines, v.list(shown, around(at, len(shown), room-frame), room-frame, selected)...)
}
