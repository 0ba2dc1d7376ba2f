package redissource

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
)

// A key with a new holder was handed over, unless the master may have evicted it first.
func TestARetakenKeyMayBeUnsure(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int64
		value inspect.Untrusted
		want  bool
	}{
		"renewed":                     {limit: 1, value: "x"},
		"handed over":                 {limit: 0, value: "y"},
		"maybe evicted, and retaken":  {limit: 1, value: "y", want: true},
		"retaken, and INFO is denied": {limit: -1, value: "y", want: true},
	} {
		w := newWatchedRun(t)
		for i, p := range w.masters {
			p.setStatus(limited(0))
			if i == 0 {
				p.reported = false
				p.setStatus(limited(tt.limit))
			}
		}
		w.clock = noon.Add(time.Second)
		w.answer(tt.value, 0, 1)
		if v := w.table.entries["lock:a"].votes; v[0].Unsure != tt.want || v[1].Unsure {
			t.Errorf("%s: %+v", name, v)
		}
		w.flush(w.attend())
		w.clock = w.clock.Add(time.Second)
		w.answer(tt.value, 0)
		w.flush(w.attend())
		if w.table.entries["lock:a"].votes[0].Unsure {
			t.Errorf("%s: the new holder is unsure too", name)
		}
	}
}

// limited is the status of a master that evicts above maxMemory; -1 is one that denies INFO.
func limited(maxMemory int64) node.Status {
	if maxMemory < 0 {
		return node.Status{}
	}
	return node.Status{Reported: true, Server: inspect.Server{MaxMemory: maxMemory, EvictionPolicy: "allkeys-lru"}}
}

// After a flush of any database it is unknown how a key went away, until the key is read again.
func TestAFlushLeavesTheEndUnsure(t *testing.T) {
	flush := func(w *watchedRun) { w.masters[0].inbox.addAll(); w.read() }
	read := func(value inspect.Untrusted) func(*watchedRun) {
		return func(w *watchedRun) { w.answer(value, 0) }
	}
	for name, tt := range map[string]struct {
		steps []func(*watchedRun)
		want  bool
	}{
		"deleted":                   {steps: []func(*watchedRun){read("")}},
		"flushed":                   {steps: []func(*watchedRun){flush, read("")}, want: true},
		"flushed, and still gone":   {steps: []func(*watchedRun){flush, read(""), read("")}, want: true},
		"another database, deleted": {steps: []func(*watchedRun){flush, read("x"), read("")}},
		"flushed, and retaken":      {steps: []func(*watchedRun){flush, read("y")}, want: true},
		"its connection was lost":   {steps: []func(*watchedRun){func(w *watchedRun) { w.push(pushState{armed: true}) }, read("")}, want: true},
	} {
		w := newWatchedRun(t)
		for _, p := range w.masters {
			p.setStatus(limited(0))
		}
		for _, do := range tt.steps {
			w.clock = w.clock.Add(time.Millisecond)
			do(w)
		}
		if v := w.table.entries["lock:a"].votes; v[0].Unsure != tt.want || v[1].Unsure {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A key missing from a count without a push is read again, and how it ended is unknown.
func TestUnpushedEndIsUncertain(t *testing.T) {
	for name, tt := range map[string]struct {
		pushed, read, polled bool
		want                 bool
	}{
		"not pushed": {want: true},
		"pushed":     {pushed: true},
		"read since": {read: true},
		"polled":     {polled: true},
	} {
		w := newWatchedRun(t)
		p := w.masters[0]
		p.setStatus(limited(0))
		if !tt.polled {
			w.push(pushState{armed: true})
		}
		p.server.State = inspect.ServerUp
		p.forgetReads()
		w.answer("x", 0)
		asked := noon.Add(time.Second)
		w.clock = asked.Add(time.Second)
		if tt.pushed {
			p.inbox.add([]string{"lock:a"})
			w.read()
		}
		if tt.read {
			w.answer("x", 0)
		}
		w.counted(counted{gone: []string{"lock:a"}, asked: asked})
		must.True(t, p.wanted["lock:a"], name, "not read again")
		w.answer("", 0)
		must.Equal(t, w.table.entries["lock:a"].votes[0].Unsure, tt.want, name, "unsure")
	}
}

// After an eviction, one of several holders may be back. The others did not release the lock.
func TestMissingHolderMeansKeyWasReplaced(t *testing.T) {
	claims := func(words string) *inspect.Vote {
		v := &inspect.Vote{Up: true, Present: true, Held: &recipe.Record{}}
		for _, name := range strings.Fields(words) {
			who, waits := strings.CutSuffix(name, "?")
			v.Held.Claims = append(v.Held.Claims, recipe.Claim{Name: who, Waiting: waits})
		}
		return v
	}
	for _, tt := range []struct {
		was, is string
		want    bool
	}{
		{"x y?", "y", true},
		{"x y?", "x", false},
		{"x y?", "y?", true},
		{"x y", "y z", true},
		{"x y", "y", true},
		{"y", "y z", false},
		{"x y", "y x z?", false},
		{"", "x", false},
		{"", "", false},
		{"y?", "y", false},
	} {
		must.Equal(t, replaced(claims(tt.was), claims(tt.is)), tt.want, tt.was, tt.is)
	}
	x := held(0, "x", time.Hour, noon)
	if !replaced(&x, claims("x")) || !replaced(claims("x"), &x) || replaced(claims(""), &x) || replaced(&x, &x) {
		t.Error("a plain key and a record")
	}
}
