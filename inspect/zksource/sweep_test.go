package zksource

import (
	"fmt"
	"testing"

	"lockscope/internal/connect"
)

// While what is urgent takes all that a server answers, the comparisons of directories do not pile up behind
// it, and go on after it.
func TestComparisonsDoNotPileUp(t *testing.T) {
	t.Parallel()
	for _, manyReads := range []bool{true, false} {
		r := testRun(t, Config{Roots: []string{"/"}})
		r.manyReads, r.firstPass = manyReads, true
		r.below = []string{"/"}
		const directories = 3 * connect.MostItems
		for i := range directories {
			p := fmt.Sprint("/l", i)
			r.dirs[p] = &dir{path: p, phase: listable}
		}
		now := noon
		beats := func(n int) {
			for range n {
				now = now.Add(r.beats.poll)
				r.sweep(now)
			}
		}
		beats(600)
		if n := len(r.queue.polls); n == 0 || n > connect.MostItems {
			t.Errorf("many reads %v: %d are queued", manyReads, n)
		}
		seen := map[*dir]bool{}
		for range 600 {
			for _, j := range r.queue.polls {
				seen[j.dir] = true
			}
			r.queue.polls = nil
			beats(1)
		}
		if len(seen) < directories {
			t.Errorf("many reads %v: %d of %d were compared", manyReads, len(seen), directories)
		}
		if manyReads {
			r.queue.polls = []job{{kind: jobStat, dir: r.dirs["/l0"]}}
			if beats(60); len(r.queue.polls) < 2 {
				t.Error("not compared while others are polled")
			}
		}
	}
}

// A minute compares each directory once, in no more requests than that takes.
func TestComparisonsTakeNoMoreRequestsThanTheyNeed(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/"}})
	r.manyReads, r.firstPass, r.below = true, true, []string{"/"}
	for i := range 5 * connect.MostItems {
		p := fmt.Sprint("/l", i)
		r.dirs[p] = &dir{path: p, phase: listable}
	}
	requests, compared := 0, map[*dir]bool{}
	for now, end := noon, noon.Add(r.beats.sweep); now.Before(end); now = now.Add(r.beats.poll) {
		if r.sweep(now); len(r.queue.polls) > 0 {
			requests++
		}
		for _, j := range r.queue.polls {
			compared[j.dir] = true
		}
		r.queue.polls = nil
	}
	if requests != 5 || len(compared) != 5*connect.MostItems {
		t.Errorf("%d requests for %d directories", requests, len(compared))
	}
}
