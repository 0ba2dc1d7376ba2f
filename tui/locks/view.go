package locks

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockscope/lockscope/tui/screen"
)

// View is a named view of the list in the configuration. The zero view shows all locks in the
// usual order and columns.
type View struct {
	// Filter as the user types it.
	Filter string
	// Sort is the name of the sorting column, preceded by - in reverse; empty means the worst
	// first.
	Sort string
	// Columns from left to right; empty means the usual ones.
	Columns []string
}

// String describes the view in one line.
func (v View) String() string {
	var parts []string
	for _, part := range []struct{ name, text string }{
		{"", v.Filter}, {"sort ", v.Sort}, {"columns ", strings.Join(v.Columns, " ")},
	} {
		if part.text != "" {
			parts = append(parts, part.name+part.text)
		}
	}
	return strings.Join(parts, ", ")
}

// Check reports the invalid parts of a view.
func (v View) Check() error {
	if problem := screen.NewFilter(v.Filter).Problem(); problem != "" {
		return fmt.Errorf("filter: %s", problem)
	}
	if _, err := v.order(); err != nil {
		return err
	}
	_, err := newTable(v.Columns)
	return err
}

func (v View) order() (order, error) {
	if v.Sort == "" {
		return order{by: byWorst}, nil
	}
	name, reversed := strings.CutPrefix(v.Sort, "-")
	if c := columnNamed(name); c != nil {
		return order{by: c, reversed: reversed}, nil
	}
	return order{by: byWorst}, fmt.Errorf("sort: %q is not one of %s", v.Sort, strings.Join(usualTable().names(), ", "))
}

// configuration is the view in the configuration's format, with a placeholder for its name.
func (v View) configuration() string {
	columns := "[" + strings.Join(v.Columns, ", ") + "]"
	return fmt.Sprintf("  NAME:\n    filter: %s\n    sort: %s\n    columns: %s\n", strconv.Quote(v.Filter), v.Sort,
		columns)
}

// ShowView applies a view, except for invalid parts (see Check).
func (s *Screen) ShowView(v View) {
	s.Want.Order, _ = v.order()
	columns := s.usual
	if len(v.Columns) > 0 {
		columns, _ = newTable(v.Columns)
	}
	s.choose(columns)
	s.input.Set(v.Filter) // and arranges
}

// view is the current view.
func (s *Screen) view() View {
	v := View{Filter: s.input.Text(), Sort: s.Want.Order.column().name()}
	if s.Want.Order.reversed {
		v.Sort = "-" + v.Sort
	}
	for _, c := range s.columnsInSight() {
		v.Columns = append(v.Columns, c.name())
	}
	return v
}

// columnsInSight are the chosen columns or, if the user chose none, those that fit the window.
func (s *Screen) columnsInSight() []*column {
	if s.shown.chosen {
		return s.shown.columns
	}
	widths := s.grid().widths
	var list []*column
	for i, c := range s.shown.columns {
		if widths[i] > 0 {
			list = append(list, c)
		}
	}
	return list
}

// choose shows other columns.
func (s *Screen) choose(t table) {
	s.shown = t
	clear(s.cachedRows)
}
