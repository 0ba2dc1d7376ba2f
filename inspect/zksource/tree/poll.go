package tree

import (
	"path"
	"slices"
	"time"

	"lockscope/inspect/recipe"
)

// Poll wants read again what no watch reports: roots that do not exist yet, directories with too many
// children or with nodes that may not be read, and all of them on servers before 3.6 and in a tree that
// changes too fast to follow.
func (t *Tree) Poll(now time.Time) {
	if t.FirstPass && now.Sub(t.walkedAt) >= t.cfg.Others/4 { // there may be many, and discovering goes first
		t.walkedAt = now
		for _, d := range t.dirs {
			t.pollIfDue(d, now)
		}
	} else {
		for _, p := range t.cfg.Roots {
			t.pollIfDue(t.dirs[p], now)
		}
		for p := range t.focus {
			t.pollIfDue(t.dirs[p], now)
			for _, part := range recipe.Parts(p) {
				t.pollIfDue(t.dirs[part.Path], now)
			}
		}
	}
	if now.Sub(t.blind.doubtAt) >= t.cfg.Focused {
		t.doubt(now)
	}
	t.compareSome(now)
}

// pollIfDue wants a directory read again that nothing reports; d may be nil.
func (t *Tree) pollIfDue(d *Dir, now time.Time) {
	if d == nil || d.asked != idle || t.due[d] || d.phase == leaf && d.data == dataUnwanted {
		return
	}
	if t.followed(d) && d.phase != crowded && d.phase != absent { // one may be made that we may not read
		return
	}
	if _, refused := t.blind.refused[d.Path]; refused {
		return
	}
	focus, every, list := t.inFocus(d), t.cfg.Others, &t.Queue.Polls
	if focus || d.phase == absent && !t.covered(d.Path) {
		every = t.cfg.Focused
	}
	if focus {
		list = &t.Queue.Urgent
	}
	if now.Sub(d.tried()) >= every {
		t.pollAgain(d, list, now)
	}
}

// pollAgain wants a directory, or a node that is a lock by itself, read again.
func (t *Tree) pollAgain(d *Dir, list *[]Job, now time.Time) {
	d.triedAt = now
	switch d.phase {
	case unasked, absent, crowded:
		t.push(list, Job{Kind: JobStat, Dir: d})
	case leaf:
		t.push(list, Job{Kind: JobData, Dir: d})
	default:
		if d.data == dataRead {
			d.data = dataStale
		}
		t.push(list, Job{Kind: JobList, Dir: d})
	}
}

// doubt wants the node read again that was refused the longest ago: no watch reports that a right was given.
func (t *Tree) doubt(now time.Time) {
	var kept map[string]refusal
	oldest, at := "", now
	for _, refusals := range [...]map[string]refusal{t.blind.sealed, t.blind.refused} {
		for p, why := range refusals {
			if oldest == "" || why.at.Before(at) {
				kept, oldest, at = refusals, p, why.at
			}
		}
	}
	if oldest == "" || now.Sub(at) < t.cfg.Doubtful {
		return
	}
	why := kept[oldest]
	why.at, t.blind.doubtAt = now, now
	kept[oldest] = why
	t.lookAgain(oldest, now)
}

// lookAgain wants a directory read again, or a contender that could not be read.
func (t *Tree) lookAgain(p string, now time.Time) {
	if in, name := t.dirs[parent(p)], path.Base(p); in != nil {
		if z, read := in.of(name); read && (!z.Known || z.Sealed) && !in.awaits(name) {
			in.await(name)
			t.Queue.Polls = append(t.Queue.Polls, Job{Kind: JobGet, Dir: in, Name: name})
			return
		}
	}
	if d := t.dirs[p]; d != nil {
		t.pollAgain(d, &t.Queue.Urgent, now)
	}
}

// sweep goes over all directories, and compares each with its Stat.
type sweep struct {
	todo  []*Dir
	at    time.Time // of the next part
	every time.Duration
}

// comparedAtOnce are as many as go into one request.
const comparedAtOnce = 200

// compareSome compares directories with their Stats, a request's worth at a time, each once a lap. That shows
// what came in silence, and a changed ACL, which no watch reports.
func (t *Tree) compareSome(now time.Time) {
	s := &t.sweep
	if !t.FirstPass || len(t.server.Watched) == 0 || now.Before(s.at) {
		return
	}
	if slices.ContainsFunc(t.Queue.Polls, func(j Job) bool { return j.Kind == JobCompare }) {
		return // what is urgent goes before those of the last beat
	}
	if len(s.todo) == 0 {
		for _, d := range t.dirs {
			if d.phase == listable {
				s.todo = append(s.todo, d)
			}
		}
		s.every = t.cfg.Sweep / time.Duration(max(1, (len(s.todo)+comparedAtOnce-1)/comparedAtOnce))
	}
	n := min(len(s.todo), comparedAtOnce)
	for _, d := range s.todo[:n] {
		if t.dirs[d.Path] == d && t.followed(d) && d.asked == idle && d.phase == listable {
			t.Queue.Polls = append(t.Queue.Polls, Job{Kind: JobCompare, Dir: d})
		}
	}
	if s.todo = s.todo[n:]; len(s.todo) == 0 {
		s.todo = nil
	}
	s.at = now.Add(s.every)
}
