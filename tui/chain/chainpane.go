package chain

import (
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Pane draws one lock: a summary, the verdict, findings, its rows (masters, contenders), details of
// the selected row, and the last grants.
type Pane struct {
	screen.Context
	// Unfocused is set while another pane has the focus. The next SetSize draws it.
	Unfocused     bool
	id            inspect.ID
	width, height int
	drawn         string
	rows          []chainRow
	list          widget.Scroller
	// selected is the key of the cursor's row. person is its contender; nil if the row has none.
	// The cursor stays on the first row until the user moves it, and then follows the person.
	selected string
	person   *inspect.Contender
	moved    bool
	widths   widths
	// heights keep the lines below the parts of the pane in place.
	heights heights
	// ListTop is the line of the view where the rows start. room is the number of rows that fit.
	ListTop, room int
	// lanes feed the strip below the rows. length is the time that the strip shows.
	lanes  lanes.Source
	length time.Duration
	// opened has the keys of the groups whose members are shown.
	opened map[string]bool
	// root is the root blocker, on another lock; nil if the holder waits for nothing that we know
	// of.
	root *inspect.Entry
}

// widths are column widths, in cells: names, names that are labels, clients, and watches or
// sessions. For a Redis lock, names are the values.
type widths struct{ names, labels, clients, watches, sessions widget.Widest }

// heights are the heights of the pane's parts, in lines: the head with its findings, the rows,
// the lanes and the details.
type heights struct{ head, rows, lanes, details widget.Widest }

// chainRow is a selectable row: a master's vote, a contender or a group of them.
type chainRow struct {
	vote      *inspect.Vote
	contender *inspect.Contender
	group     *group
	within    *group // the group that a contender is in
	gone      bool   // the contender has left the queue
	prefix    string // of the tree
}

// key identifies a row across snapshots.
func (r chainRow) key() string {
	switch {
	case r.vote != nil:
		return "master " + r.vote.Addr
	case r.group != nil:
		return r.group.key
	}
	return "contender " + r.contender.Name.Raw()
}

func NewPane(host screen.Context) *Pane {
	return &Pane{Context: host, lanes: lanes.NewSource(host), opened: make(map[string]bool)}
}

// Show switches to a lock.
func (p *Pane) Show(id inspect.ID) {
	if id != p.id {
		p.id, p.list, p.length, p.root = id, widget.Scroller{}, 0, nil
		p.selected, p.person, p.moved = "", nil, false
		p.widths, p.heights = widths{}, heights{}
		clear(p.opened)
	}
	p.refresh()
}

// Seek moves the cursor to a contender, or to an owner's place in the queue unless that is in a
// closed group.
func (p *Pane) Seek(about screen.Subject) {
	at := slices.IndexFunc(p.rows, func(r chainRow) bool {
		switch {
		case r.contender == nil:
			return false
		case about.Contender != "":
			return r.contender.Name == about.Contender
		}
		id, ok := r.contender.Identity(p.id.Backend)
		return ok && id == about.Owner
	})
	if at >= 0 {
		p.Move(at - p.list.At)
	}
}

// Hide releases the last drawn snapshot.
func (p *Pane) Hide() { p.lanes.Forget() }

// SetSize lays out and draws the pane.
func (p *Pane) SetSize(width, height int) {
	if width != p.width || height != p.height {
		p.heights = heights{}
	}
	p.width, p.height = width, height
	p.drawn = p.draw()
}

// refresh copies the lock from the snapshot.
func (p *Pane) refresh() {
	l := p.Snapshot().Lock(p.id)
	p.rows = nil
	if l == nil {
		return
	}
	for i := range l.Masters {
		p.rows = append(p.rows, chainRow{vote: &l.Masters[i]})
	}
	// The masters' values already show a single holder without visible waiters.
	if len(l.Masters) == 0 || l.Contention() > 1 || l.Kind == inspect.KindSemaphore {
		p.rows = append(p.rows, tree(l.Holders, l.Waiters, p.Theme().Glyphs.Branch, p.Theme().Glyphs.LastBranch)...)
	}
	p.rows = fold(p.rows, p.opened)
	p.moveTo(p.follow(l))
}

// Click selects the row at a line of the view; true if it was selected before.
func (p *Pane) Click(y int) bool {
	at := p.list.Top + y - p.ListTop
	if y < p.ListTop || at >= len(p.rows) || y-p.ListTop >= p.room {
		return false
	}
	again := at == p.list.At
	p.Move(at - p.list.At)
	return again
}

// ages formats ages as of the time up to which the lock is known.
func (p *Pane) ages(l *inspect.Lock) describe.View {
	v, _ := screen.AgesOf(p, l)
	return v
}

func (p *Pane) page() int { return max(1, p.height/2) }

// target returns the contender that a release is about: the selected one, or the holder when a
// master is selected. It is nil if none, as for a group.
func (p *Pane) target(l *inspect.Lock) *inspect.Contender {
	if p.list.At < len(p.rows) && (p.rows[p.list.At].contender != nil || p.rows[p.list.At].group != nil) {
		return p.rows[p.list.At].contender
	}
	if len(l.Holders) > 0 {
		return &l.Holders[0]
	}
	return nil
}

// Selected returns the lock, and the owner of the selected contender, or of the holder if a master
// is selected.
func (p *Pane) Selected() screen.Subject {
	about := screen.Subject{Lock: p.id}
	if l := p.Snapshot().Lock(p.id); l != nil {
		if c := p.target(l); c != nil {
			about.Owner, _ = c.Identity(p.id.Backend)
		}
	}
	return about
}

// Chosen returns the name of the contender that the user or a rewind chose; empty without one.
func (p *Pane) Chosen(id inspect.ID) inspect.Untrusted {
	if p.id != id || !p.moved || p.person == nil {
		return ""
	}
	return p.person.Name
}

func (p *Pane) NeedsFastTick() bool {
	l := p.Snapshot().Lock(p.id)
	if l == nil {
		return false
	}
	for i := range l.Masters {
		if left := l.Masters[i].ExpiresAt.Sub(p.Now()); left > 0 && left < time.Minute {
			return true // the gauges run down smoothly
		}
	}
	longest, waits := p.ages(l).LongestWait(l)
	held, holds := screen.HeldFor(p.ages(l), l)
	return describe.InTenths(screen.Expiry(l).Sub(p.Now())) || holds && describe.InTenths(held) || waits &&
		describe.InTenths(longest.Duration)
}

// View returns the whole pane, exactly its height in lines, as SetSize drew it.
func (p *Pane) View() string { return p.drawn }

func (p *Pane) draw() string {
	t := p.Theme()
	l := p.Snapshot().Lock(p.id)
	if l == nil {
		return p.finish(p.goneLines())
	}
	lines := append([]widget.Line{p.header(l)}, p.verdictLines(l)...)
	lines = p.heights.head.Fill(lines, p.height/2, p.Now())
	if p.height >= lowPane {
		lines = append(lines, nil)
	}
	below := p.heights.details.Fill(p.details(l), p.height, p.Now())
	columns, row := p.table(l)
	rows := p.heights.rows.KeepLines(len(p.rows), p.Now())
	below = below[:max(0, min(len(below), p.height-len(lines)-1-min(rows, leastRows)))]
	if len(below) <= 2 { // a heading with nothing below it
		below = nil
	}
	room := max(1, p.height-len(lines)-1-len(below))
	widths := widget.Lay(columns, p.width-widget.Margin-1)
	lines = append(lines, append(widget.Line{{"   ", t.Header}}, widget.Titles(columns, widths, t.Header)...))
	p.ListTop, p.room = len(lines), room
	lines = append(lines, p.heights.rows.Fill(p.rowLines(l, row, room), room, p.Now())...)
	lines = append(lines, below...)
	lines = append(lines, p.strip(p.height-len(lines))...)
	return p.finish(append(lines, p.grants(p.height-len(lines))...))
}

// leastRows is the number of rows that a short window still shows.
const leastRows = 4

// finish draws the pane around its list, whose lines are already drawn.
func (p *Pane) finish(lines []widget.Line) string {
	out := make([]string, 0, p.height)
	for _, l := range lines[:min(len(lines), p.height)] {
		out = append(out, l.Render(p.width, p.Theme().Glyphs.Ellipsis, nil))
	}
	for len(out) < p.height {
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

func (p *Pane) goneLines() []widget.Line {
	t := p.Theme()
	if p.id == (inspect.ID{}) {
		return []widget.Line{{{" No lock is selected.", t.Muted}}}
	}
	text := " This lock is gone: its servers no longer list it. It reappears here if it is created again."
	if b := p.Snapshot().Backend(p.id.Backend); b == nil || !b.FirstPass {
		text = " This lock has not been read yet."
	} else if p.Past() {
		text = " This lock was not known then."
	}
	return []widget.Line{{{" " + p.id.String(), t.Strong}}, nil, {{text, t.Text}}}
}

func (p *Pane) header(l *inspect.Lock) widget.Line {
	t, dot := p.Theme(), " "+p.Theme().Glyphs.Dot+" "
	left := widget.Line{{" " + l.ID.String(), t.Strong}, {"  " + describe.KindOf(l), t.Muted}}
	if l.Recipe != "" {
		left = left.Add(t.Muted, dot+l.Recipe).Add(t.Muted, " ("+string(l.Confidence)+")")
	}
	for len(left) > 1 && left.Width() > p.width {
		left = left[:len(left)-1]
	}
	of := "queue"
	if describe.QueueHidden(l) {
		of = "held"
	}
	trend := p.Trend(l.ID)
	if !slices.ContainsFunc(trend.Waiting, func(n float64) bool { return n >= 0 }) {
		return left // nothing is known about it yet, or any more
	}
	for _, cells := range []int{screen.TrendCells, screen.TrendCells / 3} { // as much as there is room for
		right := widget.Line{{
			of + ", last " + describe.Limit(time.Duration(cells)*screen.TrendStep) +
				screen.Peak(trend, cells, l.Waiting()) + " ",
			t.Muted,
		}}
		right = append(right, screen.Pulse(t, trend, cells).Align(cells, true, "")...).Add(t.Text, " ")
		if left.Width()+right.Width()+widget.Gap <= p.width {
			return widget.Spread(left, right, p.width, "")
		}
	}
	return left
}

// verdictLines returns the verdict and, below it, the findings with their advice.
func (p *Pane) verdictLines(l *inspect.Lock) []widget.Line {
	t, tail := p.Theme(), p.Theme().Glyphs.Ellipsis
	mark := screen.Sign(t, l)
	style := t.Text
	if r := describe.LevelOf(l); r == describe.LevelCritical || r == describe.LevelUnknown {
		style = mark.Style
	}
	var lines []widget.Line
	rows := 3 // names may be long, and the next waiter's name comes last
	if p.height < lowPane {
		rows = 2
	}
	for i, text := range widget.Wrap(screen.Verdict(p, l), p.width-4, rows, tail) {
		lead := widget.Span{"   ", t.Text}
		if i == 0 {
			lead = widget.Span{" " + mark.Text + " ", mark.Style}
		}
		lines = append(lines, widget.Line{lead, {text, style}})
	}
	lines = append(lines, p.rootLines()...)
	if p.height < lowPane {
		return lines
	}
	return append(lines, p.findings(l)...)
}

// lowPane is the height below which the rows replace the findings; the verdict's sign then shows
// that there are some.
const lowPane = 11

// grants lists the lock's last acquisitions that we saw, as many as fit.
func (p *Pane) grants(room int) []widget.Line {
	t, list := p.Theme(), p.Grants(p.id)
	if room < 3 || len(list) == 0 {
		return nil
	}
	lines := []widget.Line{nil, p.section("last acquisitions")}
	half := (p.width - len("   15:04:05  forced from  -> ")) / 2
	for i := len(list) - 1; i >= 0 && len(lines) < room; i-- {
		g := list[i]
		l := widget.Line{{"   " + describe.Clock(g.Seen) + "  ", t.Muted}}
		if to := screen.Short(p, g.To, half); g.From == "" {
			l = l.Add(t.Muted, "acquired by ").Add(t.Holding, to)
		} else {
			what := "handoff "
			if g.Forced {
				what = "forced from "
			}
			l = l.Add(t.Muted, what).Add(t.Text, screen.Short(p, g.From, half))
			l = l.Add(t.Muted, " "+t.Glyphs.Arrow+" ").Add(t.Holding, to)
		}
		lines = append(lines, l)
	}
	return lines
}

func (p *Pane) section(name string) widget.Line { return widget.Section(p.Theme(), p.width, name) }

// stripFrom is the height from which the last few minutes are drawn below the rows. roomForGrants
// is the room they leave for the last grants in a tall window.
const stripFrom, roomForGrants = 25, 7

// leastStrip is the shortest time that the strip shows. At the slow beat it then moves by a cell
// or two.
const leastStrip = time.Minute

// strip returns the timeline of the last few minutes, with as many lanes as fit.
func (p *Pane) strip(room int) []widget.Line {
	const frame = 3 // a blank line, the name, the axis
	if p.height < stripFrom || room < frame+2 {
		return nil
	}
	if n := len(p.Grants(p.id)); n > 0 && room > 2*roomForGrants {
		room -= min(roomForGrants, n+2)
	}
	all := p.lanes.Of(p.id)
	p.length = max(p.length, lanes.Fitting(all, p.Now(), leastStrip))
	v := lanes.NewView(&p.lanes, p.id, time.Time{}, p.length, p.width)
	shown := p.lanes.Folded(&v, v.In(all))
	if p.heights.lanes.KeepLines(len(shown), p.Now()) == 0 {
		return nil
	}
	at, selected := lanes.Present(shown), -1
	if p.list.At < len(p.rows) && p.rows[p.list.At].contender != nil {
		name := p.rows[p.list.At].contender.Name
		selected = slices.IndexFunc(shown, func(l *lanes.Lane) bool { return l.Present && l.Contender.Name == name })
	}
	if selected >= 0 {
		at = selected
	}
	lines := []widget.Line{nil, widget.Section(p.Theme(), p.width, "the "+describe.Last(p.length)), v.Header()}
	var list widget.Scroller
	list.Center(at, len(shown), room-frame)
	list.At = selected
	return append(lines, p.heights.lanes.Fill(v.List(shown, list, room-frame), room-frame, p.Now())...)
}
