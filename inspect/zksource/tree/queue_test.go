package tree

import (
	"strings"
	"testing"
)

// Contenders that are read one by one are read in queue order, the holder first.
func TestTheHolderIsReadFirst(t *testing.T) {
	t.Parallel()
	r := grown(Config{})
	d := &Dir{Path: "/locks/a"}
	d.list([]string{"_c_2f7a3d62-0000-4000-8000-000000000000-lock-0000000002", "_c_f4c1e1aa-0000-4000-8000-000000000000-lock-0000000001"})
	r.dirs[d.Path], r.focus = d, map[string]bool{d.Path: true}
	var jobs []Job
	r.readWanted(d, &jobs)
	if len(jobs) != 2 || !strings.HasSuffix(jobs[0].Name, "1") {
		t.Errorf("%+v", jobs)
	}
}

// A one-shot read finishes the locks found so far before it looks for many more. A watching source
// gets the lengths of all queues first.
func TestOneShotFinishesLocksBeforeListing(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		q := Queue{whole: once}
		for range enoughReads + 100 {
			q.Reads, q.Lists = append(q.Reads, Job{Kind: JobGet}), append(q.Lists, Job{Kind: JobList})
		}
		lists := 0
		for range 100 {
			if q.Pick().Kind == JobList {
				lists++
			}
		}
		if want := 90; once != (lists == 0) || !once && lists != want {
			t.Errorf("once %v: %d lists among 100 reads", once, lists)
		}
	}
}
