package zksource

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zksource/ensemble"
	"lockscope/internal/connect"
)

// root starts a walk.
func (r *run) root(p string) {
	if r.dirs[p] == nil {
		r.dirs[p] = &dir{path: p, root: true}
	}
}

// child walks into a child, unless it is one that is left out.
func (r *run) child(d *dir, name string) {
	p := join(d.path, name)
	if c := r.dirs[p]; c != nil {
		if c == d.freed {
			r.comesBack(d, c)
		}
		return
	}
	if _, part := recipe.Base(p); r.cfg.Only != "" && !part && !d.aboveRoot || r.cfg.onServer(p) == "/zookeeper" {
		return
	}
	if r.full() || r.deeper(d, p) {
		return
	}
	c := &dir{path: p, depth: d.depth + 1}
	r.dirs[p] = c
	d.unread++
	kind := r.firstLook(c)
	if d.aboveRoot {
		kind = jobStat // whether it is ephemeral is all that counts
	}
	r.push(&r.queue.walk, job{kind: kind, dir: c})
}

// firstLook at a directory asks for its Stat, in case it is too big to list. Without a budget it is listed at
// once, unless a list has already cost us the connection, or its Stat has shown before that it is too big, or
// not there.
func (r *run) firstLook(d *dir) jobKind {
	if r.cfg.Budget.Unlimited && r.lostLinks == 0 && d.phase == unasked {
		return jobList
	}
	return jobStat
}

// remove forgets a directory that is gone, and what was below it.
func (r *run) remove(d *dir) {
	if r.dirs[d.path] != d {
		return
	}
	d.gone = true
	r.names -= len(d.names)
	for _, name := range d.names {
		r.childLeft(d, name)
	}
	if d.freed != nil {
		r.remove(d.freed)
	}
	r.unnote(d)
	delete(r.due, d)
	delete(r.expiring, d)
	delete(r.refused, d.path)
	delete(r.sealed, d.path)
	delete(r.crowds, d.path)
	if d.reported != nil {
		delete(r.puts, d.path)
		r.gone[d.path] = false
	}
	if !d.root {
		delete(r.dirs, d.path)
	} else {
		r.dirs[d.path] = &dir{path: d.path, root: true, phase: absent, relists: d.relists}
	}
	r.judgeWithout(d)
	if in := r.dirs[parent(d.path)]; in != nil && in.freed == d {
		in.freed = nil
	} else if in != nil && in.aboveRoot {
		delete(in.leaves, path.Base(d.path))
	}
}

// childLeft forgets what was known of a child that a directory has no longer.
func (r *run) childLeft(d *dir, name string) {
	p := join(d.path, name)
	switch c := r.dirs[p]; {
	case c == nil:
		delete(r.refused, p)
	case c.alone && c.reported != nil && !d.gone && !d.aboveRoot:
		r.free(d, c)
	case !c.root:
		r.remove(c)
	}
}

// result takes in what came of a request.
func (r *run) result(res result) {
	r.flying--
	if res.link != r.link {
		return
	}
	if res.job.kind == jobLogin {
		r.loggedIn(res)
		return
	}
	if isBroken(res.err) {
		r.link.broken = true
		return // the link's own event says so too, and then everything is asked again
	}
	if connect.Throttled(res.err) {
		list := &r.queue.reads
		if r.manyReads {
			list = &r.queue.alone
		}
		r.requestedTooMuch(list, res.at, res.job)
		return
	}
	r.progress, r.paused.last = res.at, 0
	r.queue.answered(res.at.Sub(res.sent))
	r.apply(res)
}

// apply takes in the answer to one read.
func (r *run) apply(res result) {
	d := res.job.dir
	if r.dirs[d.path] != d {
		return
	}
	d.polled = !r.cfg.Once && !r.followed(d)
	if res.sealed || res.job.denied {
		in := d
		if res.job.kind != jobGet {
			in = r.dirs[parent(d.path)]
		}
		r.keepsSecret(in)
	}
	switch res.job.kind {
	case jobStat:
		d.busy = false
		r.stated(d, res)
	case jobList:
		d.busy = false
		r.listed(d, res)
	case jobData:
		d.busy = false
		r.gotData(d, res)
	case jobGet:
		r.got(d, res)
	case jobCompare:
		r.compared(d, res)
	case jobAccess:
		r.gotAccess(res)
	}
	if d.again && !d.busy {
		d.again = false
		if d = r.dirs[d.path]; d != nil { // a root that was not there yet
			r.touch(d, res.at)
		}
	}
}

func (r *run) loggedIn(res result) {
	if res.err == nil {
		r.started()
		return
	}
	r.lost(linkEvent{link: r.link, at: res.at, kind: linkFailed})
	r.linkErr = "user " + r.user() + ": the server refused the login: " + res.err.Error() + " (check LOCKSCOPE_ZK_AUTH)"
}

// stated takes in a Stat.
func (r *run) stated(d *dir, res result) {
	if res.err != nil {
		r.failed(d, res)
		return
	}
	d.triedAt = res.at
	r.setStat(d, res.stat)
	switch {
	case r.isSibling(d):
		r.looked(d)
	case d.phase == leaf:
		r.looked(d)
		r.judgeWithout(d)
	case d.phase == crowded:
		r.looked(d)
		r.judge(d)
	case r.cfg.Once && d.count == 0 && !d.root: // there is nothing to list
		r.looked(d)
		d.sentAt = res.sent
		d.adopt(nil, res.stat, res.at)
		r.judge(d)
	default:
		r.push(&r.queue.lists, job{kind: jobList, dir: d})
	}
	r.recordSeen(d)
}

// looked counts a directory, once.
func (r *run) looked(d *dir) {
	if !d.counted {
		d.counted = true
		r.scanned++
	}
}

// setStat takes in the Stat of a node that exists.
func (r *run) setStat(d *dir, stat *zk.Stat) {
	d.count, r.noChroot = stat.NumChildren, false
	delete(r.crowds, d.path)
	switch {
	case stat.EphemeralOwner != 0:
		d.phase = leaf
	case int(d.count) > r.cfg.Budget.Children:
		d.phase = crowded
		r.crowds[d.path] = d
	default:
		d.phase = listable
	}
}

// failed takes in that a directory could not be looked at.
func (r *run) failed(d *dir, res result) {
	switch {
	case errors.Is(res.err, zk.ErrNoNode):
		r.noChroot = res.noChroot
		in := r.dirs[parent(d.path)]
		if in == nil || in == d || in.aboveRoot || !d.alone || d.reported == nil {
			r.remove(d)
		}
		if in != nil && in != d {
			r.left(in, path.Base(d.path), res.at)
		}
	default:
		what := readChildren
		if res.job.kind == jobStat {
			what = readStat
		}
		r.looked(d)
		d.phase, d.count, d.triedAt = shut, -1, res.at
		if res.sealed {
			d.count = res.stat.NumChildren
		}
		if r.record(r.refused, d.path, what, res); d.count == 0 { // there is nothing to read
			d.adopt(r.room(d, nil), res.stat, res.at)
		}
		if res.sealed {
			r.recordSeen(d)
		}
		if d.aboveRoot {
			r.siblingsUnknown(d)
		}
		r.judge(d)
	}
}

// listed takes in a list of children: reads the new contenders, walks into the others.
func (r *run) listed(d *dir, res result) {
	if res.err != nil && !(res.sealed && res.stat.EphemeralOwner != 0) {
		r.failed(d, res)
		return
	}
	if d.phase == shut {
		r.record(r.refused, d.path, readChildren, result{})
	}
	if d.isAnother(res.stat) {
		res.err = zk.ErrNoNode
		r.failed(d, res)
		return
	}
	r.looked(d)
	r.setStat(d, res.stat)
	r.recordSeen(d)
	if d.phase == leaf {
		r.judgeWithout(d)
		return
	}
	answers := d.answers
	again := !d.readAt.IsZero() && (d.polled || d.readAt.Before(r.readyAt))
	d.answers, d.sentAt = false, res.sent
	added, removed := d.adopt(r.room(d, res.names), res.stat, res.at)
	r.dated(res.stat, res.at)
	for _, name := range removed {
		r.childLeft(d, name)
	}
	d.lost, d.gained = d.lost || len(removed) > 0, d.gained || len(added) > 0
	list := &r.queue.reads
	if answers || r.inFocus(d) {
		list = &r.queue.urgent
	}
	born := r.bornNow(d, res, added)
	d.rereadLease()
	if again {
		d.rereadLive()
	}
	r.readWanted(d, list, born)
	for i, name := range d.names {
		// What is read now shows by itself whether it can have children.
		if n := d.at(i); !n.read() && (n == nil || n.is&nodeAwaited == 0) && !recipe.Proves(name) {
			r.child(d, name)
		}
	}
	// A contender that left changes the holder: that is emitted at once, and one that came, behind the others, when it
	// was read.
	if d.judged && d.awaited > 0 {
		for _, name := range added {
			d.hold(name)
		}
	}
	if d.dataStale {
		r.requestData(d)
	}
	if d.phase == crowded || d.awaited == 0 || d.judged && len(removed) > 0 && d.readSome() {
		r.judge(d)
	} else if !r.cfg.Once && !r.firstPass && d.reported == nil {
		r.judgeEarly(d)
	}
	if len(added)+len(removed) > 0 || d.aboveRoot {
		r.findSingles(d)
	}
}

// dated lets the leader's clock be known by a node that was read.
func (r *run) dated(stat *zk.Stat, at time.Time) {
	if stat != nil {
		r.ensemble.Dated(stat.Czxid, time.UnixMilli(stat.Ctime), at)
		r.ensemble.Dated(stat.Mzxid, time.UnixMilli(stat.Mtime), at)
	}
}

// bornNow returns, for the clock, the children that are new in a list which was asked for as soon as the
// watch fired, and came soon: they were made a moment ago, but where events come late.
func (r *run) bornNow(d *dir, res result, added []string) (born []string) {
	late := res.sent.Sub(d.firedAt)
	if d.firedAt.IsZero() || late < 0 { // negative: this list was on its way already
		return nil
	}
	if late < promptly && res.at.Sub(res.sent) < ensemble.PromptList && d.firedAt.Sub(r.lateUntil) > connect.MaxLag {
		born = added
	}
	d.firedAt = time.Time{}
	return born
}

// left takes in that a listed child was gone when it was asked for. It may have been made again since: the directory
// is listed once more.
func (r *run) left(d *dir, name string, at time.Time) {
	if !d.drop(name) {
		return
	}
	r.names--
	r.childLeft(d, name)
	if !r.cfg.Once {
		r.touch(d, at)
	}
	if recipe.Contends(name) && (d.judged || d.awaited == 0) && (r.cfg.Once || !d.betweenLeases()) {
		r.judge(d)
	}
	r.findSingles(d)
}

// readWanted queues the contenders that are to be read. Those in born, which is sorted, were made a moment ago.
func (r *run) readWanted(d *dir, list *[]job, born []string) {
	wanted := d.wanted(r.cfg.Once || r.manyReads, r.inFocus(d))
	*list = slices.Grow(*list, len(wanted))
	for _, e := range wanted {
		d.await(e.Name)
		delete(d.reread, e.Name)
		j := job{kind: jobGet, dir: d, name: e.Name, live: e.Live}
		if _, fresh := slices.BinarySearch(born, e.Name); fresh {
			listed := d.readAt
			j.seen = &listed
		}
		*list = append(*list, j)
	}
}

// got takes in a child's data and Stat.
func (r *run) got(d *dir, res result) {
	name := res.job.name
	if !d.awaits(name) {
		return
	}
	d.arrived(name)
	switch {
	case res.err == nil || res.sealed:
		d.keep(name, res.data, res.stat, res.sealed)
		r.dated(res.stat, res.at)
		r.recordContender(d, res)
		if seen := res.job.seen; seen != nil {
			r.ensemble.Created(res.stat.Czxid, time.UnixMilli(res.stat.Ctime), *seen, res.at)
		}
		if z, _ := d.of(name); res.stat.EphemeralOwner == 0 && !recipe.Proves(name) && !z.IsLease() {
			r.child(d, name)
		}
	case errors.Is(res.err, zk.ErrNoNode):
		r.left(d, name, res.at)
		return
	default:
		d.keep(name, nil, nil, false)
		if !recipe.Proves(name) {
			r.child(d, name)
		}
		r.record(r.refused, join(d.path, name), readStat, res)
	}
	if d.awaited == 0 {
		r.judge(d)
		r.findSingles(d)
	}
}

// recordContender notes that a contender was read, or why it could not be, unless it is a directory that
// could not be listed.
func (r *run) recordContender(d *dir, res result) {
	if res.err == nil && len(r.refused) == 0 { // nearly always: there are a million of them
		return
	}
	p := join(d.path, res.job.name)
	if in := r.dirs[p]; in != nil && in.phase == shut {
		return
	}
	what := readContender
	if res.job.live {
		what = readPermit
	}
	r.record(r.refused, p, what, res)
}

func (r *run) id(d *dir) inspect.ID { return inspect.ID{Backend: r.cfg.Backend, Path: d.path} }

// parent is the directory that a node is in.
func parent(p string) string { return path.Dir(p) }
