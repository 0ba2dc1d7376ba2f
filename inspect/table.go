package inspect

import (
	"iter"
	"slices"
)

// pageSize limits how much is copied when one lock changes.
const pageSize = 1024

// table is a list of locks sorted by id, in pages. A shared table never changes: after share, a
// page is copied before its first change, and so is the list of pages.
type table struct {
	pages   []page
	count   int
	edition int // how often it was shared
	listed  int // the edition that the list of pages was copied for
}

type page struct {
	locks   []*Lock
	edition int // that locks was copied for
}

// share returns a snapshot of the table.
func (t *table) share() table {
	t.edition++
	return *t
}

func (t *table) len() int { return t.count }

func (t *table) all() iter.Seq[*Lock] {
	return func(yield func(*Lock) bool) {
		for _, p := range t.pages {
			for _, l := range p.locks {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// from iterates over the locks, starting at id.
func (t *table) from(id ID) iter.Seq[*Lock] {
	return func(yield func(*Lock) bool) {
		if t.count == 0 {
			return
		}
		i, at, _ := t.find(id)
		for ; i < len(t.pages); i, at = i+1, 0 {
			for _, l := range t.pages[i].locks[min(at, len(t.pages[i].locks)):] {
				if !yield(l) {
					return
				}
			}
		}
	}
}

func compareLock(l *Lock, id ID) int { return l.ID.Compare(id) }

// find returns the page that has or would have id, and the index in it.
func (t *table) find(id ID) (i, at int, found bool) {
	i, found = slices.BinarySearchFunc(t.pages, id, func(p page, id ID) int { return p.locks[0].ID.Compare(id) })
	if !found && i > 0 {
		i--
	}
	if i == len(t.pages) {
		return i, 0, false
	}
	at, found = slices.BinarySearchFunc(t.pages[i].locks, id, compareLock)
	return i, at, found
}

func (t *table) get(id ID) *Lock {
	if i, at, found := t.find(id); found {
		return t.pages[i].locks[at]
	}
	return nil
}

// own copies the list of pages and one page if they are shared, and returns that page.
func (t *table) own(i int) *page {
	if t.listed != t.edition {
		t.pages, t.listed = slices.Clone(t.pages), t.edition
	}
	if i == len(t.pages) {
		t.pages = append(t.pages, page{edition: t.edition})
	}
	p := &t.pages[i]
	if p.edition != t.edition {
		*p = page{slices.Clone(p.locks), t.edition}
	}
	return p
}

// changeable returns a lock that can be changed: a copy, once the table was shared.
func (t *table) changeable(l *Lock) *Lock {
	if t.edition == 0 {
		return l
	}
	return clone(l)
}

// put replaces the lock with the same id, or inserts l in order.
func (t *table) put(l *Lock) {
	i, at, found := t.find(l.ID)
	p := t.own(i)
	if found {
		p.locks[at] = l
		return
	}
	t.count++
	p.locks = slices.Insert(p.locks, at, l)
	if len(p.locks) > pageSize {
		half := len(p.locks) / 2
		rest := page{slices.Clone(p.locks[half:]), t.edition}
		p.locks = slices.Clone(p.locks[:half])
		t.pages = slices.Insert(t.pages, i+1, rest)
	}
}

func (t *table) remove(id ID) {
	i, at, found := t.find(id)
	if !found {
		return
	}
	t.count--
	p := t.own(i)
	if len(p.locks) == 1 {
		t.pages = slices.Delete(t.pages, i, i+1)
		return
	}
	p.locks = slices.Delete(p.locks, at, at+1)
}
