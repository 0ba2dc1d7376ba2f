package zksource

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// At rest nothing but what no watch reports is asked for, and that seldom: everything in turn.
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

// Where every directory is watched none is looked at for polling, until one may be watched no more, or another is found that is not.
func TestWhatIsWatchedNoMoreIsPolled(t *testing.T) {
	r := testRun(t, Config{Roots: []string{"/"}, Budget: Budget{Watches: 3}})
	r.ready = true
	list := func(p string, children ...string) {
		r.answer(jobList, p, "", noon, &zk.Stat{Czxid: 1, NumChildren: int32(len(children))}, nil, children...)
		r.queue.clear()
	}
	list("/", "a", "b")
	for _, d := range r.dirs {
		d.phase, d.busy, d.readAt, d.watched = listable, false, noon, true
	}
	at := noon
	polled := func() (paths []string) {
		at = at.Add(r.beats.others)
		r.poll(at)
		for _, j := range slices.Concat(r.queue.urgent, r.queue.polls) {
			paths = append(paths, j.dir.path)
			j.dir.busy = false
		}
		r.queue.clear()
		return paths
	}
	for range 2 {
		if got := polled(); got != nil {
			t.Fatalf("%v are polled although they are watched", got)
		}
	}
	if at.Sub(r.walkedAt) < r.beats.others {
		t.Error("all are looked at again, although each was watched and none has changed")
	}
	r.fired("/a", zk.EventNodeChildrenChanged, at) // and nothing sets the watch again
	r.queue.clear()
	r.dirs["/a"].busy = false
	if got := polled(); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("%v are polled, want what is watched no more", got)
	}
	r.dirs["/a"].watched = true
	polled()
	list("/", "a", "b", "c")
	r.dirs["/"].watched, r.dirs["/c"].phase, r.dirs["/c"].busy = true, listable, false
	if got := polled(); !slices.Equal(got, []string{"/c"}) {
		t.Errorf("%v are polled, want what came and is not watched", got)
	}
}

// What no watch reports is asked for within the budget, each in its turn, what is on the screen first.
func TestPollingObeysTheBudget(t *testing.T) {
	const locks, seconds, perSecond = 1000, 60, 50
	r := testRun(t, Config{Roots: []string{"/"}, Budget: Budget{Steady: perSecond}})
	r.ready = true
	var names []string
	for i := range locks {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r.answer(jobList, "/", "", noon, &zk.Stat{Czxid: 1}, nil, names...)
	r.dirs["/"].watched = true
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
	if len(asked) != locks || asked["/l500"] < seconds/3 {
		t.Errorf("%d of %d locks were asked for, the one on the screen %d times", len(asked), locks, asked["/l500"])
	}
}

// A directory that has children is listed before its many siblings are looked at: the first lock shows at once, however wide
// the tree is.
func TestTheFirstLockShowsHoweverWideTheTreeIs(t *testing.T) {
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
