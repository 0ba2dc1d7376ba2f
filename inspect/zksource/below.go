package zksource

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/recipe"
	"lockscope/internal/connect"
)

// One watch on a root reports all changes below it, and no other is needed there. But newer servers report
// nothing of a node that we may not read (CVE-2024-23944): a directory that has such nodes is polled, and
// every directory is compared with its Stat from time to time, which shows what came in silence, and a
// changed ACL, which no watch reports.

// watchBelow sets a watch on each root that is not below another, before anything is read.
func (r *run) watchBelow() {
	if r.cfg.Once || !r.manyReads || !r.heat.until.IsZero() {
		return
	}
	var roots []string
	for p, d := range r.dirs {
		if d.root {
			roots = append(roots, p)
		}
	}
	slices.Sort(roots) // a directory before what is below it
	var requests []connect.Request
	for _, p := range roots {
		if !r.covered(p) {
			r.below = append(r.below, p)
			requests = append(requests, connect.WatchBelow(r.cfg.onServer(p)))
		}
	}
	l := r.link
	l.tap.Send(l.conn.SessionID(), func(_ int, reply connect.Reply) {
		if reply.Err != nil && !isBroken(reply.Err) {
			r.inbox.add(linkEvent{link: l, at: l.now(), kind: linkNoWatch, err: reply.Err})
		}
	}, requests...)
}

// covered reports whether a watch on a root reports all changes of a node.
func (r *run) covered(p string) bool {
	for _, root := range r.below {
		if root == "/" || p == root || strings.HasPrefix(p, root) && p[len(root)] == '/' {
			return true
		}
	}
	return false
}

// followed reports whether a directory's own changes, and those of its children, are reported.
func (r *run) followed(d *dir) bool { return !d.secretive && r.covered(d.path) }

// changedBelow takes in that a node below a watched root was created or deleted, or its data changed.
func (r *run) changedBelow(p string, what zk.EventType, at time.Time) {
	r.heat.events++
	d, in := r.dirs[p], r.dirs[parent(p)]
	if what == zk.EventNodeDataChanged {
		r.dataChanged(d, in, path.Base(p), at)
		return
	}
	if in != nil && in != d && in.phase != shut {
		name := path.Base(p)
		if what == zk.EventNodeCreated && in.has(name) {
			in.rereads(name) // another of the same name
		}
		in.firedAt = at
		if r.touch(in, at); what == zk.EventNodeCreated {
			r.readWithList(in, name, at)
		}
	}
	// The list that it is in may look as before, since it may be made anew at once.
	if d != nil && (d.root || what == zk.EventNodeDeleted && (d.phase != leaf || d.dataWanted)) {
		r.touch(d, at)
	}
}

// readWithList has a contender that was just created read in the same request as the list of its directory,
// where that is about to be asked for.
func (r *run) readWithList(in *dir, name string, at time.Time) {
	last := len(r.queue.urgent) - 1
	listed := last >= 0 && r.queue.urgent[last].kind == jobList && r.queue.urgent[last].dir == in
	if !r.manyReads || !listed || in.readAt.IsZero() || !recipe.Proves(name) || in.has(name) || in.awaits(name) {
		return
	}
	in.await(name)
	r.queue.urgent = append(r.queue.urgent, job{kind: jobGet, dir: in, name: name, seen: &at})
}

// dataChanged takes in that the data changed of a directory, or of a contender in one.
func (r *run) dataChanged(d, in *dir, name string, at time.Time) {
	switch {
	case d != nil && d.dataWanted:
		d.dataStale = true
		r.touch(d, at)
	case d == nil && in != nil && in.isLive(name):
		in.rereads(name)
		r.touch(in, at)
	}
}

// rereadLive has the children read again whose data hold their state.
func (d *dir) rereadLive() {
	for _, name := range d.names {
		if e, ok := recipe.Parse(name); ok && e.Live && d.has(name) {
			d.rereads(name)
		}
	}
}

// isLive reports whether a child was read whose data change while it is there.
func (d *dir) isLive(name string) bool {
	if !d.has(name) && !d.awaits(name) {
		return false
	}
	_, entries := recipe.Read(d.names)
	return slices.ContainsFunc(entries, func(e recipe.Entry) bool { return e.Name == name && e.Live })
}

// keepsSecret notes that a directory has a node that may not be read, whose end the servers may not report.
func (r *run) keepsSecret(in *dir) {
	if in != nil && !in.secretive {
		in.secretive, in.polled = true, !r.cfg.Once
	}
}

// sweep compares directories with their Stats, a request's worth at a time, each once a lap.
func (r *run) sweep(now time.Time) {
	if !r.firstPass || len(r.below) == 0 || now.Before(r.sweepAt) {
		return
	}
	const most = connect.MostItems
	if slices.ContainsFunc(r.queue.polls, func(j job) bool { return j.kind == jobCompare }) {
		return // what is urgent goes before those of the last beat
	}
	if len(r.toSweep) == 0 {
		for _, d := range r.dirs {
			if d.phase == listable {
				r.toSweep = append(r.toSweep, d)
			}
		}
		r.sweepEvery = r.beats.sweep / time.Duration(max(1, (len(r.toSweep)+most-1)/most))
	}
	n := min(len(r.toSweep), most)
	for _, d := range r.toSweep[:n] {
		if r.dirs[d.path] == d && r.followed(d) && !d.busy && d.phase == listable {
			r.queue.polls = append(r.queue.polls, job{kind: jobCompare, dir: d})
		}
	}
	if r.toSweep = r.toSweep[n:]; len(r.toSweep) == 0 {
		r.toSweep = nil
	}
	r.sweepAt = now.Add(r.sweepEvery)
}

// compared takes in a directory's Stat: it is listed again when that is not the Stat of its list.
func (r *run) compared(d *dir, res result) {
	if res.err != nil || d.sentAt.Before(res.sent) && (res.stat.Pzxid != d.pzxid || res.stat.Czxid != d.czxid || res.stat.Aversion != d.aversion) {
		r.touch(d, res.at)
	}
}
