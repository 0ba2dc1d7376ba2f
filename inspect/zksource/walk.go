package zksource

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// root starts a walk.
func (r *run) root(p string) {
	if r.dirs[p] == nil {
		r.dirs[p] = &dir{path: p, root: true, relists: newBucket(r.cfg.Budget.Relists, max(1, r.cfg.Budget.Relists))}
	}
}

// child walks into a child, unless it is one that is left out.
func (r *run) child(d *dir, name string) {
	p := join(d.path, name)
	if r.dirs[p] != nil || r.cfg.Only != "" || d.depth >= r.cfg.Budget.Depth || r.cfg.onServer(p) == "/zookeeper" {
		return
	}
	c := &dir{path: p, depth: d.depth + 1, relists: newBucket(r.cfg.Budget.Relists, max(1, r.cfg.Budget.Relists))}
	r.dirs[p] = c
	r.push(&r.queue.walk, job{kind: r.firstLook(), dir: c})
}

// firstLook is how a directory is first looked at: its Stat says whether it is too big to list. Without a budget it is
// listed at once, unless a list has already cost us the connection.
func (r *run) firstLook() jobKind {
	if r.cfg.Budget.Unlimited && r.lostLinks == 0 {
		return jobList
	}
	return jobStat
}

// remove forgets a directory that is gone, and what was below it.
func (r *run) remove(d *dir) {
	if r.dirs[d.path] != d {
		return
	}
	for _, name := range d.names {
		r.childLeft(d, name)
	}
	if d.watched {
		r.watches--
	}
	delete(r.due, d)
	delete(r.denied, d.path)
	delete(r.huge, d.path)
	if d.lock != nil {
		delete(r.puts, d.path)
		r.gone[d.path] = true
	}
	if !d.root {
		delete(r.dirs, d.path)
		return
	}
	r.dirs[d.path] = &dir{path: d.path, root: true, absent: true, relists: d.relists}
}

// childLeft forgets what was known of a child that a directory has no longer.
func (r *run) childLeft(d *dir, name string) {
	p := join(d.path, name)
	if c := r.dirs[p]; c == nil {
		delete(r.denied, p)
	} else if !c.root {
		r.remove(c)
	}
}

// fired takes in that a watch on a directory fired.
func (r *run) fired(p string, at time.Time) {
	d := r.dirs[p]
	if d == nil {
		return
	}
	if d.watched {
		d.watched = false
		r.watches--
	}
	d.firedAt = at
	r.touch(d, at)
}

// touch has a directory listed again, no sooner than its budget allows.
func (r *run) touch(d *dir, now time.Time) {
	if d.busy {
		d.again = true
		return
	}
	if r.due[d] || d.huge {
		return
	}
	if wait := d.relists.take(now); wait > 0 && !r.cfg.Budget.Unlimited {
		d.due = now.Add(wait)
		r.due[d] = true
		return
	}
	d.live = true
	r.push(&r.queue.urgent, job{kind: jobList, dir: d})
}

// wakeDue has those directories listed again whose budget allows it now.
func (r *run) wakeDue(now time.Time) {
	for d := range r.due {
		if !now.Before(d.due) {
			delete(r.due, d)
			r.touch(d, now)
		}
	}
}

// result takes in what came of a request.
func (r *run) result(res result) {
	r.flying--
	if res.link != r.link {
		return
	}
	d := res.job.dir
	if res.job.kind == jobLogin {
		r.loggedIn(res)
		return
	}
	if isBroken(res.err) {
		if res.onReader {
			r.queue.reads = append(r.queue.reads, res.job)
		}
		return // the link's own event says so too, and then everything is asked again
	}
	r.progress = res.at
	r.queue.answered(res.at.Sub(res.sent))
	if r.dirs[d.path] != d {
		return
	}
	switch res.job.kind {
	case jobStat:
		d.busy = false
		r.stated(d, res)
	case jobList:
		d.busy = false
		r.listed(d, res)
	case jobGet:
		r.got(d, res)
	}
	if d.again && !d.busy {
		d.again = false
		r.touch(d, res.at)
	}
}

func (r *run) loggedIn(res result) {
	if res.err == nil {
		r.started()
		return
	}
	r.lost(linkEvent{link: r.link, at: res.at, kind: linkFailed})
	r.linkErr = "user " + r.user() + ": the server refused the login (check LOCKSCOPE_ZK_AUTH): " + res.err.Error()
}

// isBroken says that a request got no answer.
func isBroken(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrSessionMoved)
}

// stated takes in a Stat.
func (r *run) stated(d *dir, res result) {
	if res.err != nil {
		r.failed(d, res)
		return
	}
	d.stated, d.absent, d.count, d.triedAt = true, false, res.stat.NumChildren, res.at
	r.tooMany(d)
	d.leaf = res.stat.EphemeralOwner != 0
	switch {
	case d.leaf:
		r.looked(d)
	case d.huge:
		r.looked(d)
		r.judge(d)
	case r.cfg.Once && d.count == 0 && !d.root:
		r.looked(d)
	default:
		r.push(&r.queue.walk, job{kind: jobList, dir: d})
	}
}

// looked counts a directory, once.
func (r *run) looked(d *dir) {
	if !d.counted {
		d.counted = true
		r.scanned++
	}
}

// tooMany notes whether a directory has too many children to list.
func (r *run) tooMany(d *dir) {
	was := d.huge
	d.huge = int(d.count) > r.cfg.Budget.Children
	if d.huge {
		r.huge[d.path] = d.count
	} else if was {
		delete(r.huge, d.path)
	}
}

// failed takes in that a directory could not be looked at.
func (r *run) failed(d *dir, res result) {
	if d.watched {
		d.watched = false
		r.watches--
	}
	switch {
	case errors.Is(res.err, zk.ErrNoNode):
		r.remove(d)
		if in := r.dirs[parent(d.path)]; in != nil && in != d {
			r.left(in, path.Base(d.path), res.at)
		}
	case errors.Is(res.err, zk.ErrNoAuth):
		r.looked(d)
		d.denied, d.triedAt = true, res.at
		r.denied[d.path] = true
		r.judge(d)
	default:
		d.stated, d.triedAt = false, res.at
	}
}

// listed takes in a list of children: reads the new contenders, walks into the others.
func (r *run) listed(d *dir, res result) {
	if res.err != nil {
		r.failed(d, res)
		return
	}
	if d.denied {
		d.denied = false
		delete(r.denied, d.path)
	}
	r.looked(d)
	d.stated, d.absent = true, false
	if d.leaf = res.stat.EphemeralOwner != 0; d.leaf {
		return
	}
	live := d.live
	d.live, d.sentAt = false, res.sent
	added, removed := d.adopt(res.names, res.stat, res.at)
	for _, name := range removed {
		r.childLeft(d, name)
	}
	r.tooMany(d)
	list := &r.queue.reads
	if live || r.focus[d.path] {
		list = &r.queue.urgent
	}
	// For the clock: what came with a list that was asked for as soon as the watch fired was made a moment ago.
	var born []string
	if late := res.sent.Sub(d.firedAt); !d.firedAt.IsZero() && late >= 0 { // negative: this list was on its way already
		if late < promptly {
			born = added
		}
		d.firedAt = time.Time{}
	}
	r.readWanted(d, list, born)
	for _, name := range d.names {
		// What is read now shows by itself whether it can have children.
		if _, known := d.nodes[name]; !known && !d.waiting[name] && !isContender(name) {
			r.child(d, name)
		}
	}
	// Who left changes who holds: that is told at once, and who came, who stands behind the others, when it was read.
	if d.judged && len(d.waiting) > 0 {
		if d.fresh == nil {
			d.fresh = map[string]bool{}
		}
		for _, name := range added {
			d.fresh[name] = d.waiting[name]
		}
	}
	early := !r.firstPass && d.lock == nil && len(d.waiting) > 0 // the queue's length, before who stands in it
	if d.huge || len(d.waiting) == 0 || early || d.judged && len(removed) > 0 && len(d.nodes) > 0 {
		r.judge(d)
	}
}

// left takes in that a listed child was gone when it was asked for. It may have been made again since: the directory
// is listed once more.
func (r *run) left(d *dir, name string, at time.Time) {
	if !d.drop(name) {
		return
	}
	r.childLeft(d, name)
	if !r.cfg.Once {
		r.touch(d, at)
	}
	if _, contends := recipe.Detect([]string{name}); contends && (d.judged || len(d.waiting) == 0) {
		r.judge(d)
	}
}

// readWanted queues the contenders that are to be read. Those in born, which is sorted, were made a moment ago.
func (r *run) readWanted(d *dir, list *[]job, born []string) {
	for _, name := range d.wanted(r.cfg.Once || r.focus[d.path]) {
		d.await(name)
		j := job{kind: jobGet, dir: d, name: name}
		if _, fresh := slices.BinarySearch(born, name); fresh {
			j.seen = d.readAt
		}
		*list = append(*list, j)
	}
}

// got takes in a child's data and Stat.
func (r *run) got(d *dir, res result) {
	name := res.job.name
	if !d.waiting[name] {
		return
	}
	delete(d.waiting, name)
	delete(d.fresh, name)
	switch {
	case res.err == nil:
		d.keep(name, res.data, res.stat)
		if p := join(d.path, name); r.dirs[p] == nil || !r.dirs[p].denied {
			delete(r.denied, p)
		}
		if seen := res.job.seen; !seen.IsZero() {
			r.clock.created(seen, time.UnixMilli(res.stat.Ctime))
		}
		if res.stat.EphemeralOwner == 0 && !isContender(name) {
			r.child(d, name)
		}
	case errors.Is(res.err, zk.ErrNoNode):
		r.left(d, name, res.at)
		return
	case errors.Is(res.err, zk.ErrNoAuth):
		d.keep(name, nil, nil)
		if !isContender(name) {
			r.child(d, name)
		}
		r.denied[join(d.path, name)] = true
	}
	if len(d.waiting) == 0 {
		r.judge(d)
	}
}

func (r *run) id(d *dir) inspect.ID { return inspect.ID{Backend: r.cfg.Backend, Path: d.path} }

// recheck has the locks that a table of watches was read for listed again: who was already gone when the table was
// read can then be told from who watches the wrong node.
func (r *run) recheck(ids []inspect.ID, now time.Time) {
	for _, id := range ids {
		d := r.dirs[id.Path]
		switch {
		case d == nil || d.lock == nil:
		case r.cfg.Once:
			d.recheck = now
			r.push(&r.queue.reads, job{kind: jobList, dir: d})
		default:
			d.recheck = now
			r.touch(d, now)
		}
	}
}

// judge makes a directory's lock anew and emits it when it changed.
func (r *run) judge(d *dir) {
	var lock *inspect.Lock
	var changed bool
	if blind := r.blindness(d); blind != nil {
		d.waiting, d.fresh = nil, nil
		lock, changed = d.hide(r.id(d), r.cfg.Only != "", *blind)
	} else {
		d.judged = d.judged || len(d.waiting) == 0
		lock, changed = d.judge(r.id(d), r.cfg.Only != "")
	}
	if !d.recheck.IsZero() && d.sentAt.After(d.recheck) && lock != nil {
		changed, d.recheck, d.lock = true, time.Time{}, lock
	}
	if changed {
		delete(r.gone, d.path)
		r.puts[d.path] = lock
	}
}

// poll asks again for what no watch tells: roots that do not exist yet, directories with too many children or over the
// watch budget.
func (r *run) poll(now time.Time) {
	if !r.ready || r.cfg.Once {
		return
	}
	r.readDenied(now)
	for _, d := range r.dirs {
		focus := r.focus[d.path]
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
		told := d.watched && !d.huge && !focus
		if d.busy || told || r.due[d] || d.leaf || now.Sub(tried) < every {
			continue
		}
		list := &r.queue.polls
		if focus {
			list = &r.queue.urgent
		}
		d.triedAt = now
		if d.absent || d.huge || !d.stated {
			r.push(list, job{kind: jobStat, dir: d})
		} else {
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

// parent is the directory that a node is in.
func parent(p string) string { return path.Dir(p) }
