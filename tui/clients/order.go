package clients

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// order is a way to sort the clients: by one of sortings, perhaps reversed.
type order struct {
	by       int
	reversed bool
}

// sortings are the orders of the clients, by columns with these titles; the first is the default.
var sortings = []struct {
	name    string
	column  string
	compare func(a, b *clientRow) int
}{
	{"blocks the most", "BLOCKS", func(a, b *clientRow) int { return cmp.Compare(b.blocks, a.blocks) }},
	{"holds the most", "HOLDS", func(a, b *clientRow) int { return cmp.Compare(b.holds, a.holds) }},
	{"waits for the most", "WAITS", func(a, b *clientRow) int { return cmp.Compare(b.waits, a.waits) }},
	{"waits longest", "LONGEST", func(a, b *clientRow) int { return sooner(a.oldest, b.oldest) }},
	{"name", "CLIENT", func(a, b *clientRow) int { return strings.Compare(a.Name, b.Name) }},
}

func (o order) String() string {
	if o.reversed {
		return sortings[o.by].name + ", reversed"
	}
	return sortings[o.by].name
}

// sort sorts the rows, with idle clients last. Ties are in a fixed order, so that nothing moves from
// one list to the next.
func (l *clientList) sort(o order) {
	idle := slices.DeleteFunc(slices.Clone(l.rows), func(r *clientRow) bool { return !r.idle() })
	l.rows = awake(l.rows)
	slices.SortFunc(l.rows, func(a, b *clientRow) int {
		first := sortings[o.by].compare(a, b)
		if o.reversed {
			first = -first
		}
		return cmp.Or(first, cmp.Compare(b.blocks, a.blocks), sooner(a.oldest, b.oldest),
			cmp.Compare(len(b.entries), len(a.entries)),
			strings.Compare(a.Name, b.Name), a.entries[0].Lock.ID.Compare(b.entries[0].Lock.ID))
	})
	l.rows = append(l.rows, idle...)
}

// byIdentity maps clients to their rows.
func (l *clientList) byIdentity() map[inspect.Identity]*clientRow {
	listed := make(map[inspect.Identity]*clientRow, len(l.rows))
	for _, r := range l.rows {
		listed[r.who] = r
	}
	return listed
}

// remember keeps the clients' names from the previous list.
func (l *clientList) remember(before []*clientRow) {
	listed := l.byIdentity()
	for _, r := range before {
		if is := listed[r.who]; is != nil {
			is.remember(r)
		}
	}
}

// idleKept is how long a client's row stays after its last hold or wait, since it may return in a
// moment.
const idleKept = 10 * time.Second

// keepPlaces keeps the rows where they were. Clients that no longer hold or wait stay for a
// while, and new ones come last.
func (l *clientList) keepPlaces(before []*clientRow, now time.Time) {
	rows, listed := make([]*clientRow, 0, len(l.rows)), l.byIdentity()
	for _, r := range before {
		if is := listed[r.who]; is != nil {
			rows = append(rows, is)
			delete(listed, r.who)
		} else if idle := r.idleCopy(now); now.Sub(idle.idleAt).Abs() < idleKept {
			rows = append(rows, idle)
		}
	}
	for _, r := range l.rows {
		if listed[r.who] != nil {
			rows = append(rows, r)
		}
	}
	l.rows = rows
}

// awake returns the rows of clients that hold or wait.
func awake(rows []*clientRow) []*clientRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r *clientRow) bool { return r.idle() })
}

// nextOrder switches to the next order.
func (s *Screen) nextOrder() { s.sortBy(order{by: (s.order.by + 1) % len(sortings)}) }

func (s *Screen) reverse() { s.sortBy(order{s.order.by, !s.order.reversed}) }

// sortBy shows the list in another order, from its top.
func (s *Screen) sortBy(o order) {
	s.order = o
	s.names, s.brief, s.addresses = 0, 0, 0
	if s.list == nil {
		s.Flash("sorted by: " + o.String()) // once there is a list
		return
	}
	s.list.rows = awake(s.list.rows)
	s.list.sort(o)
	s.sorted = s.Now()
	s.toTop()
}
