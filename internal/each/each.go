// Package each has loops over lists that package slices lacks.
package each

import "iter"

// Of returns the results of f for each element.
func Of[T, R any](list []T, f func(T) R) []R {
	made := make([]R, len(list))
	for i, v := range list {
		made[i] = f(v)
	}
	return made
}

// Any reports whether is holds for an element of a sequence.
func Any[T any](all iter.Seq[T], is func(T) bool) bool {
	for v := range all {
		if is(v) {
			return true
		}
	}
	return false
}

// Where returns the elements for which is holds.
func Where[T any](list []T, is func(T) bool) (kept []T) {
	for _, v := range list {
		if is(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Count counts the elements for which is holds.
func Count[T any](list []T, is func(T) bool) (n int) {
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}
