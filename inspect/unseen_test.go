package inspect

import (
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// A lock is free only if we saw that it has no holder.
func TestUnseenHolderIsNotFree(t *testing.T) {
	unseen := func(a Aspect, where ...string) (list []Unseen) {
		for _, w := range where {
			list = append(list, Unseen{Aspect: a, Where: w})
		}
		return list
	}
	key := func(votes string) *Lock { return KeyLock(ID{"redis", "lock:a"}, ballots(votes), now) }
	directory := FreeDirectory(ID{"zk", "/a"}, nil, now)
	for name, tt := range map[string]struct {
		l      *Lock
		unseen []Unseen
		want   State
	}{
		"all was seen":                     {key("-"), nil, StateFree},
		"when it expires is unknown":       {key("-"), unseen(AspectExpiry, "a"), StateFree},
		"the only master hides the holder": {key("-"), unseen(AspectHolders, "a"), StateUnknown},
		"one of three hides it":            {key("- - -"), unseen(AspectHolders, "b"), StateFree},
		"one of three hides it twice":      {key("- - -"), append(unseen(AspectHolders, "b"), unseen(AspectKind, "b")...), StateFree},
		"two of three hide it":             {key("- - -"), unseen(AspectHolders, "a", "b"), StateUnknown},
		"a directory that may not be read": {directory, unseen(AspectHolders, ""), StateUnknown},
		"an empty directory":               {directory, nil, StateFree},
		"a visible holder":                 {key("x"), unseen(AspectHolders, "a"), StateHeld},
	} {
		l := clone(tt.l)
		l.Unseen = tt.unseen
		l.admitUnknown()
		must.Equal(t, l.State, tt.want, name)
	}
}
