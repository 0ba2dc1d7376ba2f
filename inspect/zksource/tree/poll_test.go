package tree

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// wide is a tree that has listed that many directories, /l000 and so on, at noon.
func wide(directories int) *Tree {
	r := grown(Config{Roots: []string{"/"}})
	r.FirstPass = true
	var names []string
	for i := range directories {
		names = append(names, fmt.Sprintf("l%03d", i))
	}
	r.answer(JobList, "/", Stat{Czxid: 1}, names...)
	for _, name := range names {
		d := r.dirs["/"+name]
		d.phase, d.asked, d.readAt = listable, idle, noon
	}
	r.Queue.clear()
	return r
}

// An idle tree retries only refused reads, in turn. Watches report the rest.
func TestRefusedReadsAreRetriedInTurn(t *testing.T) {
	t.Parallel()
	const locks, shutOut = 40, 20
	r := wide(locks + shutOut)
	r.FirstPass, r.server.Watched, r.focus = false, []string{"/"}, map[string]bool{}
	for p, d := range r.dirs {
		if p < fmt.Sprintf("/l%03d", locks) {
			r.focus[p] = p != "/"
			continue
		}
		d.phase, d.count = shut, -1
		r.blind.refused[p] = refusal{read: readChildren, err: ErrDenied, at: noon}
	}
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
	must.True(t, total <= 60, total, "requests in two minutes", asked)
	must.Equal(t, len(asked), shutOut, "directories read", asked)
	must.Equal(t, asked["/l000"], 0, "reads of a directory that was not refused")
}

func TestPollingTakesTurns(t *testing.T) {
	t.Parallel()
	const locks, seconds = 1000, 60
	r := wide(locks)
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
	must.Equal(t, len(asked), locks+len("/"), "directories")
	must.True(t, asked["/l500"] >= seconds/3, "requests of the focused one", asked["/l500"])
	must.True(t, asked["/l499"] >= 4 && asked["/l499"] <= 6, "requests of another", asked["/l499"])
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
	r.answer(JobList, "/", Stat{Czxid: 1, NumChildren: 1000}, names...)
	first := r.Queue.Pick()
	r.answer(first.Kind, first.Dir.Path, Stat{Czxid: 2, NumChildren: 5})
	next := r.Queue.Pick()
	must.True(t, next.Kind == JobList && next.Dir == first.Dir, "after the Stat of", first.Dir.Path, "came", next)
}

// While urgent reads leave no capacity, comparisons of directories do not pile up. They continue
// afterwards.
func TestComparisonsDoNotPileUp(t *testing.T) {
	t.Parallel()
	const directories = 3 * comparedAtOnce
	r := wide(directories)
	r.server.Watched = []string{"/"}
	now := noon
	beats := func(n int) {
		for range n {
			now = now.Add(time.Second)
			r.compareSome(now)
		}
	}
	beats(600)
	n := len(r.Queue.Polls)
	must.True(t, n > 0 && n <= comparedAtOnce, n, "comparisons are queued")
	seen := map[*Dir]bool{}
	for range 600 {
		for _, j := range r.Queue.Polls {
			seen[j.Dir] = true
		}
		r.Queue.Polls = nil
		beats(1)
	}
	must.True(t, len(seen) >= directories, len(seen), "of", directories, "were compared")
	r.Queue.Polls = []Job{{Kind: JobStat, Dir: r.dirs["/l000"]}}
	beats(60)
	must.True(t, len(r.Queue.Polls) >= 2, "no comparison while other reads are queued")
}

// Each directory is compared once a minute, in as few requests as possible.
func TestSweepComparesEachDirectoryOnce(t *testing.T) {
	t.Parallel()
	r := wide(5*comparedAtOnce - len("/"))
	r.server.Watched = []string{"/"}
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
	must.Equal(t, requests, 5, "requests")
	must.Equal(t, len(compared), 5*comparedAtOnce, "directories")
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
		must.Equal(t, lists, map[bool]int{true: 0, false: 90}[once], "lists among 100 reads; once", once)
	}
}
