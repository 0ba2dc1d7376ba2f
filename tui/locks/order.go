package locks

import (
	"cmp"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/screen"
)

// Sorting is a column that the table of locks is sorted by; they stand in the order of lockColumns.
type Sorting int

const (
	byName Sorting = iota
	ByKind
	ByLibrary
	ByHolder
	ByHeld
	byQueue
	byTTL
	ByWorst
	sortings
)

func (s Sorting) String() string {
	return [...]string{"name", "kind", "library", "holder", "held longest", "longest queue", "expires first", "worst, longest wait"}[s]
}

// descends reports whether the largest comes first where the order is not turned round.
func (s Sorting) descends() bool { return s == ByHeld || s == byQueue || s == ByWorst }

// Order is a sorting, from its usual end or from the other.
type Order struct {
	By       Sorting
	reversed bool
}

func (o Order) String() string {
	if o.reversed {
		return o.By.String() + ", reversed"
	}
	return o.By.String()
}

// key orders locks by the numbers, then the text, the smallest first. It holds instants, so that it does
// not change with time.
type key struct {
	// Missing: the lock has nothing in that column. It comes last either way.
	Missing bool
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
func (o Order) compare(a, b *row) int {
	if a.Key.Missing != b.Key.Missing {
		if a.Key.Missing {
			return 1
		}
		return -1
	}
	c := a.Key.compare(b.Key)
	if o.reversed && !a.Key.Missing {
		c = -c
	}
	if c == 0 {
		c = a.ID.Compare(b.ID)
	}
	if o.By == byName && o.reversed {
		c = -c
	}
	return c
}

// key of a lock in this order.
func (o Order) key(l *inspect.Lock) key {
	held, wait := screen.HeldSince(l), describe.OldestWaiter(l)
	switch o.By {
	case ByKind:
		return key{text: string(l.Kind)}
	case ByLibrary:
		return key{Missing: l.Recipe == "", text: l.Recipe}
	case ByHolder:
		if len(l.Holders) == 0 {
			return key{Missing: true, text: string(l.State)}
		}
		return key{text: strings.ToLower(describe.Owner(&l.Holders[0]))}
	case ByHeld:
		return key{Missing: held.IsZero(), numbers: [3]int64{screen.Instant(held), screen.Instant(wait)}}
	case byQueue:
		n := len(l.Waiters) + l.WaitersAtLeast
		return key{Missing: n == 0, numbers: [3]int64{-int64(n), screen.Instant(wait), screen.Instant(held)}}
	case byTTL:
		at := screen.Expiry(l)
		return key{Missing: at.IsZero(), numbers: [3]int64{screen.Instant(at)}}
	case ByWorst:
		return key{numbers: [3]int64{-int64(describe.LevelOf(l)), screen.Instant(wait), screen.Instant(held)}}
	default:
		return key{}
	}
}
