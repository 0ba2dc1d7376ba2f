package sourcetest

import (
	"testing"
	"time"
	"unsafe"
)

// WallSet is a reading of a clock whose wall part was set ahead by whole seconds (below zero: back), and whose monotonic part was not.
// Nothing public makes one: the first word of a time.Time has the wall's seconds above 30 bits of nanoseconds.
func WallSet(t testing.TB, now time.Time, by time.Duration) time.Time {
	t.Helper()
	set := now
	*(*uint64)(unsafe.Pointer(&set)) += uint64(by/time.Second) << 30
	if set.Sub(now) != 0 || set.Round(0).Sub(now.Round(0)) != by {
		t.Fatalf("%v is not %v set by %v", set, now, by)
	}
	return set
}
