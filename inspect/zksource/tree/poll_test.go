package tree

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// An idle tree retries only refused reads, in turn. Watches report the rest.
func TestRefusedReadsAreRetriedInTurn(t *testing.T) {
	t.Parallel()
	const locks, shutOut = 40, 20
	var names []string
	for i := range locks + shutOut {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r := grown(Config{Roots: []string{"/"}})
	r.server.Watched, r.focus = []string{"/"}, map[string]bool{}
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, names...)
	for i, name := range names {
		d := r.dirs["/"+name]
		if d.phase, d.asked, d.readAt = listable, idle, noon; i < locks {
			r.focus[d.Path] = true
		} else {
			d.phase, d.count = shut, -1
			r.blind.refused[d.Path] = refusal{read: readChildren, err: ErrDenied, at: noon}
		}
	}
	r.Queue.clear()
	asked, total := map[string]int{}, 0
	for beat := range 120 {
		at := noon.Add(time.Duration(beat) * time.Second)
		r.Poll(at)
		for _, j := range slices.Concat(r.Queue.Urgent, r.Queue.Polls) {
			asked[j.Dir.Path]++
			total++
			j.Dir.asked, j.Dir.readAt = idle, at
		}
		r.Queue.clear()
	}
	if total > 60 || len(asked) != shutOut || asked["/l000"] > 0 {
		t.Errorf("%d requests in two minutes: %v", total, asked)
	}
}

func TestPollingTakesTurns(t *testing.T) {
	t.Parallel()
	const locks, seconds = 1000, 60
	r := grown(Config{Roots: []string{"/"}})
	r.FirstPass = true
	var names []string
	for i := range locks {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, names...)
	r.Queue.clear()
	for _, name := range names {
		d := r.dirs["/"+name]
		d.phase, d.asked, d.readAt = listable, idle, noon
	}
	r.focus = map[string]bool{"/l500": true}
	asked := map[string]int{}
	for second := range seconds {
		at := noon.Add(time.Duration(second) * time.Second)
		r.Poll(at)
		for !r.Queue.Empty() {
			j := r.Queue.Pick()
			asked[j.Dir.Path]++
			j.Dir.asked, j.Dir.readAt = idle, at
		}
	}
	if len(asked) != locks+len("/") || asked["/l500"] < seconds/3 || asked["/l499"] < 4 || asked["/l499"] > 6 {
		t.Errorf("%d directories were requested, the focused /l500 %d times, /l499 %d times", len(asked), asked["/l500"], asked["/l499"])
	}
}

// A directory with children is listed before its many siblings are read, so that the first lock
// appears quickly in any tree.
func TestWideTreeShowsFirstLockEarly(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r := grown(Config{Roots: []string{"/"}})
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1, NumChildren: 1000}, nil, names...)
	first := r.Queue.Pick()
	r.answer(first.Kind, first.Dir.Path, "", noon, &Stat{Czxid: 2, NumChildren: 5}, nil)
	if next := r.Queue.Pick(); next.Kind != JobList || next.Dir != first.Dir {
		t.Errorf("after the Stat of %s came %+v", first.Dir.Path, next)
	}
}
