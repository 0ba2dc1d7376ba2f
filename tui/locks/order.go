package locks

import (
	"cmp"
	"strings"
)

// order sorts by a column, from its usual end or from the other. The zero order is by name.
type order struct {
	by       *column
	reversed bool
}

func (o order) column() *column { return cmp.Or(o.by, byName) }

func (o order) String() string {
	if o.reversed {
		return o.column().order + ", reversed"
	}
	return o.column().order
}

// key orders locks by the numbers, then the text, the smallest first. It holds instants, so that it does
// not change with time.
type key struct {
	// Missing: the lock has nothing in that column. It comes last either way.
	Missing bool
	// late: its row is new, and is last until the rows are settled.
	late    bool
	numbers [3]int64
	text    string
}

func (k key) compare(other key) int {
	for i := range k.numbers {
		if c := cmp.Compare(k.numbers[i], other.numbers[i]); c != 0 {
			return c
		}
	}
	return strings.Compare(k.text, other.text)
}

// compare orders rows.
func (o order) compare(a, b *row) int {
	if a.Key.late != b.Key.late {
		return last(a.Key.late)
	}
	if a.Key.Missing != b.Key.Missing {
		return last(a.Key.Missing)
	}
	c := a.Key.compare(b.Key)
	if o.reversed && !a.Key.Missing {
		c = -c
	}
	if c == 0 {
		c = a.ID.Compare(b.ID)
	}
	if o.column() == byName && o.reversed {
		c = -c
	}
	return c
}

// last compares two if one of them comes last.
func last(first bool) int {
	if first {
		return 1
	}
	return -1
}
