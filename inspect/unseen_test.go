package inspect

import (
	"testing"
	"time"
)

// A lock is free only if we saw that it has no holder.
func TestUnseenHolderIsNotFree(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	unseen := func(a Aspect, where ...string) (list []Unseen) {
		for _, w := range where {
			list = append(list, Unseen{Aspect: a, Where: w})
		}
		return list
	}
	absent := func(n int) *Lock {
		var votes []Vote
		for _, addr := range []string{"r1", "r2", "r3"}[:n] {
			votes = append(votes, Vote{Addr: addr, Up: true})
		}
		return KeyLock(ID{"redis", "lock:a"}, votes, now)
	}
	directory := func() *Lock { return FreeDirectory(ID{"zk", "/a"}, nil, now) }
	held := KeyLock(ID{"redis", "lock:a"}, []Vote{{Addr: "r1", Up: true, Present: true, Value: "t", NoExpiry: true}}, now)
	for name, tt := range map[string]struct {
		l      *Lock
		unseen []Unseen
		want   State
	}{
		"all was seen":                     {absent(1), nil, StateFree},
		"when it expires is unknown":       {absent(1), unseen(AspectExpiry, "r1"), StateFree},
		"the only master hides the holder": {absent(1), unseen(AspectHolders, "r1"), StateUnknown},
		"one of three hides it":            {absent(3), unseen(AspectHolders, "r2"), StateFree},
		"one of three hides it twice":      {absent(3), append(unseen(AspectHolders, "r2"), unseen(AspectKind, "r2")...), StateFree},
		"two of three hide it":             {absent(3), unseen(AspectHolders, "r1", "r2"), StateUnknown},
		"a directory that may not be read": {directory(), unseen(AspectHolders, ""), StateUnknown},
		"an empty directory":               {directory(), nil, StateFree},
		"a visible holder":                 {held, unseen(AspectHolders, "r1"), StateHeld},
	} {
		l := clone(tt.l)
		l.Unseen = tt.unseen
		if l.admitUnknown(); l.State != tt.want {
			t.Errorf("%s: %s, want %s", name, l.State, tt.want)
		}
	}
}
