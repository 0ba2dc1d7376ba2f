package locks

import "slices"

// pageSize is the length of a new page of a sorted list. A page of twice that length is split.
const pageSize = 256

// sorted is a sorted list in pages, so that finding, adding and removing an item among very many
// is cheap.
type sorted[T any] struct {
	compare func(a, b T) int
	pages   [][]T // none of them empty
	count   int
}

// newSorted takes ownership of sorted items.
func newSorted[T any](compare func(a, b T) int, items []T) *sorted[T] {
	s := &sorted[T]{compare: compare, count: len(items)}
	for page := range slices.Chunk(items, pageSize) {
		s.pages = append(s.pages, page) // clipped, so that a page that grows is copied
	}
	return s
}

// find returns the page of an item, or of the place where it belongs, and its index there.
func (s *sorted[T]) find(item T) (page, at int, found bool) {
	page, found = slices.BinarySearchFunc(s.pages, item, func(p []T, item T) int { return s.compare(p[0], item) })
	if found {
		return page, 0, true
	}
	if page > 0 {
		page--
	}
	if page == len(s.pages) {
		return page, 0, false
	}
	at, found = slices.BinarySearchFunc(s.pages[page], item, s.compare)
	return page, at, found
}

// insert adds an item, or replaces an equal one.
func (s *sorted[T]) insert(item T) {
	page, at, found := s.find(item)
	switch {
	case found:
		s.pages[page][at] = item
		return
	case page == len(s.pages):
		s.pages = append(s.pages, []T{item})
	default:
		p := slices.Insert(s.pages[page], at, item)
		s.pages[page] = p
		if len(p) >= 2*pageSize {
			s.pages[page] = slices.Clip(p[:pageSize])
			s.pages = slices.Insert(s.pages, page+1, slices.Clone(p[pageSize:]))
		}
	}
	s.count++
}

// remove removes an item, and reports whether it was there.
func (s *sorted[T]) remove(item T) bool {
	page, at, found := s.find(item)
	if !found {
		return false
	}
	if len(s.pages[page]) == 1 {
		s.pages = slices.Delete(s.pages, page, page+1)
	} else {
		s.pages[page] = slices.Delete(s.pages[page], at, at+1)
	}
	s.count--
	return true
}

// place is an item's index over all pages; -1 if absent.
func (s *sorted[T]) place(item T) int {
	page, at, found := s.find(item)
	if !found {
		return -1
	}
	for _, p := range s.pages[:page] {
		at += len(p)
	}
	return at
}

// slice returns up to n items from an index on.
func (s *sorted[T]) slice(from, n int) []T {
	var out []T
	for _, p := range s.pages {
		if from >= len(p) {
			from -= len(p)
			continue
		}
		out = append(out, p[from:min(len(p), from+n-len(out))]...)
		if from = 0; len(out) >= n {
			break
		}
	}
	return out
}
