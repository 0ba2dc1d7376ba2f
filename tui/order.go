package tui

import (
	"cmp"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// sorting is a column that the table of locks is sorted by; they stand in the order of lockColumns.
type sorting int

const (
	byName sorting = iota
	byKind
	byLibrary
	byHolder
	byHeld
	byQueue
	byTTL
	byWorst
	sortings
)

func (s sorting) String() string {
	return [...]string{"name", "kind", "library", "holder", "held longest", "longest queue", "expires first", "worst, longest wait"}[s]
}

// descends says that the largest comes first where the order is not turned round.
func (s sorting) descends() bool { return s == byHeld || s == byQueue || s == byWorst }

// order is a sorting, from its usual end or from the other.
type order struct {
	by       sorting
	reversed bool
}

func (o order) String() string {
	if o.reversed {
		return o.by.String() + ", reversed"
	}
	return o.by.String()
}

// key is what locks are compared by: the numbers, then the text, the smallest first. It holds instants, so that it does
// not change with time.
type key struct {
	// missing: the lock has nothing in that column. It comes last either way.
	missing bool
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
	if a.key.missing != b.key.missing {
		if a.key.missing {
			return 1
		}
		return -1
	}
	c := a.key.compare(b.key)
	if o.reversed && !a.key.missing {
		c = -c
	}
	if c == 0 {
		c = a.lock.ID.Compare(b.lock.ID)
	}
	if o.by == byName && o.reversed {
		c = -c
	}
	return c
}

// key of a lock in this order.
func (o order) key(l *inspect.Lock) key {
	held, wait := heldSince(l), describe.OldestWaiter(l)
	switch o.by {
	case byKind:
		return key{text: string(l.Kind)}
	case byLibrary:
		return key{missing: l.Recipe == "", text: l.Recipe}
	case byHolder:
		if len(l.Holders) == 0 {
			return key{missing: true, text: string(l.State)}
		}
		return key{text: strings.ToLower(describe.Owner(&l.Holders[0]))}
	case byHeld:
		return key{missing: held.IsZero(), numbers: [3]int64{instant(held), instant(wait)}}
	case byQueue:
		n := len(l.Waiters) + l.WaitersAtLeast
		return key{missing: n == 0, numbers: [3]int64{-int64(n), instant(wait), instant(held)}}
	case byTTL:
		at := expiry(l)
		return key{missing: at.IsZero(), numbers: [3]int64{instant(at)}}
	case byWorst:
		return key{numbers: [3]int64{-int64(describe.LevelOf(l)), instant(wait), instant(held)}}
	default:
		return key{}
	}
}
