package locks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/widget"
)

// table holds the columns of the list, from left to right.
type table struct {
	columns []*column
	// chosen is set if each column is shown whenever it fits, even in windows where it is hidden
	// by default.
	chosen bool
	// inFull is set if the locks' names are shown in full, however little room the others get.
	inFull bool
}

// namesTable is for reading long names.
func namesTable() table {
	return table{columns: []*column{byName, byHolder, byHeld}, chosen: true, inFull: true}
}

// usualTable is the default, until the user chooses columns.
func usualTable() table { return table{columns: allColumns} }

// name of a column in the configuration.
func (c *column) name() string { return strings.ToLower(c.Title) }

// columnNamed returns nil if there is no such column.
func columnNamed(name string) *column {
	if at := slices.IndexFunc(allColumns, func(c *column) bool { return c.name() == name }); at >= 0 {
		return allColumns[at]
	}
	return nil
}

// newTable parses the names of columns; no names mean the usual table.
func newTable(names []string) (table, error) {
	if len(names) == 0 {
		return usualTable(), nil
	}
	t := table{chosen: true}
	for _, name := range names {
		c := columnNamed(name)
		switch {
		case c == nil:
			return usualTable(), fmt.Errorf("columns: %q is not one of %s", name,
				strings.Join(usualTable().names(), ", "))
		case slices.Contains(t.columns, c):
			return usualTable(), fmt.Errorf("columns: %s is listed twice", name)
		}
		t.columns = append(t.columns, c)
	}
	if !slices.Contains(t.columns, byName) {
		return usualTable(), fmt.Errorf("columns: %s is missing: without it, rows would look alike", byName.name())
	}
	return t, nil
}

func (t table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name()
	}
	return names
}

// layout returns the columns of a table of the given width, and their widths; 0 hides a column. All are in cells.
// Names come first: less important columns are dropped one by one until locks and holders fit, or at least
// the locks. At most findingSpares are dropped to show findings in full. Names that still do not fit get all
// that is left, the holders' short ones first.
func (t table) layout(width int, need needs) ([]widget.Column, []int) {
	all := spared(need)
	if t.chosen || need.name == 0 { // without locks there are no names
		all = nil
	}
	holder := need.holder
	lay := func(list []widget.Column) ([]widget.Column, []int) {
		widths := widget.Lay(list, width)
		for i, c := range t.columns {
			list[i].Brief = c == byHolder && widths[i] < holder // shorten all hosts or none
		}
		return list, widths
	}
	withClients := need
	withClients.holder = need.client
	if list, inFull := t.lay(width, withClients, nil, byName, byHolder, byWorst); inFull {
		return lay(list)
	}
	if t.inFull {
		need = withClients
	}
	for n := range min(len(all), findingSpares) + 1 {
		if list, inFull := t.lay(width, need, all[:n], byName, byHolder, byWorst); inFull {
			return lay(list)
		}
	}
	for _, first := range [][]*column{{byName, byHolder}, {byName}} {
		for n := range len(all) + 1 {
			if list, inFull := t.lay(width, need, all[:n], first...); inFull {
				return lay(list)
			}
		}
	}
	at := slices.Index(t.columns, byName)
	need.holder = need.brief
	list, inFull := t.lay(width, need, all, byHolder, byWorst)
	if widget.Widen(list, width, at); t.chosen || !inFull || list[at].Width < need.holder {
		list, _ = t.lay(width, need, all, byWorst)
		widget.Widen(list, width, at)
	}
	return lay(list)
}

// findingSpares is the number of columns that may be dropped to show findings in full.
const findingSpares = 2

// spared lists the columns that may shrink or disappear since they say less than a name, the
// least important first.
func spared(need needs) []spare {
	list := []spare{{byTTL, byTTL.Width}, {byLibrary, 0}, {byQueue, queueWidth}, {byKind, 0}}
	if need.finding == 0 {
		list = append(list, spare{byWorst, 0})
	}
	return list
}

type spare struct {
	*column
	width int
}

// lay lays out the table, and reports whether the columns in first are shown in full.
func (t table) lay(width int, need needs, spared []spare, first ...*column) ([]widget.Column, bool) {
	list := make([]widget.Column, len(t.columns))
	var names []int
	for i, c := range t.columns {
		list[i] = c.in(width, need, spared)
		if slices.Contains(first, c) {
			names = append(names, i)
		}
	}
	if t.chosen {
		t.leaveOut(list, width)
	}
	return list, need.name == 0 || widget.InFull(list, width, names...)
}

// in returns the column for a table of the given width.
func (c *column) in(width int, need needs, spared []spare) widget.Column {
	out := c.Column
	for _, s := range c.wider {
		if width >= s.table {
			out.Width = s.width
		}
	}
	for _, s := range spared {
		if s.column == c && s.width == 0 {
			out.From = widget.Never
		} else if s.column == c {
			out.Width = min(out.Width, s.width)
		}
	}
	switch c {
	case byClient:
		out.Domain = need.domain
	case byQueue:
		if out.Width == trendWidth {
			out.Title, out.Right = trendTitle, true
		}
	case byName:
		out.Fit(need.name)
	case byHolder:
		out.Fit(need.holder)
		out.Domain = need.domain
	case byHeld:
		out.Width = max(out.Width, need.held)
	case byWorst:
		out.Domain = need.domain
		if need.name > 0 { // locks are visible, perhaps none with a finding
			out.Fit(max(1, need.finding))
		}
	}
	return out
}

// leaveOut hides the last columns that do not fit. The lock's name always stays.
func (t table) leaveOut(list []widget.Column, width int) {
	room := width - list[slices.Index(t.columns, byName)].Width
	for i := range list {
		if t.columns[i] == byName {
			continue
		}
		list[i].From = 0
		if room -= list[i].Width + widget.Gap; room < 0 {
			list[i].From = widget.Never
		}
	}
}

// drawCells draws a lock's cells.
func (t table) drawCells(of cell, widths []int) []widget.Line {
	cells := make([]widget.Line, len(t.columns))
	for i, c := range t.columns {
		if of.room = widths[i]; of.room > 0 {
			cells[i] = c.cell(of)
		}
	}
	return cells
}

// inTenths reports whether a row shows a time in tenths of a second, which needs the fast beat.
func (t table) inTenths(of cell) bool {
	return slices.ContainsFunc(t.columns, func(c *column) bool {
		if c.time == nil {
			return false
		}
		d, ok := c.time(of)
		return ok && describe.InTenths(d)
	})
}
