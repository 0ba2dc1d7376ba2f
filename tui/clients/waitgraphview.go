package clients

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// graphRow is a line of the drawn graph. A line about a lock can be selected.
type graphRow struct {
	widget.Line
	about screen.Subject
	key   string
}

// graphHeight is the number of visible lines of the graph, below the summary.
func (s *Screen) graphHeight() int { return max(1, s.height-1) }

// graphRows returns the drawn graph and the index of the selected row; -1 if none can be
// selected.
func (s *Screen) graphRows() ([]graphRow, int) {
	if s.list == nil {
		return nil, -1
	}
	rows := s.drawGraph(s.list.graph, s.width)
	at := slices.IndexFunc(rows, func(r graphRow) bool { return r.key != "" && r.key == s.node })
	if at < 0 {
		at = slices.IndexFunc(rows, func(r graphRow) bool { return r.key != "" })
	}
	return rows, at
}

// followGraph keeps the selected row visible, and the lines above the first one.
func (s *Screen) followGraph() {
	if !s.graphing {
		return
	}
	rows, at := s.graphRows()
	if at >= 0 {
		s.node = rows[at].key
	}
	if slices.IndexFunc(rows, func(r graphRow) bool { return r.key != "" }) == at {
		s.graph.To(0, len(rows), s.graphHeight())
	}
	s.graph.To(at, len(rows), s.graphHeight())
}

// moveInGraph moves the cursor by a number of selectable rows.
func (s *Screen) moveInGraph(by int) {
	rows, at := s.graphRows()
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for i := at; by > 0 && i >= 0 && i < len(rows); i += step {
		if i != at && rows[i].key != "" {
			at, by = i, by-1
		}
	}
	if at >= 0 {
		s.node = rows[at].key
	}
	s.followGraph()
	if step > 0 && at >= 0 && !slices.ContainsFunc(rows[at+1:], func(r graphRow) bool { return r.key != "" }) {
		s.graph.Top = max(s.graph.Top, len(rows)-s.graphHeight()) // the lines below the last one
		s.graph.Top = max(0, min(s.graph.Top, at))
	}
}

func (s *Screen) clickInGraph(y int) {
	rows, at := s.graphRows()
	if i := s.graph.Top + y - 1; y >= 1 && i < len(rows) && rows[i].key != "" {
		s.node = rows[i].key
		if i == at {
			s.enter()
		}
	}
}

func (s *Screen) graphView() string {
	t := s.Theme()
	rows, at := s.graphRows()
	from, to := s.graph.Visible(len(rows), s.graphHeight())
	lines := make([]widget.Line, 0, to-from+1)
	title := widget.Line{{" waits across locks", t.Strong}}
	right := widget.Line(nil)
	if n := len(rows); n > to || from > 0 {
		right = widget.Line{{
			fmt.Sprintf("%s%s lines %d to %d of %d ", t.Glyphs.Up, t.Glyphs.Down, from+1, to, n), t.Muted,
		}}
	}
	lines = append(lines, widget.Spread(title, right, s.width, t.Glyphs.Ellipsis))
	for i, r := range rows[from:to] {
		if from+i == at {
			first := widget.Span{strings.TrimPrefix(r.Line[0].Text, " "), r.Line[0].Style}
			l := append(widget.Line{{t.Glyphs.Cursor, t.Holding}, first}, r.Line[1:]...)
			lines = append(lines, l.Over(s.width, t.Selected))
			continue
		}
		lines = append(lines, r.Line)
	}
	return widget.Sheet(t, lines, s.width, s.height)
}

// drawGraph draws deadlocks and their meaning, then chains over several locks, then blind spots.
func (s *Screen) drawGraph(g *waitGraph, width int) []graphRow {
	t := s.Theme()
	d := drawing{Screen: s, width: width}
	for i := range g.cycles {
		d.cycle(&g.cycles[i], i)
	}
	for i := range g.trees {
		d.tree(&g.trees[i])
	}
	if len(g.cycles)+len(g.trees) == 0 {
		d.add(nil)
		_, busy := screen.Scanned(s)
		text := "No deadlock, and no holder that waits for another lock while others wait for its own."
		switch {
		case screen.Down(s) > 0:
			text = "No deadlock found in the parts that could be read; a backend cannot be reached."
		case busy:
			text = "No deadlock so far: still scanning."
		case len(g.blind) > 0:
			text = "No deadlock among the identified clients, and no holder among them that waits for another lock " +
				"while others wait for its own."
		}
		d.words(widget.Line{{"   ", t.Text}}, text, t.Text)
		d.add(nil)
	}
	for _, b := range g.blind {
		are, them, why := "are", "them", "no session"
		if b.unknown == 1 {
			are, them = "is", "it"
		}
		if of := s.Snapshot().Backend(b.backend); of != nil && of.Kind == inspect.Redis {
			why = "a key does not record its client"
		}
		d.words(widget.Line{{" " + t.Glyphs.Unknown + " ", t.Unknown}}, fmt.Sprintf(
			"%s: %d of %s %s unidentified (%s). Deadlocks involving %s cannot be detected.",
			describe.Printable(b.backend), b.unknown, describe.Count(b.of, "contender"), are, why, them), t.Unknown)
	}
	for _, b := range s.Snapshot().Backends {
		if b.State == inspect.Down {
			d.words(widget.Line{{" " + t.Glyphs.Unknown + " ", t.Unknown}},
				describe.Printable(b.Name)+" cannot be reached: this is its last known state.", t.Unknown)
		}
	}
	return d.rows
}

// drawing collects the rows of the graph.
type drawing struct {
	*Screen
	width int
	rows  []graphRow
}

func (d *drawing) add(l widget.Line) { d.rows = append(d.rows, graphRow{Line: l}) }

// words adds wrapped text after a lead.
func (d *drawing) words(lead widget.Line, text string, style theme.Style) {
	for _, part := range widget.Wrap(text, d.width-lead.Width()-1, 4, d.Theme().Glyphs.Ellipsis) {
		d.add(append(lead[:len(lead):len(lead)], widget.Span{part, style}))
		lead = widget.Line{{strings.Repeat(" ", lead.Width()), style}}
	}
}

// entry adds a row about an entry.
func (d *drawing) entry(l widget.Line, e inspect.Entry, key string) {
	about := screen.Subject{Lock: e.Lock.ID}
	if e.Contender != nil {
		about.Owner, _ = e.Contender.Identity(e.Lock.ID.Backend)
	}
	d.rows = append(d.rows, graphRow{l, about, key})
}

// rail is the line at the left that closes a ring.
type rail struct{ top, side, bottom, bar string }

func railOf(t *theme.Theme) rail {
	b := t.Glyphs.Border
	return rail{b.TopLeft, b.Left, b.BottomLeft, b.Top}
}

// cycle draws a cycle: each owner with its hold and its wait, and a rail from the last to the
// first.
func (d *drawing) cycle(r *cycle, number int) {
	t, signs, n := d.Theme(), railOf(d.Theme()), len(r.links)
	head := fmt.Sprintf("deadlock: %d clients wait for each other and are stuck until one gives up or loses its lock",
		n)
	mark, style := t.Glyphs.Critical, t.Critical
	if r.possibly {
		head = "possibly a " + head
		mark, style = t.Glyphs.Warning, t.Warning
	}
	d.words(widget.Line{{" " + mark + " ", style}}, head, style)
	for i, l := range r.links {
		lead := "   " + signs.side + "   "
		first := "   " + signs.side + " " + t.Glyphs.Breadcrumb + " "
		if i == 0 {
			first = "   " + signs.top + signs.bar + t.Glyphs.Breadcrumb + " "
		}
		name := widget.Line{{first, t.Critical}, {describe.Owner(l.wants.Contender), t.Strong}}
		if at := screen.Ages(d).Client(&l.wants.Contender.Owner); at != "" && at != describe.Owner(l.wants.Contender) {
			name = name.Add(t.Muted, "  "+at)
		}
		if client := d.client(l.wants); client != "" {
			name = name.Add(t.Muted, "  "+client)
		}
		if id := l.wants.Contender.Owner.Session; id != 0 {
			name = name.Add(t.Muted, "  session "+inspect.SessionID(id))
		}
		d.add(name)
		key := fmt.Sprintf("cycle %s %d ", r.links[0].has.Lock.ID, i)
		d.entry(append(widget.Line{{lead + "  ", t.Critical}}, d.hasWords(l)...), l.has, key+"has")
		if i == n-1 {
			lead = "   " + signs.bottom + signs.bar + signs.bar + signs.bar
		}
		d.entry(append(widget.Line{{lead + "  ", t.Critical}}, d.wantsWords(l, r.links[(i+1)%n])...), l.wants,
			key+"wants")
	}
	for _, text := range d.advice(r) {
		d.words(widget.Line{{"   ", t.Text}}, text, t.Text)
	}
	d.add(nil)
}

func (d *drawing) hasWords(l link) widget.Line {
	t, mark := d.Theme(), widget.Span{d.Theme().Glyphs.Holding, d.Theme().Holding}
	verb := " holds      "
	if !l.holds() {
		mark, verb = widget.Span{t.Glyphs.Waiting, t.Waiting}, " queues for "
	}
	since := d.since(l.has)
	return widget.Line{mark, {verb, mark.Style}, {d.path(l.has, since), t.Text}, {since, t.Muted}}
}

func (d *drawing) wantsWords(l, next link) widget.Line {
	t := d.Theme()
	since := d.since(l.wants)
	room := d.width - ringLead - len(", which  holds") - widget.TextWidth(l.wants.Lock.ID.String()+since)
	name := screen.Short(d, describe.Owner(next.wants.Contender), max(20, room))
	words := ", which " + name + " holds"
	if !next.holds() {
		words = ", behind " + name
	}
	return widget.Line{
		{t.Glyphs.Waiting, t.Waiting},
		{" waits for  ", t.Waiting},
		{d.path(l.wants, since+words), t.Text},
		{since, t.Muted},
		{words, t.Text},
	}
}

// client is the listed name of a client with several owners; empty for others.
func (d *drawing) client(e inspect.Entry) string {
	who, known := e.Contender.Identity(e.Lock.ID.Backend)
	if at := indexOf(d.list.rows, who); known && at >= 0 && len(d.list.rows[at].labels) > 1 {
		return "client " + d.list.rows[at].Name
	}
	return ""
}

// short is a contender's name, cut to half a line.
func (d *drawing) short(c *inspect.Contender) string {
	return screen.Short(d, describe.Owner(c), max(20, d.width/2))
}

// ringLead is the width of everything before a path: the rail, the sign and the verb.
const ringLead = 23

// path is a lock's name, cut to the cells that a ring's row leaves before rest.
func (d *drawing) path(e inspect.Entry, rest string) string {
	return text.Middle(e.Lock.ID.String(), max(12, d.width-ringLead-ansi.StringWidth(rest)), d.Theme().Glyphs.Ellipsis)
}

// since is the age of an entry's hold or wait; empty if unknown.
func (d *drawing) since(e inspect.Entry) string {
	c := e.Contender
	if c.State == inspect.Holding {
		if held := screen.Ages(d).Held(e.Lock, c); held.Known != describe.Unbounded {
			return " " + d.Theme().Glyphs.Translate(held.Known.Sign()) + describe.Age(held.Duration)
		}
		return ""
	}
	if a, ok := screen.Ages(d).Since(e.Lock, c); ok {
		return " " + describe.SignOf(a) + describe.Age(a.Duration)
	}
	return ""
}

// advice says how to break a cycle at the least cost.
func (d *drawing) advice(r *cycle) []string {
	text := "None of them holds a lock that could be released: stop one of these clients."
	if r.cheapest >= 0 {
		l := r.links[r.cheapest]
		why := fmt.Sprintf("It has the fewest waiters (%d).", l.has.Contender.BlockedBelow)
		if slices.ContainsFunc(r.links, func(o link) bool {
			return o.has != l.has && o.holds() && o.has.Contender.BlockedBelow == l.has.Contender.BlockedBelow
		}) {
			why = "It joined last."
		}
		name := d.short(l.has.Contender)
		text = fmt.Sprintf("Cheapest fix: stop %s, or release %s (%s in its chain). %s "+
			"A client whose lock is released keeps running until it notices.",
			name, l.has.Lock.ID, "x", why)
	}
	if r.tied != "" {
		text = "A ZooKeeper session and a Redis client count as one program because of: " + r.tied + ". " + text
	}
	out := []string{text, "Then make all clients take these locks in the same order."}
	if r.behind > 0 {
		out = append([]string{strings.Replace(describe.Waiting(r.behind), " ", " more ", 1) + " behind it."}, out...)
	}
	return out
}

// branch is the sign before a row. It differs if more rows depend on the same lock.
func (x *blockingTree) branch(i int, t *theme.Theme) string {
	for _, below := range x.rows[i+1:] {
		if below.depth <= x.rows[i].depth {
			if below.depth == x.rows[i].depth {
				return t.Glyphs.Branch
			}
			break
		}
	}
	return t.Glyphs.LastBranch
}

// tree draws a culprit and the locks that wait for it.
func (d *drawing) tree(x *blockingTree) {
	t := d.Theme()
	root := x.rows[0].lock
	culprit := &root.Holders[0]
	d.words(widget.Line{{" " + t.Glyphs.Warning + " ", t.Warning}},
		fmt.Sprintf("%s holds up %s across %s: look at it first", d.short(culprit),
			describe.Count(x.waiting, "contender"), describe.Count(len(x.rows)+x.leftOut, "lock")), t.Warning)
	if c := screen.Ages(d).Client(&culprit.Owner); c != "" && c != describe.Owner(culprit) {
		d.rows[len(d.rows)-1].Line = d.rows[len(d.rows)-1].Line.Add(t.Muted, "  "+c)
	}
	if client := d.client(inspect.Entry{Lock: root, Contender: culprit}); client != "" {
		d.add(widget.Line{{"   " + client, t.Muted}})
	}
	columns := []widget.Column{
		{Title: "LOCK", Middle: true, Width: 26, Grow: 5, Most: 70},
		{Title: "HOLDER", Middle: true, Width: 20, Grow: 3, Most: 40},
		{Title: "HELD", Right: true, Width: 8},
		{Title: "WAIT", Right: true, Width: len("1000 waiting")},
	}
	columns[1].Domain = describe.SharedDomain(d.Snapshot())
	widths := widget.Lay(columns, d.width-widget.Margin-1)
	for i, r := range x.rows {
		h := inspect.Entry{Lock: r.lock, Contender: &r.lock.Holders[0]}
		tree := ""
		if r.depth > 0 {
			tree = strings.Repeat(" ", 2*min(r.depth, widget.Deepest)-2) + x.branch(i, t)
		}
		cells := []widget.Line{
			{{tree, t.Faint}, {r.lock.ID.String(), t.Text}},
			{{describe.Owner(h.Contender), t.Holding}},
			{{strings.TrimSpace(d.since(h)), t.Text}},
			{{fmt.Sprintf("%d waiting", r.lock.Waiting()), t.Waiting}},
		}
		d.entry(append(widget.Line{{"   ", t.Text}}, widget.Join(columns, widths, cells, t.Glyphs.Ellipsis)...), h,
			fmt.Sprintf("tree %s %d", r.lock.ID, i))
	}
	if x.leftOut > 0 {
		d.add(widget.Line{{fmt.Sprintf("   and %s", describe.Count(x.leftOut, "more lock")), t.Muted}})
	}
	d.add(nil)
}
