package tui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/theme"
)

// backendsLayout is where the panes of the screen are.
type backendsLayout struct {
	tableWidth, rows               int
	left, top, paneWidth, paneRows int
}

func (s *backendsPage) layout() backendsLayout {
	if s.width >= besideWidth {
		g := backendsLayout{paneWidth: max(74, s.width*2/5), rows: max(1, s.height-2), top: 1, paneRows: max(1, s.height-1)}
		g.tableWidth = s.width - 3 - g.paneWidth
		g.left = g.tableWidth + 3
		return g
	}
	g := backendsLayout{tableWidth: s.width, paneWidth: s.width}
	g.rows = rowsAbove(len(s.rows), s.height-2)
	g.top = 2 + g.rows + 1
	g.paneRows = max(1, s.height-g.top)
	return g
}

func (s *backendsPage) View() string {
	t, g := s.Theme(), s.layout()
	table := []line{append(line{{"   ", t.Header}}, titles(serverColumns(), lay(serverColumns(), g.tableWidth-margin-1), t.Header)...)}
	from, to := s.table.sight(len(s.rows), g.rows)
	for i, r := range s.rows[from:to] {
		table = append(table, s.rowLine(r, g.tableWidth, from+i == s.table.at))
	}
	if len(s.rows) == 0 {
		table = append(table, s.emptyLines()...)
	}
	summary := spread(s.summary(), s.input.view(t), s.width, t.Glyphs.Ellipsis).render(s.width, t.Glyphs.Ellipsis, nil)
	details := s.details(g.paneWidth)
	shown := details[min(s.below, len(details)):min(len(details), s.below+g.paneRows)]
	if g.left > 0 {
		height := s.height - 1
		wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", height), "\n")
		return summary + "\n" + lipgloss.JoinHorizontal(lipgloss.Top, sheet(t, table, g.tableWidth, height), wall, sheet(t, shown, g.paneWidth, height))
	}
	if len(s.rows) > 0 {
		table = append(table, s.rule(g.paneRows, len(details)))
	}
	return summary + "\n" + sheet(t, append(table, shown...), s.width, s.height-1)
}

// rule stands above the details and says when there are more than are shown.
func (s *backendsPage) rule(rows, of int) line {
	t, name := s.Theme(), "details"
	if of > rows {
		name = fmt.Sprintf("details, lines %d to %d of %d: tab, then %s%s", s.below+1, min(of, s.below+rows), of, t.Glyphs.Up, t.Glyphs.Down)
	}
	l := section(s.Theme(), s.width, name)
	if s.inDetails {
		l[1].style = t.Strong
	}
	return l
}

func (s *backendsPage) summary() line {
	t, dot := s.Theme(), " "+s.Theme().Glyphs.Dot+" "
	servers, silent, findings := 0, 0, 0
	for _, b := range s.Snapshot().Backends {
		findings += len(b.Findings)
		for i := range b.Servers {
			servers++
			if b.Servers[i].State == inspect.ServerDown {
				silent++
			}
		}
	}
	l := line{{" " + describe.Count(len(s.Snapshot().Backends), "backend") + dot + describe.Count(servers, "server"), t.Strong}}
	if silent > 0 {
		l = l.add(t.Muted, dot).add(t.Critical, fmt.Sprintf("%s %d down", t.Glyphs.Critical, silent))
	}
	if findings > 0 {
		l = l.add(t.Muted, dot).add(t.Text, describe.Count(findings, "finding"))
	}
	return l
}

// emptyLines say why there is no backend to see.
func (s *backendsPage) emptyLines() []line {
	t := s.Theme()
	text, more := "Connecting"+t.Glyphs.Ellipsis, "No server has answered yet."
	switch {
	case len(s.Snapshot().Backends) > 0:
		text, more = "No server matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		text, more = "Nothing can be shown.", describe.Printable(s.FeedError().Error())
	}
	return []line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
}

func serverColumns() []column {
	return []column{
		{title: "SERVER", middle: true, width: 22, grow: 3, most: 44},
		{title: "STATE", width: 9},
		{title: "ROLE", width: 10},
		{title: "VERSION", width: 8, from: 90},
		{title: "ANSWERS", width: 8, right: true},
		{title: "CLOCK", width: 8, right: true},
		{title: "UP FOR", width: 6, right: true},
		{title: "NOTE", width: 22, grow: 4, most: 60, from: 100},
	}
}

func (s *backendsPage) rowLine(r serverRow, width int, selected bool) line {
	t := s.Theme()
	mark, cells := s.backendCells(r.backend)
	if r.server != nil {
		mark, cells = s.serverCells(r.server)
	}
	l := line{{" ", t.Text}, mark, {" ", t.Text}}
	if selected {
		l[0] = span{t.Glyphs.Cursor, t.Holding}
	}
	columns := serverColumns()
	l = append(l, join(columns, lay(columns, width-margin-1), cells, t.Glyphs.Ellipsis)...)
	if selected {
		return l.over(width, selectedStyle(s.Theme(), !s.inDetails))
	}
	return l
}

func (s *backendsPage) backendCells(b *inspect.Backend) (span, []line) {
	t := s.Theme()
	mark := backendSign(t, b.State)
	name := line{{describe.Printable(b.Name), t.Strong}, {"  " + string(b.Kind), t.Muted}}
	return mark, []line{name, {{string(b.State), mark.style}}, {{"by " + string(b.Mode), t.Text}}, nil, nil, nil, nil, {{s.brief(b), t.Muted}}}
}

// brief is a backend's load and findings in a few words.
func (s *backendsPage) brief(b *inspect.Backend) string {
	text := describe.PerSecond(describe.Load(b.Cost)) + " from us"
	if n := len(b.Findings); n > 0 {
		text += " " + s.Theme().Glyphs.Dot + " " + describe.Count(n, "finding")
	}
	return text
}

// serverSign is the glyph of a server's state and its style.
func serverSign(t *theme.Theme, v *inspect.Server) span {
	switch v.State {
	case inspect.ServerUp:
		return span{t.Glyphs.Holding, t.Holding}
	case inspect.ServerDown:
		return span{t.Glyphs.Critical, t.Critical}
	default:
		return span{t.Glyphs.Unknown, t.Unknown}
	}
}

func (s *backendsPage) serverCells(v *inspect.Server) (span, []line) {
	t := s.Theme()
	mark := serverSign(t, v)
	unknown := line{{t.Glyphs.Unknown, t.Unknown}}
	role, version, latency, clock, up := unknown, unknown, unknown, unknown, unknown
	if v.Role != "" {
		role = line{{describe.Printable(v.Role), t.Text}}
	}
	if v.Version != "" {
		version = line{{describe.Printable(v.Version), t.Text}}
	}
	if v.Latency >= 0 && v.State == inspect.ServerUp {
		latency = line{{describe.Millis(v.Latency), t.Text}}
	}
	if v.ClockKnown && v.State == inspect.ServerUp {
		clock = line{{offsetWords(v.ClockOffset), clockStyle(t, v.ClockOffset)}}
	}
	if !v.StartedAt.IsZero() && v.State == inspect.ServerUp {
		up = line{{describe.Seconds(s.Now().Sub(v.StartedAt)), t.Text}}
	}
	note := line(nil)
	if v.Error != "" {
		note = line{{describe.Printable(describe.Cause(v.Error, v.Addr)), mark.style}}
	}
	return mark, []line{{{"  ", t.Text}, {describe.Printable(v.Addr), t.Text}}, {{string(v.State), mark.style}}, role, version, latency, clock, up, note}
}

// skewed is from which a clock's offset is worth a warning, as the rule about it has it.
const skewed = time.Second

func clockStyle(t *theme.Theme, d time.Duration) lipgloss.Style {
	if d.Abs() > skewed {
		return t.Warning
	}
	return t.Text
}

// offsetWords is a clock's offset with its sign.
func offsetWords(d time.Duration) string {
	if d.Abs() < 10*time.Second {
		return fmt.Sprintf("%+d ms", d.Milliseconds())
	}
	if d < 0 {
		return "-" + describe.Age(-d)
	}
	return "+" + describe.Age(d)
}
