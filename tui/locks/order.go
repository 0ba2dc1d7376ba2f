package locks

import (
	"cmp"
	"strings"
)

// order sorts by a column, in its usual direction or in reverse. The zero order is by name.
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

// key sorts locks by the numbers, then the text, the smallest first. It contains times instead of
// ages, so that it is stable.
type key struct {
	// Missing is set if the lock has nothing in that column. It then comes last in either
	// direction.
	Missing bool
	// late is set if the row is new. It stays last until the rows are settled.
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

// last compares two items if one of them comes last.
func last(first bool) int {
	if first {
		return 1
	}
	return -1
}
