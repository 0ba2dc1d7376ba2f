package widget

import (
	"slices"
	"testing"
)

// What there is no room for gives its room to the columns before it; what has some is cut, as long as it
// tells something.
func TestColumnsGiveWay(t *testing.T) {
	columns := []Column{{Title: "A", Width: 10, Grow: 1, Most: 40}, {Title: "B", Width: 12, Grow: 1, Most: 12}, {Title: "C", Width: 9}}
	for width, want := range map[int][]int{40: {15, 12, 9}, 34: {10, 12, 8}, 33: {19, 12, 0}, 20: {10, 8, 0}, 15: {15, 0, 0}} {
		if got := Lay(columns, width); !slices.Equal(got, want) {
			t.Errorf("%d cells: %v, want %v", width, got, want)
		}
	}
}

// Columns with names have all the room that they need, or none of them has more than its share.
func TestNamesAreInFullOrNot(t *testing.T) {
	for width, want := range map[int]bool{60: true, 59: false} {
		columns := []Column{{Title: "A", Width: 10, Grow: 1, Most: 40}, {Title: "B", Width: 5, Grow: 9, Most: 50}, {Title: "C", Width: 9, Most: 11}}
		if got := InFull(columns, width, 0, 2); got != want {
			t.Errorf("%d cells: in full: %v", width, got)
		}
		if got := Lay(columns, width); want != (got[0] == 40 && got[2] == 11) {
			t.Errorf("%d cells: %v", width, got)
		}
	}
}
