package zksource

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"lockscope/internal/connect"
)

// A look by a budget is made of short requests, of which two wait on the server at most, and on a far one as
// many more as the budget sends while one is on its way; a look without one, and what changed later, of long
// ones.
func TestALookIsGentle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		cfg        Config
		quickest   time.Duration
		found      bool // what is asked for has changed, and was not found just now
		slow       bool
		bytes      uint64 // of an answer to one read, as seen
		items, fly int
	}{
		{name: "before the first answer", items: 50, fly: 2},
		{name: "a server nearby", quickest: time.Millisecond, items: 50, fly: 2},
		{name: "a server far away", quickest: 25 * time.Millisecond, items: 50, fly: 22},
		{name: "a server on the moon", quickest: 2 * time.Second, items: 50, fly: 64},
		{name: "one that has become slow", quickest: 25 * time.Millisecond, slow: true, items: 50, fly: 2},
		{name: "long answers", quickest: 250 * time.Millisecond, bytes: 4 << 10, items: 50, fly: 7},
		{name: "short answers", quickest: 25 * time.Millisecond, bytes: 80, items: 50, fly: 22},
		{name: "a tenth of the budget", cfg: Config{Budget: Budget{Items: 4000}}, quickest: 25 * time.Millisecond, items: 50, fly: 4},
		{name: "what changed", quickest: 25 * time.Millisecond, found: true, items: 200, fly: 4},
		{name: "a command", cfg: Config{Once: true}, quickest: 25 * time.Millisecond, items: 50, fly: 52},
		{name: "no budget", cfg: Config{Budget: Budget{Unlimited: true}}, quickest: 25 * time.Millisecond, items: 200, fly: 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(tt.cfg).newRun(t.Context(), nil)
			r.link = &link{quickest: tt.quickest, spare: mostInFlight}
			r.queue.pace.Slow, r.itemsRead, r.bytesRead = tt.slow, 1, tt.bytes
			for range 10 {
				r.size.Answered(r.size.Items(), r.size.Items()) // it has learnt that answers are short
			}
			d := &dir{path: "/locks/a"}
			r.dirs[d.path] = d
			list := &r.queue.reads
			if tt.found {
				list = &r.queue.urgent
			}
			for i := range 2 * connect.MostItems {
				name := strconv.Itoa(i)
				d.await(name)
				*list = append(*list, job{kind: jobGet, dir: d, name: name})
			}
			if fly := r.mayFly(); fly != tt.fly {
				t.Errorf("%d requests may be on their way, want %d", fly, tt.fly)
			}
			if b := r.gather(); b.items != tt.items {
				t.Errorf("%d reads in a request, want %d", b.items, tt.items)
			}
		})
	}
}

// A path that is too long for a request of its kind goes by itself.
func TestAReadOfALongPathSharesNoRequest(t *testing.T) {
	t.Parallel()
	r := New(Config{}).newRun(t.Context(), nil)
	r.link = &link{}
	d := &dir{path: "/locks/a"}
	r.dirs[d.path] = d
	for _, name := range []string{"short", strings.Repeat("x", requestGoal), "shorter"} {
		d.await(name)
		r.queue.reads = append(r.queue.reads, job{kind: jobGet, dir: d, name: name})
	}
	b := r.gather()
	if len(b.jobs) != 2 || len(r.queue.alone) != 1 || len(r.queue.alone[0].name) != requestGoal {
		t.Errorf("%d share a request, %d go by themselves", len(b.jobs), len(r.queue.alone))
	}
	if want := 8 + len(connect.MultiRead(b.reads, nil).Body); b.length != want {
		t.Errorf("the request is taken for %d bytes long, it has %d", b.length, want)
	}
}

// Contenders that are read one by one are read in the order of their queue: the holder first.
func TestTheHolderIsReadFirst(t *testing.T) {
	t.Parallel()
	r := New(Config{}).newRun(t.Context(), nil)
	d := &dir{path: "/locks/a"}
	d.list([]string{"_c_2f7a3d62-0000-4000-8000-000000000000-lock-0000000002", "_c_f4c1e1aa-0000-4000-8000-000000000000-lock-0000000001"})
	r.dirs[d.path], r.focus = d, map[string]bool{d.path: true}
	var jobs []job
	r.readWanted(d, &jobs, nil)
	if len(jobs) != 2 || !strings.HasSuffix(jobs[0].name, "1") {
		t.Errorf("%+v", jobs)
	}
}

// Who looks once reads the locks that were found before he looks for many more; a screen, the lengths of all
// queues first.
func TestWhoLooksOnceReadsEachLockToItsEnd(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		q := newQueue(Config{Once: once, Budget: Budget{Unlimited: true}})
		d := &dir{path: "/locks/a"}
		for range enoughReads + 100 {
			q.reads, q.lists = append(q.reads, job{kind: jobGet, dir: d}), append(q.lists, job{kind: jobList, dir: d})
		}
		lists := 0
		for range 100 {
			if q.pick().kind == jobList {
				lists++
			}
		}
		if want := 90; once != (lists == 0) || !once && lists != want {
			t.Errorf("once %v: %d lists among 100 reads", once, lists)
		}
	}
}

// However small its budget, a queue lets something pass.
func TestASmallBudgetIsNotNone(t *testing.T) {
	t.Parallel()
	q := newQueue(Config{Budget: Budget{Items: 5, Bytes: 100, Requests: 1}})
	q.walk = []job{{kind: jobList, dir: &dir{path: "/locks"}}}
	if wait := q.takeToken(time.Unix(1, 0)); wait != 0 {
		t.Errorf("the first request has to wait for %v", wait)
	}
}

// A look begins with two requests, however late the server's greeting was, and has more on their way only as
// long as they are answered no later than one alone: a server far away soon has as many as the budget sends,
// one that is slow does not.
func TestALookFindsOutWhetherAServerIsFarOrSlow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		took              func(flying int) time.Duration
		apart             time.Duration // two answers
		most, last, after int           // as many after so many answers
	}{
		"far away": {func(int) time.Duration { return 250 * time.Millisecond }, time.Millisecond, 64, 64, 8},
		"far away, over a network that holds back": {func(int) time.Duration { return 250 * time.Millisecond }, 0, 64, 64, 8},
		"slow":                            {func(flying int) time.Duration { return time.Duration(flying) * 250 * time.Millisecond }, 250 * time.Millisecond, 3, 2, 1},
		"slow, and answers come in pairs": {func(flying int) time.Duration { return time.Duration(flying) * 250 * time.Millisecond }, 0, 10, 2, 20},
		"far, and slow": {func(flying int) time.Duration {
			return 250*time.Millisecond + time.Duration(flying)*10*time.Millisecond
		}, 10 * time.Millisecond, 16, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{}).newRun(t.Context(), nil)
			r.link = &link{quickest: 250 * time.Millisecond}
			d := &dir{path: "/locks/a"}
			r.queue.reads = []job{{kind: jobGet, dir: d, name: "0"}}
			if fly := r.mayFly(); fly != gentleInFlight {
				t.Fatalf("begins with %d", fly)
			}
			most := 0
			for i := range 200 {
				if i == tt.after && r.mayFly() < tt.last {
					t.Errorf("%d requests on their way after %d answers, want %d", r.mayFly(), i, tt.last)
				}
				most = max(most, r.mayFly())
				r.link.quicker(tt.took(r.mayFly()), tt.apart)
			}
			if fly := r.mayFly(); most > tt.most || fly < tt.last {
				t.Errorf("%d requests on their way, %d at most; want %d to %d", fly, most, tt.last, tt.most)
			}
		})
	}
	l := &link{spare: 40}
	for range 5 {
		l.quicker(time.Second, time.Second)
		l.quicker(3*time.Second, time.Second)
	}
	if l.spare > 5 {
		t.Errorf("a server that has become slow has %d more on their way", l.spare)
	}
}
