package tree

import (
	"path"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Poll requests everything that no watch reports: missing roots, directories with too many
// children or with unreadable nodes, and all directories on servers before 3.6.
func (w *wants) Poll(now time.Time) {
	if w.FirstPass && now.Sub(w.walkedAt) >= w.cfg.Others/4 { // there may be many, and discovery comes first
		w.walkedAt = now
		for _, d := range w.dirs {
			w.pollIfDue(d, now)
		}
	} else {
		for _, p := range w.cfg.Roots {
			w.pollIfDue(w.dirs[p], now)
		}
		for p := range w.focus {
			w.pollIfDue(w.dirs[p], now)
			for _, part := range recipe.Parts(p) {
				w.pollIfDue(w.dirs[part.Path], now)
			}
		}
	}
	if now.Sub(w.blind.doubtAt) >= w.cfg.Focused {
		w.doubt(now)
	}
	w.compareSome(now)
}

// pollIfDue requests an unreported directory again when that is due; d may be nil.
func (w *wants) pollIfDue(d *Dir, now time.Time) {
	if d == nil || d.asked != idle || w.due[d] || d.phase == leaf && d.data == dataUnwanted {
		return
	}
	if w.followed(d) && d.phase != crowded && d.phase != absent { // an unreadable one may appear unreported
		return
	}
	if _, refused := w.blind.refused[d.Path]; refused {
		return
	}
	focus, every, list := w.inFocus(d), w.cfg.Others, &w.Queue.Polls
	if focus || d.phase == absent && !w.covered(d.Path) {
		every = w.cfg.Focused
	}
	if focus {
		list = &w.Queue.Urgent
	}
	if now.Sub(d.tried()) >= every {
		w.pollAgain(d, list, now)
	}
}

// pollAgain requests a directory again, or a node that is a lock.
func (w *wants) pollAgain(d *Dir, list *[]Job, now time.Time) {
	d.triedAt = now
	switch d.phase {
	case unasked, absent, crowded:
		w.push(list, Job{Kind: JobStat, Dir: d})
	case leaf:
		w.push(list, Job{Kind: JobData, Dir: d})
	default:
		if d.data == dataRead {
			d.data = dataStale
		}
		w.push(list, Job{Kind: JobList, Dir: d})
	}
}

// doubt requests the node with the oldest refusal again, since no watch reports a new right.
func (w *wants) doubt(now time.Time) {
	var kept map[string]refusal
	oldest, at := "", now
	for _, refusals := range [...]map[string]refusal{w.blind.sealed, w.blind.refused} {
		for p, why := range refusals {
			if oldest == "" || why.at.Before(at) {
				kept, oldest, at = refusals, p, why.at
			}
		}
	}
	if oldest == "" || now.Sub(at) < w.cfg.Doubtful {
		return
	}
	why := kept[oldest]
	why.at, w.blind.doubtAt = now, now
	kept[oldest] = why
	w.lookAgain(oldest, now)
}

// lookAgain requests a directory again, or a contender that could not be read.
func (w *wants) lookAgain(p string, now time.Time) {
	if in, name := w.dirs[parent(p)], path.Base(p); in != nil {
		if z, read := in.of(name); read && (!z.Known || z.Sealed) && !in.awaits(name) {
			in.await(name)
			w.Queue.Polls = append(w.Queue.Polls, Job{Kind: JobGet, Dir: in, Name: name})
			return
		}
	}
	if d := w.dirs[p]; d != nil {
		w.pollAgain(d, &w.Queue.Urgent, now)
	}
}

// sweep visits all directories and compares each with its Stat.
type sweep struct {
	todo  []*Dir
	at    time.Time // when the next comparisons are due
	every time.Duration
}

// comparedAtOnce is the number of comparisons in one request.
const comparedAtOnce = 200

// compareSome compares directories with their Stats, a request's worth at a time, each once per
// Sweep. That finds unreported changes and changed ACLs.
func (w *wants) compareSome(now time.Time) {
	s := &w.sweep
	if !w.FirstPass || len(w.server.Watched) == 0 || now.Before(s.at) {
		return
	}
	if slices.ContainsFunc(w.Queue.Polls, func(j Job) bool { return j.Kind == JobCompare }) {
		return // the last comparisons still wait behind urgent reads
	}
	if len(s.todo) == 0 {
		for _, d := range w.dirs {
			if d.phase == listable {
				s.todo = append(s.todo, d)
			}
		}
		s.every = w.cfg.Sweep / time.Duration(max(1, (len(s.todo)+comparedAtOnce-1)/comparedAtOnce))
	}
	n := min(len(s.todo), comparedAtOnce)
	for _, d := range s.todo[:n] {
		if w.dirs[d.Path] == d && w.followed(d) && d.asked == idle && d.phase == listable {
			w.Queue.Polls = append(w.Queue.Polls, Job{Kind: JobCompare, Dir: d})
		}
	}
	if s.todo = s.todo[n:]; len(s.todo) == 0 {
		s.todo = nil
	}
	s.at = now.Add(s.every)
}
