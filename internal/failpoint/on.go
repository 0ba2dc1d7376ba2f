//go:build failpoints

package failpoint

import "sync/atomic"

var stop atomic.Pointer[func(place string)]

// Stop installs f, which every goroutine calls when it reaches a place. The goroutine continues when
// f returns.
func Stop(f func(place string)) { stop.Store(&f) }

// At marks a place.
func At(place string) {
	if f := stop.Load(); f != nil {
		(*f)(place)
	}
}
