package backends

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// backendsLayout places the panes, in cells, for drawing and for clicks.
type backendsLayout struct {
	tableWidth, rows               int
	left, top, paneWidth, paneRows int
}

func (s *Screen) layout() backendsLayout {
	if s.width >= screen.SplitWidth {
		g := backendsLayout{
			paneWidth: max(74, s.width*2/5), rows: max(1, s.height-2), top: 1, paneRows: max(1, s.height-1),
		}
		g.tableWidth = s.width - 3 - g.paneWidth
		g.left = g.tableWidth + 3
		return g
	}
	g := backendsLayout{tableWidth: s.width, paneWidth: s.width}
	g.rows = widget.RowsAbove(len(s.rows), s.height-2)
	g.top = 2 + g.rows + 1
	g.paneRows = max(1, s.height-g.top)
	return g
}

func (s *Screen) View() string {
	t, g := s.Theme(), s.layout()
	columns := s.columns()
	table := []widget.Line{append(widget.Line{{"   ", t.Header}},
		widget.Titles(columns, widget.Lay(columns, g.tableWidth-widget.Margin-1), t.Header)...)}
	from, to := s.table.Visible(len(s.rows), g.rows)
	for i, r := range s.rows[from:to] {
		table = append(table, s.rowLine(r, g.tableWidth, from+i == s.table.At))
	}
	if len(s.rows) == 0 {
		table = append(table, s.emptyLines()...)
	}
	summary := s.summary().Render(s.width, t.Glyphs.Ellipsis, nil)
	details := s.details(g.paneWidth)
	above, end := s.text.Visible(len(details), g.paneRows)
	shown := details[above:end]
	if g.left > 0 {
		height := s.height - 1
		wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", height), "\n")
		return summary + "\n" + lipgloss.JoinHorizontal(lipgloss.Top, widget.Sheet(t, table, g.tableWidth, height),
			wall, widget.Sheet(t, shown, g.paneWidth, height))
	}
	if len(s.rows) > 0 {
		table = append(table, s.rule(g.paneRows, len(details)))
	}
	return summary + "\n" + widget.Sheet(t, append(table, shown...), s.width, s.height-1)
}

// rule returns the divider above the details. It says which of their lines are visible.
func (s *Screen) rule(rows, of int) widget.Line {
	t, name := s.Theme(), "details"
	if of > rows {
		name = fmt.Sprintf("details, lines %d to %d of %d: tab, then %s%s",
			s.text.Top+1, min(of, s.text.Top+rows), of, t.Glyphs.Up, t.Glyphs.Down)
		if s.width < 60 {
			name = fmt.Sprintf("details, line %d of %d: tab", s.text.Top+1, of)
		}
	}
	style := t.Muted
	if s.inDetails {
		style = t.Strong
	}
	return widget.Divider(t, s.width, name, style)
}

func (s *Screen) summary() widget.Line {
	t, dot := s.Theme(), " "+s.Theme().Glyphs.Dot+" "
	servers, silent, findings, load := 0, 0, 0, 0.0
	for _, b := range s.Snapshot().Backends {
		load += describe.Load(b.Cost)
		findings += len(b.Findings)
		for i := range b.Servers {
			servers++
			if b.Servers[i].State == inspect.ServerDown {
				silent++
			}
		}
	}
	shown := 0
	for _, r := range s.rows {
		if r.Server != nil {
			shown++
		}
	}
	found := widget.Line{{fmt.Sprintf("%d of %s", shown, describe.Count(servers, "server")), t.Strong}}
	if l := s.input.Prompt(t, "words: address, role, backend, finding", found, s.width); l != nil {
		return l
	}
	l := widget.Line{{
		" " + describe.Count(len(s.Snapshot().Backends), "backend") + dot + describe.Count(servers, "server"), t.Strong,
	}}
	l = l.Part(silent > 0, t, t.Critical, fmt.Sprintf("%s %d down", t.Glyphs.Critical, silent))
	l = l.Part(findings > 0, t, t.Text, describe.Count(findings, "finding"))
	untitled := s.width < 100 && s.width >= 60 // else the title shows it
	l = l.Part(untitled && servers > 0, t, t.Muted, "our requests "+describe.PerSecond(load))
	return widget.Spread(l, s.input.View(t, s.width), s.width, t.Glyphs.Ellipsis)
}

// emptyLines explain why the list is empty.
func (s *Screen) emptyLines() []widget.Line {
	t := s.Theme()
	text, more := "Connecting"+t.Glyphs.Ellipsis, "No server has answered yet."
	switch {
	case len(s.Snapshot().Backends) > 0:
		text, more = "No server matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		text, more = "Nothing can be shown.", describe.OneLine(s.FeedError())
	}
	return []widget.Line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
}

// columns lays out the table. The note gets the width that the server names leave free.
func (s *Screen) columns() []widget.Column {
	need := 0
	for _, r := range s.rows {
		if r.Server == nil {
			need = max(need, widget.TextWidth(describe.Printable(r.backend.Name)+"  "+string(r.backend.Kind)))
		} else {
			need = max(need, widget.TextWidth("  "+describe.Printable(r.Server.Addr)))
		}
	}
	list := []widget.Column{
		{Title: "SERVER", Middle: true, Width: 22, Grow: 3, Most: 44},
		{Title: "STATE", Width: 9},
		{Title: "ROLE", Width: 8, Grow: 1, Most: 10},
		{Title: "VERSION", Width: 8, From: 90},
		{Title: "LATENCY", Width: 8, Right: true, From: 60},
		{Title: "CLOCK", Width: 9, Right: true, From: 60},
		{Title: "UP FOR", Width: 6, Right: true, From: 60},
		{Title: "NOTE", Width: 22, Grow: 4, Most: 60, From: 100},
	}
	list[0].Fit(need)
	return list
}

func (s *Screen) rowLine(r serverRow, width int, selected bool) widget.Line {
	t := s.Theme()
	mark, cells := s.backendCells(r.backend)
	if r.Server != nil {
		mark, cells = s.serverCells(r.Server)
	}
	l := widget.Line{{" ", t.Text}, mark, {" ", t.Text}}
	if selected {
		l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
	}
	columns := s.columns()
	l = append(l, widget.Join(columns, widget.Lay(columns, width-widget.Margin-1), cells, t.Glyphs.Ellipsis)...)
	if selected {
		return l.Over(width, widget.SelectedStyle(s.Theme(), !s.inDetails))
	}
	return l
}

func (s *Screen) backendCells(b *inspect.Backend) (widget.Span, []widget.Line) {
	t := s.Theme()
	mark := screen.BackendSign(t, b.State)
	mode, _ := modeWords(b.Mode)
	name := widget.Line{{describe.Printable(b.Name), t.Strong}, {"  " + string(b.Kind), t.Muted}}
	return mark, []widget.Line{
		name,
		{{string(b.State), mark.Style}},
		{{mode, t.Text}},
		nil, nil, nil, nil,
		{{s.brief(b), t.Muted}},
	}
}

// brief summarises a backend's load and findings.
func (s *Screen) brief(b *inspect.Backend) string {
	text := "our requests " + describe.PerSecond(describe.Load(b.Cost))
	if n := len(b.Findings); n > 0 {
		text += " " + s.Theme().Glyphs.Dot + " " + describe.Count(n, "finding")
	}
	return text
}

// serverSign returns the glyph of a server's state and its style.
func serverSign(t *theme.Theme, v *inspect.Server) widget.Span {
	switch v.State {
	case inspect.ServerUp:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	case inspect.ServerDown:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	default:
		return widget.Span{t.Glyphs.Unknown, t.Unknown}
	}
}

func (s *Screen) serverCells(v *inspect.Server) (widget.Span, []widget.Line) {
	t := s.Theme()
	mark := serverSign(t, v)
	unknown := widget.Line{{t.Glyphs.Unknown, t.Unknown}}
	role, version, latency, clock, up := unknown, unknown, unknown, unknown, unknown
	if v.Role != "" {
		role = widget.Line{{describe.Printable(v.Role), t.Text}}
	}
	if v.Version != "" {
		version = widget.Line{{describe.Printable(v.Version), t.Text}}
	}
	if v.Latency >= 0 && v.State == inspect.ServerUp {
		latency = widget.Line{{describe.Millis(v.Latency), t.Text}}
	}
	if v.ClockKnown && v.State == inspect.ServerUp {
		clock = widget.Line{{clockMark(t, v.ClockOffset) + offsetWords(v.ClockOffset), clockStyle(t, v.ClockOffset)}}
	}
	if !v.StartedAt.IsZero() && v.State == inspect.ServerUp {
		up = widget.Line{{describe.Seconds(s.Now().Sub(v.StartedAt)), t.Text}}
	}
	note := widget.Line(nil)
	if lags(v) {
		note = widget.Line{{t.Glyphs.Warning + " over " + describe.Over(v.Lag) + " behind", t.Warning}}
	}
	if v.Error != "" {
		note = widget.Line{{describe.Cause(v.Error, v.Addr), mark.Style}}
	}
	return mark, []widget.Line{
		{{"  ", t.Text}, {describe.Printable(v.Addr), t.Text}},
		{{string(v.State), mark.Style}},
		role, version, latency,
		clock, up, note,
	}
}

// lags reports whether a member is at least half a second behind, as in its rule.
func lags(v *inspect.Server) bool {
	return v.State == inspect.ServerUp && v.Lagging && v.Lag >= time.Second/2
}

// skewed is the clock offset above which we warn, as in its rule.
const skewed = time.Second

func clockStyle(t *theme.Theme, d time.Duration) theme.Style {
	if d.Abs() > skewed {
		return t.Warning
	}
	return t.Text
}

// clockMark precedes an offset that needs a warning, for users who cannot see colours.
func clockMark(t *theme.Theme, d time.Duration) string {
	if d.Abs() > skewed {
		return t.Glyphs.Warning
	}
	return ""
}

// offsetWords formats a clock's offset with its sign.
func offsetWords(d time.Duration) string {
	if d.Abs() < 10*time.Second {
		return fmt.Sprintf("%+d ms", d.Milliseconds())
	}
	if d < 0 {
		return "-" + describe.Age(-d)
	}
	return "+" + describe.Age(d)
}
