package widget

import (
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// A column that does not fit leaves its room to those before it. One that fits partly is cut unless
// the rest would be useless.
func TestColumnsGiveWay(t *testing.T) {
	columns := []Column{{Title: "A", Width: 10, Grow: 1, Most: 40}, {Title: "B", Width: 12, Grow: 1, Most: 12}, {Title: "C", Width: 9}}
	for width, want := range map[int][]int{40: {15, 12, 9}, 34: {10, 12, 8}, 33: {19, 12, 0}, 20: {10, 8, 0}, 15: {15, 0, 0}} {
		must.Same(t, Lay(columns, width), want, width, "cells")
	}
}

// Either all columns of names get the room they need, or none gets more than its share.
func TestNamesAreInFullOrNot(t *testing.T) {
	for width, want := range map[int]bool{60: true, 59: false} {
		columns := []Column{{Title: "A", Width: 10, Grow: 1, Most: 40}, {Title: "B", Width: 5, Grow: 9, Most: 50}, {Title: "C", Width: 9, Most: 11}}
		must.Equal(t, InFull(columns, width, 0, 2), want, width, "cells: in full")
		if got := Lay(columns, width); want != (got[0] == 40 && got[2] == 11) {
			t.Errorf("%d cells: %v", width, got)
		}
	}
}

func TestTablesAreDrawn(t *testing.T) {
	columns := []Column{{Title: "NAME", Middle: true}, {Title: "N", Right: true}, {Title: "OFF"}, {Title: "AT", Domain: ".x.org"}, {Title: "LAST"}}
	widths := []int{7, 3, 0, 6, 4}
	for _, test := range []struct {
		row  []string
		want string
	}{
		{[]string{"a", "1", "hidden", "b", "c"}, "a          1  b       c"},
		{[]string{"abcdefghij", "12", "", "app1.x.org", "d"}, "ab~ghij   12  app1    d"},
		{[]string{"abcdefghij", "", "", "app1.x.net", "longer"}, "abcdefghij    app1.~  lon~"},
		{[]string{"a", "12345", "", "0123456789abc", ""}, "a        12~  0123456789a~"},
		{[]string{"a", "", "", "", ""}, "a"},
	} {
		row := make([]Line, len(test.row))
		for i, text := range test.row {
			if text != "" {
				row[i] = words(text)
			}
		}
		must.Equal(t, drawn(Join(columns, widths, row, "~")), test.want, test.row)
	}
	must.Equal(t, drawn(Titles(columns, widths, plain.Text)), "NAME       N  AT      LAST")
	for x, want := range map[int]int{-1: -1, 0: 0, 8: 0, 9: 1, 13: 1, 14: 3, 21: 3, 22: 4, 27: 4, 28: -1} {
		must.Equal(t, ColumnAt(widths, x), want, "column at", x)
	}
	for need, want := range map[int][2]int{0: {10, 40}, 5: {6, 6}, 8: {8, 8}, 30: {10, 30}} {
		c := Column{Title: "NAME", Width: 10, Most: 40}
		c.Fit(need)
		must.Equal(t, [2]int{c.Width, c.Most}, want, "fit", need, c)
	}
}

func TestRoomIsShared(t *testing.T) {
	for _, test := range []struct {
		what    string
		columns []Column
		width   int
		want    []int
	}{
		{"by their shares", []Column{{Width: 5, Grow: 1, Most: 99}, {Width: 5, Grow: 3, Most: 99}}, 20, []int{7, 11}},
		{"what one cannot take is the other's", []Column{{Width: 5, Grow: 1, Most: 6}, {Width: 5, Grow: 1, Most: 99}}, 20, []int{6, 12}},
		{"from a width on", []Column{{Width: 5}, {Width: 5, From: 20}, {Width: 5, From: 21}}, 20, []int{5, 5, 0}},
		{"without growth", []Column{{Width: 5}, {Width: 5}}, 40, []int{5, 5}},
		{"the first stays", []Column{{Width: 9}, {Width: 9}}, 9, []int{9, 0}},
	} {
		must.Same(t, Lay(test.columns, test.width), test.want, test.what)
	}
}
