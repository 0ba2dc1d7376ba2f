package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
)

// sorting is an order of the table.
type sorting int

const (
	byWorst sorting = iota
	byHeld
	byQueue
	byTTL
	byName
	sortings
)

func (s sorting) String() string {
	return [...]string{"worst, longest wait", "held longest", "longest queue", "expires first", "name"}[s]
}

// row is a lock in the table. It is replaced, never changed, except for what the filter says of it.
type row struct {
	lock *inspect.Lock
	key  [3]int64
	rank rank
	// span is the longest time to live seen on the lock: the full length of its gauge.
	span  time.Duration
	match bool
	stale bool   // a newer row takes its place
	text  string // lower case, made when a filter first asks for it
}

// index keeps all locks sorted and filtered. An update costs a walk over the rows, not a sort of them.
type index struct {
	sorting sorting
	terms   []string
	rows    []*row
	byID    map[inspect.ID]*row
	// shown are the rows that match.
	shown []*row
	// Counts over all rows.
	contended, critical, warnings int
}

func newIndex() *index { return &index{byID: make(map[inspect.ID]*row)} }

// reset takes over all locks of a snapshot.
func (x *index) reset(s *inspect.Snapshot) {
	old := x.byID
	*x = index{sorting: x.sorting, terms: x.terms, byID: make(map[inspect.ID]*row, s.Len())}
	for l := range s.Locks() {
		x.rows = append(x.rows, x.put(l, old[l.ID]))
	}
	slices.SortFunc(x.rows, compareRows)
	x.filter()
}

// update takes over the locks that changed.
func (x *index) update(s *inspect.Snapshot, changed []inspect.ID) {
	if len(changed) == 0 {
		return
	}
	fresh := make([]*row, 0, len(changed))
	for _, id := range changed {
		old := x.byID[id]
		if old != nil {
			old.stale = true
			x.count(old, -1)
			delete(x.byID, id)
		}
		if l := s.Lock(id); l != nil {
			fresh = append(fresh, x.put(l, old))
		}
	}
	slices.SortFunc(fresh, compareRows)
	x.merge(fresh)
	x.filter()
}

// merge is the sorted rows without the stale and with the fresh ones.
func (x *index) merge(fresh []*row) {
	rows := make([]*row, 0, len(x.rows)+len(fresh))
	for _, r := range x.rows {
		if r.stale {
			continue
		}
		for len(fresh) > 0 && compareRows(fresh[0], r) < 0 {
			rows, fresh = append(rows, fresh[0]), fresh[1:]
		}
		rows = append(rows, r)
	}
	x.rows = append(rows, fresh...)
}

func (x *index) put(l *inspect.Lock, old *row) *row {
	r := &row{lock: l, rank: rankOf(l), key: x.sorting.key(l)}
	for i := range l.Masters {
		if v := &l.Masters[i]; !v.ExpiresAt.IsZero() {
			r.span = max(r.span, v.ExpiresAt.Sub(l.ReadAt))
		}
	}
	if old != nil && r.span > 0 {
		r.span = max(r.span, old.span)
	}
	r.match = x.matches(r)
	x.byID[l.ID] = r
	x.count(r, 1)
	return r
}

func (x *index) count(r *row, by int) {
	if len(r.lock.Waiters) > 0 {
		x.contended += by
	}
	switch r.rank {
	case rankCritical:
		x.critical += by
	case rankWarning:
		x.warnings += by
	}
}

// order sorts by something else.
func (x *index) order(s sorting) {
	x.sorting = s
	for _, r := range x.rows {
		r.key = s.key(r.lock)
	}
	slices.SortFunc(x.rows, compareRows)
	x.filter()
}

// search shows only the rows in which every word of the text occurs.
func (x *index) search(text string) {
	x.terms = strings.Fields(strings.ToLower(text))
	for _, r := range x.rows {
		r.match = x.matches(r)
	}
	x.filter()
}

func (x *index) matches(r *row) bool {
	if len(x.terms) == 0 {
		return true
	}
	if r.text == "" {
		r.text = searchText(r.lock)
	}
	for _, t := range x.terms {
		if !strings.Contains(r.text, t) {
			return false
		}
	}
	return true
}

func (x *index) filter() {
	if len(x.terms) == 0 {
		x.shown = x.rows
		return
	}
	x.shown = nil
	for _, r := range x.rows {
		if r.match {
			x.shown = append(x.shown, r)
		}
	}
}

// place is the row of a lock among those shown; -1 when it is not there.
func (x *index) place(id inspect.ID) int {
	r := x.byID[id]
	if r == nil || !r.match {
		return -1
	}
	at, ok := slices.BinarySearchFunc(x.shown, r, compareRows)
	if !ok {
		return -1
	}
	return at
}

func searchText(l *inspect.Lock) string {
	parts := []string{l.ID.String(), string(l.Kind), l.Recipe, string(l.State)}
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			o := &list[i].Owner
			parts = append(parts, o.Label.String(), printed(o.Client), o.Host.String())
		}
	}
	for i := range l.Findings {
		parts = append(parts, l.Findings[i].Rule)
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

func compareRows(a, b *row) int {
	for i := range a.key {
		if c := cmp.Compare(a.key[i], b.key[i]); c != 0 {
			return c
		}
	}
	return a.lock.ID.Compare(b.lock.ID)
}

// key is what rows are compared by, the smallest first. It holds instants, so that it does not change with time.
func (s sorting) key(l *inspect.Lock) [3]int64 {
	held, wait := instant(heldSince(l)), instant(oldestWaiter(l))
	switch s {
	case byWorst:
		return [3]int64{-int64(rankOf(l)), wait, held}
	case byHeld:
		return [3]int64{held, wait}
	case byQueue:
		return [3]int64{-int64(len(l.Waiters)), wait, held}
	case byTTL:
		return [3]int64{instant(expiry(l))}
	default:
		return [3]int64{}
	}
}

// instant orders times with the unknown last.
func instant(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixNano()
}

// heldSince is when the first holder got the lock or, not knowing that, came.
func heldSince(l *inspect.Lock) time.Time {
	if len(l.Holders) == 0 {
		return time.Time{}
	}
	if h := &l.Holders[0]; h.HeldSince.IsZero() {
		return h.Since
	}
	return l.Holders[0].HeldSince
}

// expiry is when a held lock runs out or, when nobody holds it, the last of its votes; zero when never.
func expiry(l *inspect.Lock) time.Time {
	if len(l.Holders) > 0 {
		return l.Holders[0].ExpiresAt
	}
	var last time.Time
	for i := range l.Masters {
		if at := l.Masters[i].ExpiresAt; at.After(last) {
			last = at
		}
	}
	return last
}
