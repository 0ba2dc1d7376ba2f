package zksource

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// At rest only what was refused is asked for, one after the other, and nothing that a watch reports.
func TestRefusedNodesAreAskedForInTurn(t *testing.T) {
	t.Parallel()
	const locks, shutOut = 40, 20
	var names []string
	for i := range locks + shutOut {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r := testRun(t, Config{Roots: []string{"/"}})
	r.ready, r.below, r.focus = true, []string{"/"}, map[string]bool{}
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, names...)
	for i, name := range names {
		d := r.dirs["/"+name]
		if d.phase, d.busy, d.readAt = listable, false, noon; i < locks {
			r.focus[d.path] = true
		} else {
			d.phase, d.count, r.refused[d.path] = shut, -1, refusal{read: readChildren, err: zk.ErrNoAuth, at: noon}
		}
	}
	r.queue.clear()
	asked, total := map[string]int{}, 0
	for beat := range 120 {
		at := noon.Add(time.Duration(beat) * time.Second)
		r.poll(at)
		for _, j := range slices.Concat(r.queue.urgent, r.queue.polls) {
			asked[j.dir.path]++
			total++
			j.dir.busy, j.dir.readAt = false, at
		}
		r.queue.clear()
	}
	if total > 60 || len(asked) != shutOut || asked["/l000"] > 0 {
		t.Errorf("%d requests in two minutes, for %v", total, asked)
	}
}

// What no watch reports is asked for within the budget, each in its turn, what is on the screen first.
func TestPollingObeysTheBudget(t *testing.T) {
	t.Parallel()
	const locks, seconds, perSecond = 1000, 60, 50
	r := testRun(t, Config{Roots: []string{"/"}, Budget: Budget{Steady: perSecond}})
	r.ready, r.firstPass = true, true
	var names []string
	for i := range locks {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, names...)
	r.queue.clear()
	for _, name := range names {
		d := r.dirs["/"+name]
		d.phase, d.busy, d.readAt = listable, false, noon
	}
	r.focus = map[string]bool{"/l500": true}
	asked, newest, total := map[string]int{}, map[string]time.Time{}, 0
	for ms := 0; ms < seconds*1000; ms += 10 {
		at := noon.Add(time.Duration(ms) * time.Millisecond)
		if ms%1000 == 0 {
			r.poll(at)
		}
		for !r.queue.empty() {
			j, _, ok := r.queue.next(at)
			if !ok {
				break
			}
			if since, before := newest[j.dir.path]; before && at.Sub(since) > 25*time.Second {
				t.Fatalf("%s waited %v", j.dir.path, at.Sub(since))
			}
			asked[j.dir.path]++
			newest[j.dir.path] = at
			total++
			j.dir.busy, j.dir.readAt = false, at
		}
	}
	if most := perSecond * (seconds + 1); total > most || total < perSecond*(seconds-10)*9/10 {
		t.Errorf("%d requests in %d s", total, seconds)
	}
	if len(asked) != locks+len("/") || asked["/l500"] < seconds/3 {
		t.Errorf("%d of %d locks, and the root, were asked for, the one on the screen %d times", len(asked), locks, asked["/l500"])
	}
}

// A directory that has children is listed before its many siblings are looked at: the first lock shows at
// once, however wide the tree is.
func TestTheFirstLockShowsHoweverWideTheTreeIs(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r := testRun(t, Config{Roots: []string{"/"}})
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1, NumChildren: 1000}, nil, names...)
	first, _, _ := r.queue.next(noon)
	r.answer(first.kind, first.dir.path, "", noon, &zk.Stat{Czxid: 2, NumChildren: 5}, nil)
	if next, _, ok := r.queue.next(noon); !ok || next.kind != jobList || next.dir != first.dir {
		t.Errorf("after the Stat of %s came %+v", first.dir.path, next)
	}
}
