package clients

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// clientsLayout places the panes, in cells, for drawing and for clicks.
type clientsLayout struct {
	tableWidth, tableTop, tableRows             int
	left, paneWidth, EntriesTop, entryRows, top int // of the selected client's pane
	details                                     []widget.Line
}

func (s *Screen) Layout() clientsLayout {
	g := clientsLayout{tableWidth: s.width, tableTop: 2, tableRows: max(1, s.height-2), paneWidth: s.width}
	r := s.Row()
	if r == nil {
		return g
	}
	if s.width >= screen.SplitWidth {
		g.paneWidth = max(74, s.width*3/8)
		g.tableWidth = s.width - 3 - g.paneWidth
		g.left, g.top = g.tableWidth+3, 1
	} else {
		g.tableRows = widget.RowsAbove(len(s.shown), s.height-2)
		g.top = g.tableTop + g.tableRows
		g.details = []widget.Line{widget.Section(s.Theme(), s.width, "what it holds and waits for")}
	}
	if s.detailsOf != r.who && s.moved { // the pane keeps its height when another client becomes the first
		s.detailed, s.locks, s.blockers = widget.Widest{}, widget.Widest{}, widget.Widest{}
	}
	s.detailsOf = r.who
	g.details = append(g.details, s.detailed.Fill(s.details(r, g.paneWidth), s.height/2, s.Now())...)
	g.EntriesTop = g.top + len(g.details) + 1
	g.entryRows = max(1, s.height-g.EntriesTop)
	if g.left == 0 && len(r.entries) > g.entryRows {
		g.details[0] = widget.Section(s.Theme(), s.width, fmt.Sprintf("what it holds and waits for: %d of %d", g.entryRows, len(r.entries)))
	}
	return g
}

func (s *Screen) rows() int      { return s.Layout().tableRows }
func (s *Screen) entryRows() int { return s.Layout().entryRows }

func (s *Screen) ScrollPosition() (at, of, rows int) {
	if s.graphing {
		return 0, 0, 0 // not every line of the graph can be selected
	}
	return s.Table.At, len(s.shown), s.rows()
}

func (s *Screen) View() string {
	if s.graphing {
		return s.graphView()
	}
	t, g := s.Theme(), s.Layout()
	from, to := s.Table.Visible(len(s.shown), g.tableRows)
	columns := s.columns(s.shown[from:to], g.tableWidth)
	s.markSorted(columns)
	table := []widget.Line{s.header(columns, g.tableWidth)}
	for i, r := range s.shown[from:to] {
		table = append(table, s.clientRow(r, columns, g.tableWidth, from+i == s.Table.At))
	}
	if len(s.shown) == 0 {
		table = append(table, s.emptyLines()...)
	}
	var pane []widget.Line
	if r := s.Row(); r != nil {
		pane = append(pane, g.details...)
		from, to := s.entries.Visible(len(r.entries), g.entryRows)
		columns := s.entryColumns(r.entries[from:to], g.paneWidth)
		pane = append(pane, s.header(columns, g.paneWidth)) // even if it is idle, so that nothing moves
		for i, e := range r.entries[from:to] {
			pane = append(pane, s.entryRow(e, columns, g.paneWidth, from+i == s.entries.At))
		}
	}
	summary := s.summary().Render(s.width, t.Glyphs.Ellipsis, nil)
	if g.left == 0 {
		return summary + "\n" + widget.Sheet(s.Theme(), append(table, pane...), s.width, s.height-1)
	}
	height := s.height - 1
	wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", height), "\n")
	return summary + "\n" + lipgloss.JoinHorizontal(lipgloss.Top, widget.Sheet(t, table, g.tableWidth, height), wall,
		widget.Sheet(t, pane, g.paneWidth, height))
}

// markSorted puts an arrow next to the title of the column that sorts the table.
func (s *Screen) markSorted(columns []widget.Column) {
	mark := s.Theme().Glyphs.Down
	if s.order.reversed != (sortings[s.order.by].column == "CLIENT") {
		mark = s.Theme().Glyphs.Up
	}
	for i := range columns {
		if columns[i].Title == sortings[s.order.by].column {
			columns[i].Title += " " + mark
		}
	}
}

func (s *Screen) header(columns []widget.Column, width int) widget.Line {
	t := s.Theme()
	return append(widget.Line{{"   ", t.Header}},
		widget.Titles(columns, widget.Lay(columns, width-widget.Margin-1), t.Header)...)
}

// compactTable is the width below which the table only shows the clients' names, holds, waits and
// blocks.
const compactTable = 50

// clientColumns returns the columns of a table of the given width.
func clientColumns(width int) []widget.Column {
	session, server := 0, 0
	if width < 116 {
		session = widget.Never
	}
	if width < 136 {
		server = widget.Never
	}
	return []widget.Column{
		{Title: "CLIENT", Middle: true, Width: 12, Grow: 5, Most: 30},
		{Title: "ADDRESS", Middle: true, Width: 15, Grow: 2, Most: 21, From: compactTable},
		{Title: "SESSION", Width: 18, From: session},
		{Title: "SERVER", Middle: true, Width: 16, Grow: 1, Most: 22, From: server},
		{Title: "CONTACT", Width: 7, Right: true, From: 84},
		{Title: "TIMEOUT", Width: 7, Right: true, From: 118},
		{Title: "EXPIRES", Width: 7, Right: true, From: 96},
		{Title: "HOLDS", Width: 5, Right: true},
		{Title: "WAITS", Width: 5, Right: true},
		{Title: "LONGEST", Width: 7, Right: true, From: compactTable},
		{Title: "BLOCKS", Width: 6, Right: true},
		{Title: "STATUS", Width: 8, From: compactTable},
	}
}

// columns gives full names priority over sessions and servers, and names without the hosts'
// domain priority over addresses.
func (s *Screen) columns(rows []*clientRow, width int) []widget.Column {
	domain := describe.SharedDomain(s.Snapshot())
	for _, r := range rows {
		name := s.nameCell(r)
		s.names, s.brief = max(s.names, name.Width()), max(s.brief, name.LeaveOut(domain, 0).Width())
		if at := s.address(r); at != "" {
			s.addresses = max(s.addresses, lipgloss.Width(at))
		}
	}
	list := clientColumns(width)
	if at := slices.IndexFunc(list, func(c widget.Column) bool { return c.Title == sortings[s.order.by].column }); at > 0 {
		list[at].Width += 2
	}
	list[0].Domain, list[1].Domain = domain, domain
	list[0].Fit(s.names)
	list[1].Fit(max(1, s.addresses))
	width -= widget.Margin + 1
	for _, spared := range []int{3, 2, 5, 6, 4} {
		if widget.InFull(list, width, 0, 1) {
			return list
		}
		list[spared].From = widget.Never
	}
	if list[0].Fit(s.brief); !widget.InFull(list, width, 0) {
		list[1].From = widget.Never // the details show it
		widget.InFull(list, width, 0)
	}
	return list
}

// nameCell is a client's name, with a mark for our own.
func (s *Screen) nameCell(r *clientRow) widget.Line {
	return append(widget.Line{{r.Name, s.Theme().Text}}, screen.You(s.Theme(), &r.owner)...)
}

// address is a client's address, if its name does not contain it.
func (s *Screen) address(r *clientRow) string {
	if at := screen.Ages(s).Client(&r.owner); at != r.Name {
		return at
	}
	return ""
}

func (s *Screen) clientRow(r *clientRow, columns []widget.Column, width int, selected bool) widget.Line {
	t := s.Theme()
	l := widget.Line{{" ", t.Text}, s.clientSign(r), {" ", t.Text}}
	if selected {
		l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
	}
	l = append(l,
		widget.Join(columns, widget.Lay(columns, width-widget.Margin-1), s.clientCells(r), t.Glyphs.Ellipsis)...)
	if selected {
		return l.Over(width, widget.SelectedStyle(s.Theme(), !s.inEntries))
	}
	return l
}

func (s *Screen) clientSign(r *clientRow) widget.Span {
	t := s.Theme()
	switch {
	case r.inCycle:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	case r.dead:
		return widget.Span{t.Glyphs.Warning, t.Warning}
	case r.idle():
		return widget.Span{t.Glyphs.Free, t.Free}
	case r.holds > 0:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	default:
		return widget.Span{t.Glyphs.Waiting, t.Waiting}
	}
}

func (s *Screen) clientCells(r *clientRow) []widget.Line {
	t := s.Theme()
	none, unknown := widget.Line{{t.Glyphs.Dash, t.Faint}}, widget.Line{{t.Glyphs.Unknown, t.Unknown}}
	cell := func(known bool, style theme.Style, text string) widget.Line {
		if !known {
			return none
		}
		return widget.Line{{text, style}}
	}
	number := func(n int) widget.Line { return cell(n != 0, t.Text, fmt.Sprint(n)) }
	session := r.owner.Session
	name, address := s.nameCell(r), widget.Line(nil) // a name without an address may run on
	if at := s.address(r); at != "" {
		address = widget.Line{{at, t.Muted}}
	}
	id := cell(session != 0, t.Muted, inspect.SessionID(session))
	server := cell(r.owner.Server != "", t.Muted, describe.Printable(r.owner.Server))
	timeout := cell(r.timeout() > 0, t.Muted, describe.Seconds(r.timeout()))
	contact, expires := none, none
	if session != 0 && !r.idle() {
		contact, expires = unknown, unknown
	}
	if d, ok := s.silence(r); ok {
		contact = widget.Line{{describe.Seconds(d), t.Text}}
	}
	if left, ok := s.expiresIn(r); ok {
		expires = widget.Line{{t.Glyphs.AtLeast, t.Muted}, {describe.Seconds(left), t.Text}}
		if session == 0 {
			expires = expires[1:]
		}
	}
	longest := none
	if !r.oldest.IsZero() {
		longest = widget.Line{{describe.Age(s.Now().Sub(r.oldest)), t.Text}}
	} else if r.waits > 0 {
		longest = unknown
	}
	var signs widget.Line
	switch {
	case r.inCycle:
		signs = widget.Line{{"deadlock", t.Critical}}
	case r.dead:
		signs = widget.Line{{"ghost", t.Warning}}
	case r.idle():
		signs = widget.Line{{"idle", t.Muted}}
	}
	return []widget.Line{
		name, address, id, server, contact, timeout, expires, number(r.holds), number(r.waits), longest,
		number(r.blocks), signs,
	}
}

// timeout is the negotiated session timeout; 0 if unknown.
func (r *clientRow) timeout() time.Duration { return max(r.owner.SessionTimeout, r.session.Timeout) }

// silence is the time since the session's server last heard from the client. A reading older than
// the session's timeout proves nothing, so the result is then unknown.
func (s *Screen) silence(r *clientRow) (time.Duration, bool) {
	if !r.known || r.session.LastContact.IsZero() {
		return 0, false
	}
	d := max(0, s.Now().Sub(r.session.LastContact))
	return d, d < r.timeout() || r.dead
}

// expiresIn is the minimum remaining lifetime of the session, or the time to the first expiry of
// the process's keys. A session with less than a second left counts as unknown, since showing it
// would be a false alarm.
func (s *Screen) expiresIn(r *clientRow) (time.Duration, bool) {
	if r.owner.Session == 0 {
		return max(0, r.expires.Sub(s.Now())), !r.expires.IsZero()
	}
	d, ok := s.silence(r)
	left := r.timeout() - d
	return left, ok && left >= time.Second
}

// summary counts the clients.
func (s *Screen) summary() widget.Line {
	t := s.Theme()
	if s.list == nil {
		return widget.Line{{" identifying clients", t.Muted}}
	}
	all := describe.Count(max(len(s.list.rows), len(s.shown)), "client") // an idle client may only be in shown
	found := widget.Line{{fmt.Sprintf("%d of %s", len(s.shown), all), t.Strong}}
	if l := s.input.Prompt(t, "words: name, address, lock, deadlock...", found, s.width); l != nil {
		return l
	}
	left := widget.Line{{" " + all, t.Strong}}
	if s.input.Text() != "" {
		left = append(widget.Line{{" ", t.Text}}, found...)
	}
	blocking, dead := 0, 0
	for _, r := range s.shown {
		if r.blocks > 0 {
			blocking++
		}
		if r.dead {
			dead++
		}
	}
	cycles := len(s.list.graph.cycles)
	left = left.Part(s.width >= 60, t, t.Muted, fmt.Sprintf("%d blocking", blocking))
	left = left.Part(cycles > 0, t, t.Critical, t.Glyphs.Critical+" "+describe.Count(cycles, "deadlock"))
	left = left.Part(dead > 0, t, t.Warning, t.Glyphs.Warning+" "+describe.Count(dead, "ghost"))
	nameless := fmt.Sprintf("%s %d unidentified", t.Glyphs.Unknown, s.list.nameless)
	if s.width >= 100 {
		nameless += ", not listed"
	}
	left = left.Part(s.list.nameless > 0 && s.input.Text() == "", t, t.Unknown, nameless)
	left = widget.Whole(left, s.width)
	right := widget.Line{{"sort: ", t.Muted}, {s.order.String() + " ", t.Text}}
	asOf := t.Glyphs.Dot + " sorted " + describe.Clock(s.sorted)
	for _, note := range []string{asOf + ", new at bottom ", asOf + " "} {
		if !s.moved { // sorted again with each list
			break
		}
		if left.Width()+widget.Gap+right.Width()+ansi.StringWidth(note) <= s.width {
			right = right.Add(t.Muted, note)
			break
		}
	}
	filter := s.input.View(t, s.width)
	if filter != nil {
		right = filter
	}
	if s.order != (order{}) || filter != nil { // the user's choice stays in sight
		return widget.KeepRight(left, right, s.width, t.Glyphs.Ellipsis)
	}
	return widget.Spread(left, right, s.width, t.Glyphs.Ellipsis)
}

// emptyLines explain why the list is empty.
func (s *Screen) emptyLines() []widget.Line {
	text, more := "Identifying clients"+s.Theme().Glyphs.Ellipsis, ""
	scanned, busy := screen.Scanned(s)
	switch {
	case s.list == nil && s.Arrived():
	case s.list != nil && len(s.list.rows) > 0:
		text, more = "No client matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		text, more = "Nothing can be shown.", describe.OneLine(s.FeedError())
	case len(s.Snapshot().Backends) == 0:
		text, more = "Connecting"+s.Theme().Glyphs.Ellipsis, "No server has answered yet."
	case s.list != nil && s.list.nameless > 0:
		text = "No client is identified."
		more = fmt.Sprintf("%s without a session or other proof of identity.",
			describe.Count(s.list.nameless, "contender"))
	case busy:
		text, more = "No clients so far.", fmt.Sprintf("Still scanning: %d directories and keys so far.", scanned)
	case screen.Down(s) > 0:
		text = "No clients found in the parts that could be read."
		more = "A backend is down, see above: there may be holders on it."
	default:
		text, more = "No clients.", "No client holds or waits for a lock."
	}
	t := s.Theme()
	return []widget.Line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
}
