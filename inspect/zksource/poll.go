package zksource

import (
	"path"
	"time"
)

// poll asks again for what no watch tells: roots that do not exist yet, directories with too many children or over the
// watch budget.
func (r *run) poll(now time.Time) {
	if !r.ready || r.cfg.Once {
		return
	}
	r.readDenied(now)
	for _, d := range r.dirs {
		focus := r.inFocus(d)
		every := pollOthers
		if (!d.watched || d.huge) && !d.denied && (focus || d.absent) {
			every = pollFocused
		}
		tried := d.readAt
		if d.triedAt.After(tried) {
			tried = d.triedAt
		}
		// A server does not tell those who may no longer read a directory that it changed: what is on the screen is
		// asked for although it is watched.
		told := d.watched && !d.huge && !focus && (d.dataWatched || !d.dataWanted)
		if d.leaf {
			told = d.dataWatched || !d.dataWanted
		}
		if d.busy || told || r.due[d] || now.Sub(tried) < every {
			continue
		}
		list := &r.queue.polls
		if focus {
			list = &r.queue.urgent
		}
		d.triedAt = now
		switch {
		case d.absent || d.huge || !d.stated:
			r.push(list, job{kind: jobStat, dir: d})
		case d.leaf:
			r.push(list, job{kind: jobData, dir: d})
		default:
			d.dataStale = d.dataWanted && !d.dataWatched
			r.push(list, job{kind: jobList, dir: d})
		}
	}
}

// readDenied asks again for the contenders that might not be read, at a slow beat.
func (r *run) readDenied(now time.Time) {
	if now.Sub(r.deniedAt) < pollOthers {
		return
	}
	r.deniedAt = now
	for p := range r.denied {
		d, name := r.dirs[parent(p)], path.Base(p)
		if d == nil || d.huge || d.denied || d.waiting[name] {
			continue
		}
		if z, listed := d.nodes[name]; listed && !z.Known {
			d.await(name)
			r.queue.polls = append(r.queue.polls, job{kind: jobGet, dir: d, name: name})
		}
	}
}
