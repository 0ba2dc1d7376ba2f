package zksource

import (
	"iter"
	"maps"
	"path"
	"time"

	"lockscope/inspect/recipe"
)

// poll asks again for what no watch reports: roots that do not exist yet, directories with too many children or over the
// watch budget.
func (r *run) poll(now time.Time) {
	if !r.ready || r.cfg.Once {
		return
	}
	for d := range r.pollable(now) {
		watched := d.watched && d.phase != crowded && (d.dataWatched || !d.dataWanted)
		if d.phase == leaf {
			watched = d.dataWatched || !d.dataWanted
		}
		if r.covered(d.path) {
			watched = d.phase != crowded && d.phase != absent && (d.watched || !d.secretive) // one may be made that we may not read
		}
		if watched {
			continue
		}
		r.allWatched = false
		if _, refused := r.refused[d.path]; d.busy || r.due[d] || refused {
			continue
		}
		focus, every := r.inFocus(d), r.beats.others
		if focus || d.phase == absent && !r.covered(d.path) {
			every = r.beats.focused
		}
		if now.Sub(d.tried()) < every {
			continue
		}
		list := &r.queue.polls
		if focus {
			list = &r.queue.urgent
		}
		r.pollAgain(d, list, now)
	}
	if now.Sub(r.doubts.at) >= r.beats.focused {
		r.doubt(now)
	}
	r.sweep(now)
}

// pollable are the directories that may be due: what is looked at and the roots, and, of so many seldom, all, unless each was
// watched the last time and none has changed since.
func (r *run) pollable(now time.Time) iter.Seq[*dir] {
	if !r.allWatched && now.Sub(r.walkedAt) >= r.beats.others/4 {
		r.walkedAt, r.allWatched = now, true // until one is found that is not
		return maps.Values(r.dirs)
	}
	return func(yield func(*dir) bool) {
		one := func(p string) bool {
			d := r.dirs[p]
			return d == nil || yield(d)
		}
		for _, p := range r.cfg.Roots {
			if !one(p) {
				return
			}
		}
		for p := range r.focus {
			if !one(p) {
				return
			}
			for _, part := range recipe.Parts(p) {
				if !one(part.Path) {
					return
				}
			}
		}
	}
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
	case shut:
		r.push(list, job{kind: jobList, dir: d})
		d.dataStale = d.dataWanted
	default:
		d.dataStale = d.dataWanted && !d.dataWatched
		r.push(list, job{kind: jobList, dir: d})
	}
}

// doubts times the reads of what no watch reports, in turn.
type doubts struct {
	at   time.Time
	turn int
}

// doubt asks again for one of what might not be read, or is on the screen, in turn: no watch reports a change of an ACL.
func (r *run) doubt(now time.Time) {
	both := [...]map[string]time.Time{r.refusedAt(), r.onScreen()}
	r.doubts.turn++
	for i := range both {
		p, at := longestAgo(both[(r.doubts.turn+i)%len(both)])
		if p == "" || now.Sub(at) < r.beats.doubtful {
			continue
		}
		r.doubts.at = now
		for _, kept := range [...]map[string]refusal{r.refused, r.sealed} {
			if why, refused := kept[p]; refused {
				why.at = now
				kept[p] = why
			}
		}
		r.lookAgain(p, now)
		return
	}
}

// refusedAt returns the last attempts at the nodes that could not be read.
func (r *run) refusedAt() map[string]time.Time {
	tried := make(map[string]time.Time, len(r.refused)+len(r.sealed))
	for _, kept := range [...]map[string]refusal{r.sealed, r.refused} {
		for p, why := range kept {
			tried[p] = why.at
		}
	}
	return tried
}

// onScreen returns the last attempts at the directories in focus.
func (r *run) onScreen() map[string]time.Time {
	tried := make(map[string]time.Time, len(r.focus))
	for p := range r.focus {
		if d := r.dirs[p]; d != nil {
			tried[p] = d.tried()
			for _, part := range d.parts {
				tried[part.path] = part.tried()
			}
		}
	}
	return tried
}

func longestAgo(tried map[string]time.Time) (oldest string, at time.Time) {
	for p, t := range tried {
		if oldest == "" || t.Before(at) {
			oldest, at = p, t
		}
	}
	return oldest, at
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
