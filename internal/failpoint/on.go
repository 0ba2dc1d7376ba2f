//go:build failpoints

package failpoint

import "sync/atomic"

var stop atomic.Pointer[func(place string)]

// Stop has f called by whoever comes by a place; it returns when they may go on.
func Stop(f func(place string)) { stop.Store(&f) }

// At marks a place.
func At(place string) {
	if f := stop.Load(); f != nil {
		(*f)(place)
	}
}
