package tree

import (
	"fmt"
	"testing"
	"time"
)

// While urgent reads leave no capacity, comparisons of directories do not pile up. They continue
// afterwards.
func TestComparisonsDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/"}})
	r.FirstPass = true
	r.server.Watched = []string{"/"}
	const directories = 3 * comparedAtOnce
	for i := range directories {
		p := fmt.Sprint("/l", i)
		r.dirs[p] = &Dir{Path: p, phase: listable}
	}
	now := noon
	beats := func(n int) {
		for range n {
			now = now.Add(time.Second)
			r.compareSome(now)
		}
	}
	beats(600)
	if n := len(r.Queue.Polls); n == 0 || n > comparedAtOnce {
		t.Errorf("%d comparisons are queued", n)
	}
	seen := map[*Dir]bool{}
	for range 600 {
		for _, j := range r.Queue.Polls {
			seen[j.Dir] = true
		}
		r.Queue.Polls = nil
		beats(1)
	}
	if len(seen) < directories {
		t.Errorf("%d of %d were compared", len(seen), directories)
	}
	r.Queue.Polls = []Job{{Kind: JobStat, Dir: r.dirs["/l0"]}}
	if beats(60); len(r.Queue.Polls) < 2 {
		t.Error("no comparison while other reads are queued")
	}
}

// Each directory is compared once a minute, in as few requests as possible.
func TestSweepComparesEachDirectoryOnce(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/"}})
	r.FirstPass, r.server.Watched = true, []string{"/"}
	for i := range 5 * comparedAtOnce {
		p := fmt.Sprint("/l", i)
		r.dirs[p] = &Dir{Path: p, phase: listable}
	}
	requests, compared := 0, map[*Dir]bool{}
	for now, end := noon, noon.Add(r.cfg.Sweep); now.Before(end); now = now.Add(time.Second) {
		if r.compareSome(now); len(r.Queue.Polls) > 0 {
			requests++
		}
		for _, j := range r.Queue.Polls {
			compared[j.Dir] = true
		}
		r.Queue.Polls = nil
	}
	if requests != 5 || len(compared) != 5*comparedAtOnce {
		t.Errorf("%d requests for %d directories", requests, len(compared))
	}
}
