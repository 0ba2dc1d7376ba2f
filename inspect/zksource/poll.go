package zksource

import (
	"path"
	"time"

	"lockscope/inspect/recipe"
)

// poll asks again for what no watch reports: roots that do not exist yet, directories with too many children
// or with nodes that may not be read, and all of them on servers before 3.6 and in a tree that changes too
// fast to follow.
func (r *run) poll(now time.Time) {
	if !r.ready || r.cfg.Once {
		return
	}
	if r.firstPass && now.Sub(r.walkedAt) >= r.beats.others/4 { // there may be many, and discovering goes first
		r.walkedAt = now
		for _, d := range r.dirs {
			r.pollIfDue(d, now)
		}
	} else {
		for _, p := range r.cfg.Roots {
			r.pollIfDue(r.dirs[p], now)
		}
		for p := range r.focus {
			r.pollIfDue(r.dirs[p], now)
			for _, part := range recipe.Parts(p) {
				r.pollIfDue(r.dirs[part.Path], now)
			}
		}
	}
	if now.Sub(r.doubtAt) >= r.beats.focused {
		r.doubt(now)
	}
	r.sweep(now)
}

// pollIfDue has a directory read again that nothing reports; d may be nil.
func (r *run) pollIfDue(d *dir, now time.Time) {
	if d == nil || d.busy || r.due[d] || d.phase == leaf && !d.dataWanted {
		return
	}
	if r.followed(d) && d.phase != crowded && d.phase != absent { // one may be made that we may not read
		return
	}
	if _, refused := r.refused[d.path]; refused {
		return
	}
	focus, every := r.inFocus(d), r.beats.others
	if focus || d.phase == absent && !r.covered(d.path) {
		every = r.beats.focused
	}
	if now.Sub(d.tried()) < every {
		return
	}
	list := &r.queue.polls
	if focus {
		list = &r.queue.urgent
	}
	r.pollAgain(d, list, now)
}

// tried returns the last attempt to read a directory, successful or not.
func (d *dir) tried() time.Time {
	if d.triedAt.After(d.readAt) {
		return d.triedAt
	}
	return d.readAt
}

// pollAgain has a directory, or a node that is a lock by itself, read again.
func (r *run) pollAgain(d *dir, list *[]job, now time.Time) {
	d.triedAt = now
	switch d.phase {
	case unasked, absent, crowded:
		r.push(list, job{kind: jobStat, dir: d})
	case leaf:
		r.push(list, job{kind: jobData, dir: d})
	default:
		d.dataStale = d.dataWanted
		r.push(list, job{kind: jobList, dir: d})
	}
}

// doubt asks again for the node that was refused the longest ago: no watch reports that a right was given.
func (r *run) doubt(now time.Time) {
	var kept map[string]refusal
	oldest, at := "", now
	for _, refusals := range [...]map[string]refusal{r.sealed, r.refused} {
		for p, why := range refusals {
			if oldest == "" || why.at.Before(at) {
				kept, oldest, at = refusals, p, why.at
			}
		}
	}
	if oldest == "" || now.Sub(at) < r.beats.doubtful {
		return
	}
	why := kept[oldest]
	why.at, r.doubtAt = now, now
	kept[oldest] = why
	r.lookAgain(oldest, now)
}

// lookAgain asks for a directory, or for a contender that might not be read.
func (r *run) lookAgain(p string, now time.Time) {
	if in, name := r.dirs[parent(p)], path.Base(p); in != nil {
		if z, read := in.of(name); read && (!z.Known || z.Sealed) && !in.awaits(name) {
			in.await(name)
			r.queue.polls = append(r.queue.polls, job{kind: jobGet, dir: in, name: name})
			return
		}
	}
	if d := r.dirs[p]; d != nil {
		r.pollAgain(d, &r.queue.urgent, now)
	}
}
