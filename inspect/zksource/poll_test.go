package zksource

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// At rest nothing but what no watch tells is asked for, and that seldom: everything in turn.
func TestWhatIsOnTheScreenIsAskedForInTurn(t *testing.T) {
	const locks, shut = 40, 200
	var names []string
	for i := range locks + shut {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r := testRun(t, Config{Roots: []string{"/"}})
	r.ready = true
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, names...)
	r.dirs["/"].watched = true
	r.focus = map[string]bool{}
	for i, name := range names {
		d := r.dirs["/"+name]
		if d.phase, d.busy, d.readAt, d.watched = listable, false, noon, i < locks; i < locks {
			r.focus[d.path] = true
		} else {
			d.phase, d.count, r.refused[d.path] = shut, -1, refusal{read: readChildren, err: zk.ErrNoAuth, at: noon}
		}
	}
	r.queue.clear()
	asked := map[string]int{}
	const beats = 240
	for beat := range beats {
		at := noon.Add(time.Duration(beat) * time.Second)
		r.poll(at)
		for _, j := range slices.Concat(r.queue.urgent, r.queue.polls) {
			asked[j.dir.path]++
			j.dir.busy, j.dir.readAt = false, at
		}
		r.queue.clear()
	}
	total, onScreen := 0, 0
	for p, n := range asked {
		total += n
		if r.focus[p] {
			onScreen++
		}
	}
	if total > beats/2 || onScreen != locks || len(asked)-onScreen < 50 {
		t.Errorf("%d requests in %d s, for %d of %d locks on the screen and %d others", total, beats, onScreen, locks, len(asked)-onScreen)
	}
}
