package tui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// clientsLayout is where the panes of the screen are.
type clientsLayout struct {
	tableWidth, tableTop, tableRows             int
	left, paneWidth, entriesTop, entryRows, top int // of the selected client's pane
	details                                     []line
}

func (s *clients) layout() clientsLayout {
	g := clientsLayout{tableWidth: s.width, tableTop: 2, tableRows: max(1, s.height-2), paneWidth: s.width}
	r := s.row()
	if r == nil {
		return g
	}
	if s.width >= besideWidth {
		g.paneWidth = max(74, s.width*2/5)
		g.tableWidth = s.width - 3 - g.paneWidth
		g.left, g.top = g.tableWidth+3, 1
		g.details = s.details(r, g.paneWidth)
	} else {
		g.tableRows = rowsAbove(len(s.shown), s.height-2)
		g.top = g.tableTop + g.tableRows
		g.details = append([]line{section(s.Theme(), s.width, "what it holds and waits for")}, s.details(r, g.paneWidth)...)
	}
	g.entriesTop = g.top + len(g.details) + 1
	g.entryRows = max(1, s.height-g.entriesTop)
	return g
}

func (s *clients) rows() int      { return s.layout().tableRows }
func (s *clients) entryRows() int { return s.layout().entryRows }

func (s *clients) Sight() (at, of, rows int) {
	if s.graphing {
		return 0, 0, 0 // its lines are not all rows
	}
	return s.table.at, len(s.shown), s.rows()
}

func (s *clients) View() string {
	if s.graphing {
		return s.graphView()
	}
	t, g := s.Theme(), s.layout()
	table := []line{s.header(clientColumns(g.tableWidth), g.tableWidth)}
	from, to := s.table.sight(len(s.shown), g.tableRows)
	for i, r := range s.shown[from:to] {
		table = append(table, s.clientRow(r, g.tableWidth, from+i == s.table.at))
	}
	if len(s.shown) == 0 {
		table = append(table, s.emptyLines()...)
	}
	var pane []line
	if r := s.row(); r != nil {
		pane = append(pane, g.details...)
		if len(r.entries) > 0 {
			pane = append(pane, s.header(entryColumns(), g.paneWidth))
		}
		from, to := s.entries.sight(len(r.entries), g.entryRows)
		for i, e := range r.entries[from:to] {
			pane = append(pane, s.entryRow(e, g.paneWidth, from+i == s.entries.at))
		}
	}
	summary := s.summary().render(s.width, t.Glyphs.Ellipsis, nil)
	if g.left == 0 {
		return summary + "\n" + sheet(s.Theme(), append(table, pane...), s.width, s.height-1)
	}
	height := s.height - 1
	wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", height), "\n")
	return summary + "\n" + lipgloss.JoinHorizontal(lipgloss.Top, sheet(t, table, g.tableWidth, height), wall, sheet(t, pane, g.paneWidth, height))
}

func (s *clients) header(columns []column, width int) line {
	t := s.Theme()
	return append(line{{"   ", t.Header}}, titles(columns, lay(columns, width-margin-1), t.Header)...)
}

// clientColumns are those of a table of some width.
func clientColumns(width int) []column {
	session, server := 0, 0
	if width < 116 {
		session = never
	}
	if width < 136 {
		server = never
	}
	return []column{
		{title: "CLIENT", middle: true, width: 12, grow: 5, most: 30},
		{title: "ADDRESS", middle: true, width: 15, grow: 2, most: 21},
		{title: "SESSION", width: 18, from: session},
		{title: "SERVER", middle: true, width: 16, grow: 1, most: 22, from: server},
		{title: "CONTACT", width: 7, right: true, from: 84},
		{title: "TIMEOUT", width: 7, right: true, from: 118},
		{title: "EXPIRES", width: 7, right: true, from: 96},
		{title: "HOLDS", width: 5, right: true},
		{title: "WAITS", width: 5, right: true},
		{title: "LONGEST", width: 7, right: true},
		{title: "BLOCKS", width: 6, right: true},
		{title: "SIGN", width: 8},
	}
}

func (s *clients) clientRow(r *clientRow, width int, selected bool) line {
	t := s.Theme()
	columns := clientColumns(width)
	l := line{{" ", t.Text}, s.clientSign(r), {" ", t.Text}}
	if selected {
		l[0] = span{t.Glyphs.Cursor, t.Holding}
	}
	l = append(l, join(columns, lay(columns, width-margin-1), s.clientCells(r), t.Glyphs.Ellipsis)...)
	if selected {
		return l.over(width, selectedStyle(s.Theme(), !s.inEntries))
	}
	return l
}

func (s *clients) clientSign(r *clientRow) span {
	t := s.Theme()
	switch {
	case r.ring:
		return span{t.Glyphs.Critical, t.Critical}
	case r.dead:
		return span{t.Glyphs.Warning, t.Warning}
	case r.idle:
		return span{t.Glyphs.Free, t.Free}
	case r.holds > 0:
		return span{t.Glyphs.Holding, t.Holding}
	default:
		return span{t.Glyphs.Waiting, t.Waiting}
	}
}

func (s *clients) clientCells(r *clientRow) []line {
	t := s.Theme()
	none := line{{t.Glyphs.Dash, t.Faint}}
	number := func(n int) line {
		if n == 0 {
			return none
		}
		return line{{fmt.Sprint(n), t.Text}}
	}
	name, address := line{{r.name, t.Text}}, line(nil) // a name without an address may run on
	if at := describe.Client(&r.owner); at != "" && at != r.name {
		address = line{{at, t.Muted}}
	}
	id, server, contact, timeout, expires, longest, signs := none, none, none, none, none, none, line(nil)
	if r.owner.Session != 0 {
		id = line{{inspect.SessionID(r.owner.Session), t.Muted}}
	}
	if r.owner.Session != 0 && !r.idle {
		contact, expires = line{{t.Glyphs.Unknown, t.Unknown}}, line{{t.Glyphs.Unknown, t.Unknown}}
	}
	if r.owner.Server != "" {
		server = line{{describe.Printable(r.owner.Server), t.Muted}}
	}
	if d, ok := s.silence(r); ok {
		contact = line{{describe.Seconds(d), t.Text}}
	}
	if d := r.timeout(); d > 0 {
		timeout = line{{describe.Seconds(d), t.Muted}}
	}
	if left, ok := s.expiresIn(r); ok && (left >= time.Second || r.owner.Session == 0) { // less looks like an alarm, and is none
		expires = line{{t.Glyphs.AtLeast, t.Muted}, {describe.Seconds(left), t.Text}}
		if r.owner.Session == 0 {
			expires = expires[1:]
		}
	}
	if !r.oldest.IsZero() {
		longest = line{{describe.Seconds(s.Now().Sub(r.oldest)), t.Text}}
	} else if r.waits > 0 {
		longest = line{{t.Glyphs.Unknown, t.Unknown}}
	}
	switch {
	case r.ring:
		signs = line{{"deadlock", t.Critical}}
	case r.dead:
		signs = line{{"ghost", t.Warning}}
	case r.idle:
		signs = line{{"idle", t.Muted}}
	}
	return []line{name, address, id, server, contact, timeout, expires, number(r.holds), number(r.waits), longest, number(r.blocks), signs}
}

// timeout is the session's, as negotiated; 0 when unknown.
func (r *clientRow) timeout() time.Duration { return max(r.owner.SessionTimeout, r.session.Timeout) }

// silence is how long ago the session's server last heard of the client, as of a reading that grows old: past the
// session's timeout it does not say that the client is gone, and is not known any more.
func (s *clients) silence(r *clientRow) (time.Duration, bool) {
	if !r.known || r.session.LastContact.IsZero() {
		return 0, false
	}
	d := max(0, s.Now().Sub(r.session.LastContact))
	return d, d < r.timeout() || r.dead
}

// expiresIn is how long the session lasts at least, or how long until the first of the process' keys runs out.
func (s *clients) expiresIn(r *clientRow) (time.Duration, bool) {
	if r.owner.Session == 0 {
		return max(0, r.expires.Sub(s.Now())), !r.expires.IsZero()
	}
	d, ok := s.silence(r)
	return r.timeout() - d, ok && d < r.timeout()
}

// entryColumns are those of what a client holds and waits for.
func entryColumns() []column {
	return []column{
		{title: "STATE", width: 9},
		{title: "LOCK", middle: true, width: 20, grow: 5, most: 60},
		{title: "FOR", width: 7, right: true},
		{title: "BLOCKS", width: 6, right: true},
		{title: "BEFORE IT", middle: true, width: 16, grow: 4, most: 40},
	}
}

func (s *clients) entryRow(e inspect.Entry, width int, selected bool) line {
	t, c := s.Theme(), e.Contender
	mark, word := contenderSign(t, c)
	if describe.LevelOf(e.Lock) == describe.LevelCritical {
		mark = span{t.Glyphs.Critical, t.Critical}
	}
	none := line{{t.Glyphs.Dash, t.Faint}}
	since, blocks, ahead := line{{t.Glyphs.Unknown, t.Unknown}}, none, none
	if held := agesOf(s).Held(e.Lock, c); c.State == inspect.Holding && held.Known != describe.Unbounded {
		since = line{{t.Glyphs.Put(held.Known.Sign()), t.Muted}, {describe.Seconds(held.Duration), t.Text}}
	} else if d, ok := s.Snapshot().Age(e.Lock, c.Since, s.Now()); ok && c.State != inspect.Holding {
		since = line{{describe.Seconds(d), t.Text}}
	}
	if c.BlockedBelow > 0 {
		blocks = line{{fmt.Sprint(c.BlockedBelow), t.Text}}
	}
	if b := before(e); c.State != inspect.Holding && b != nil {
		ahead = line{{describe.Owner(b), t.Text}}
		if b.State != inspect.Holding {
			ahead = ahead.add(t.Muted, " (waits too)")
		}
	} else if c.State != inspect.Holding {
		ahead = line{{"not known", t.Unknown}}
	}
	lock := line{{describe.Printable(e.Lock.ID.Backend) + ":", t.Muted}, {inspect.Escape(e.Lock.ID.Path), t.Text}}
	columns := entryColumns()
	l := line{{" ", t.Text}, mark, {" ", t.Text}}
	if selected {
		l[0] = span{t.Glyphs.Cursor, t.Holding}
	}
	l = append(l, join(columns, lay(columns, width-margin-1), []line{{{word, mark.style}}, lock, since, blocks, ahead}, t.Glyphs.Ellipsis)...)
	if selected {
		return l.over(width, selectedStyle(s.Theme(), s.inEntries))
	}
	return l
}

// details are what is known of a client.
func (s *clients) details(r *clientRow, width int) []line {
	t, o := s.Theme(), &r.owner
	mark := s.clientSign(r)
	lines := facts(s.Theme(), width, span{mark.text + " ", mark.style}, r.name, counted("holds", r.holds), counted("waits for", r.waits), counted("blocks", r.blocks), s.through(r))
	if r.ring {
		lines = append(lines, line{{"   " + t.Glyphs.Critical + " it is in a deadlock: w draws it", t.Critical}})
	}
	if r.idle {
		lines = append(lines, line{{"   it holds nothing and waits for nothing any more", t.Muted}})
	}
	if r.dead {
		lines = append(lines, line{{"   " + t.Glyphs.Warning + " its client is most likely gone; the lock's chain has the finding", t.Warning}})
	}
	known := facts(s.Theme(), width, span{}, named("client", describe.Printable(o.Client)), named("via", describe.Printable(o.Server)), named("host", o.Host.String()),
		named("pid", o.PID.String()), named("thread", o.Thread.String()), named("instance", o.LibraryID.String()))
	if known[0].text() != "   " {
		lines = append(lines, known...)
	}
	if o.Session == 0 {
		return lines
	}
	timeout, contact, expires, since := "timeout unknown", "last contact unknown", "", ""
	if d := r.timeout(); d > 0 {
		timeout = "timeout " + describe.Seconds(d)
	}
	if d, ok := s.silence(r); ok {
		contact = "last contact " + describe.Seconds(d) + " ago"
	}
	if d, ok := s.expiresIn(r); ok && d >= time.Second {
		expires = "lasts " + describe.Seconds(d) + " at least"
	}
	if r.idle {
		timeout, contact = "", ""
	} else if d, ok := s.Snapshot().Age(r.entries[0].Lock, r.session.Established, s.Now()); ok && r.known {
		since = "established " + describe.Seconds(d) + " ago"
	}
	return append(lines, facts(s.Theme(), width, span{"session ", t.Muted}, inspect.SessionID(o.Session), timeout, contact, expires, since)...)
}

// through says how many of those that a client blocks wait in other locks than its own.
func (s *clients) through(r *clientRow) string {
	if r.through == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them in locks of others", r.through)
}

// counted is "holds 3", or empty when there are none.
func counted(what string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", what, n)
}

// summary counts the clients.
func (s *clients) summary() line {
	t, dot := s.Theme(), " "+s.Theme().Glyphs.Dot+" "
	if s.list == nil {
		return line{{" finding out who is who", t.Muted}}
	}
	left := line{{" " + describe.Count(len(s.list.rows), "client"), t.Strong}}
	if s.input.text() != "" {
		left = line{{fmt.Sprintf(" %d of %s", len(s.shown), describe.Count(len(s.list.rows), "client")), t.Strong}}
	}
	blocking, dead := 0, 0
	for _, r := range s.list.rows {
		if r.blocks > 0 {
			blocking++
		}
		if r.dead {
			dead++
		}
	}
	left = left.add(t.Muted, fmt.Sprintf("%s%d block others", dot, blocking))
	if n := len(s.list.graph.rings); n > 0 {
		left = left.add(t.Muted, dot).add(t.Critical, t.Glyphs.Critical+" "+describe.Count(n, "deadlock"))
	}
	if dead > 0 {
		left = left.add(t.Muted, dot).add(t.Warning, t.Glyphs.Warning+" "+describe.Count(dead, "ghost"))
	}
	if n := s.list.nameless; n > 0 {
		left = left.add(t.Muted, dot).add(t.Unknown, fmt.Sprintf("%s %d of unknown clients", t.Glyphs.Unknown, n))
	}
	right := line{{"sort: ", t.Muted}, {"blocks most ", t.Text}}
	if filter := s.input.view(t); filter != nil {
		right = filter
	}
	return spread(left, right, s.width, t.Glyphs.Ellipsis)
}

// emptyLines say why there is nobody to see.
func (s *clients) emptyLines() []line {
	text, more := "Finding out who is who"+s.Theme().Glyphs.Ellipsis, ""
	scanned, busy := scanned(s)
	switch {
	case s.list == nil && s.Arrived():
	case s.list != nil && len(s.list.rows) > 0:
		text, more = "No client matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		text, more = "Nothing can be shown.", describe.Printable(s.FeedError().Error())
	case len(s.Snapshot().Backends) == 0:
		text, more = "Connecting"+s.Theme().Glyphs.Ellipsis, "No server has answered yet."
	case s.list != nil && s.list.nameless > 0:
		text = "Nobody is known."
		more = fmt.Sprintf("%s, but what the servers have does not tell who is behind: no session, host or process.", describe.Count(s.list.nameless, "contender"))
	case busy:
		text, more = "No clients so far.", fmt.Sprintf("Still looking: %d directories and keys scanned.", scanned)
	case down(s) > 0:
		text, more = "No clients where we could look.", "A backend is down, see above: this does not say that nobody holds a lock."
	default:
		text, more = "No clients.", "Nobody holds a lock and nobody waits for one."
	}
	t := s.Theme()
	return []line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
}
