package inspect

import "unique"

// Shared is a value that many have in common, or few have at all, in 8 bytes: equal ones are kept once while anybody has them, so
// that == compares values. The zero Shared is of the zero value.
type Shared[T comparable] struct{ of unique.Handle[T] }

// SharedOf is a value's.
func SharedOf[T comparable](value T) (s Shared[T]) {
	var zero T
	if value != zero {
		s.of = unique.Make(value)
	}
	return s
}

// Get is the value.
func (s Shared[T]) Get() (value T) {
	if s != (Shared[T]{}) {
		value = s.of.Value()
	}
	return value
}

// Change sets it to the value as changed by f; who else has the value keeps it as it was.
func (s *Shared[T]) Change(f func(*T)) {
	value := s.Get()
	f(&value)
	*s = SharedOf(value)
}

// Equal reports whether the values are equal, as == does.
func (s Shared[T]) Equal(other Shared[T]) bool { return s == other }
