package redissource

import (
	"testing"
	"time"
)

func TestAFlushIsToldFromADelete(t *testing.T) {
	const after = 100 * time.Millisecond
	for name, tt := range map[string]struct {
		do   func(b *keyTable) // a flush was reported or not
		at   time.Duration     // of the reading that finds nothing
		want bool
	}{
		"deleted":                    {func(*keyTable) {}, after, false},
		"flushed":                    {func(b *keyTable) { b.flush(0, nil, noon) }, after, true},
		"of another master":          {func(b *keyTable) { b.flush(1, nil, noon) }, after, false},
		"deleted, and then flushed":  {func(b *keyTable) { b.flush(0, map[string]bool{"k": true}, noon) }, after, false},
		"another database, deleted":  {func(b *keyTable) { b.flush(0, nil, noon); b.reportedByName(0, "k") }, after, false},
		"another database, long ago": {func(b *keyTable) { b.flush(0, nil, noon) }, flushedFor + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := testTable(2)
			b.add("k", noon)
			b.vote(0, "k", held(0, "a", time.Minute, noon), noon)
			b.vote(1, "k", held(1, "a", time.Minute, noon), noon)
			b.judge("k", noon)
			tt.do(b)
			b.vote(0, "k", absent(0), noon.Add(tt.at))
			b.vote(1, "k", held(1, "a", time.Minute, noon), noon.Add(tt.at))
			b.vote(0, "k", absent(0), noon.Add(tt.at+after)) // it is told for as long as the key is not there
			l, _ := b.judge("k", noon.Add(tt.at+after))
			if l == nil || l.Masters[0].Flushed != tt.want || l.Masters[1].Flushed {
				t.Errorf("%+v", l)
			}
			b.vote(0, "k", held(0, "b", time.Minute, noon), noon.Add(tt.at+2*after))
			if l, _ := b.judge("k", noon.Add(tt.at+2*after)); l == nil || l.Masters[0].Flushed {
				t.Errorf("it is there again: %+v", l)
			}
		})
	}
}
