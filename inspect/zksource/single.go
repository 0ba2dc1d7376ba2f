package zksource

import (
	"errors"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// Some locks are one znode each, without a queue: lone ephemeral nodes, and nodes at paths that a recipe names. Such a
// node is walked like a directory; its lock has its own path. Whether an ephemeral node is alone shows when every child
// of its directory was looked at.

// recordSeen keeps that a child's Stat was read for the first time.
func (r *run) recordSeen(c *dir) {
	if c.root { // a lock that somebody named, or a root that is one
		if _, persistent := recipe.Singles(parent(c.path)); c.phase == leaf {
			r.lookAtSiblings(c)
		} else if persistent {
			r.makeSingle(c, false)
		}
		return
	}
	in := r.dirs[parent(c.path)]
	if c.seen || in == nil {
		return
	}
	c.seen = true
	in.unread--
	if c.phase == leaf {
		if in.leaves == nil {
			in.leaves = map[string]bool{}
		}
		in.leaves[path.Base(c.path)] = true
	}
	r.findSingles(in)
}

// unnote takes a child that goes out of its directory's counts.
func (r *run) unnote(c *dir) {
	in := r.dirs[parent(c.path)]
	if in == nil || c.root {
		return
	}
	if !c.seen {
		in.unread--
	}
	delete(in.leaves, path.Base(c.path))
	if in.lone == c {
		in.lone = nil
	}
}

// findSingles finds the children of a directory that are locks by themselves, once all were looked at that
// are: which answers first depends on how the reads were sent.
func (r *run) findSingles(d *dir) {
	if d.unread > 0 || d.awaited > 0 || d.gone {
		return
	}
	everyOne, persistent := recipe.Singles(d.path)
	alone := len(d.leaves) == 1 && !d.contended()
	if c := d.lone; c != nil && !alone {
		d.lone, c.alone, c.single = nil, false, false
		r.silence(c)
	}
	if alone || everyOne {
		for name := range d.leaves {
			if c := r.dirs[join(d.path, name)]; c != nil && !r.isSibling(c) {
				r.makeSingle(c, alone)
			}
		}
	}
	if !persistent || d.aboveRoot {
		return
	}
	read := 0
	for _, name := range d.names {
		if c := r.dirs[join(d.path, name)]; c != nil && c.phase != leaf && (read < fullQueue || r.cfg.Once || r.focus[c.path]) {
			read++
			r.makeSingle(c, false)
		}
	}
}

// contended reports whether recipes take some of the children for contenders: then an ephemeral node beside
// them is no lock.
func (d *dir) contended() bool {
	if d.folded || d.reported != nil && d.reported.contention > 0 {
		return true
	}
	for range d.owned {
		return true
	}
	return false
}

// makeSingle has a node's data read: it may be a lock by itself.
func (r *run) makeSingle(c *dir, alone bool) {
	if c.single && c.alone == alone {
		return
	}
	c.single, c.alone = true, alone
	if in := r.dirs[parent(c.path)]; alone && in != nil {
		if in.freed != nil && in.freed != c {
			r.remove(in.freed)
		}
		in.lone = c
	}
	if c.dataWanted {
		r.judge(c)
		return
	}
	c.dataWanted, c.dataStale = true, true
	r.requestData(c)
}

// gotData takes in a directory's own data.
func (r *run) gotData(d *dir, res result) {
	read := res.err == nil || res.sealed
	switch {
	case errors.Is(res.err, zk.ErrNoNode), read && d.isAnother(res.stat):
		res.err = zk.ErrNoNode
		r.failed(d, res)
		return
	case read:
		r.record(r.sealed, d.path, readOwn, res)
		own := znode(path.Base(d.path), res.data, res.stat, res.sealed)
		d.self = &own
	default:
		r.record(r.sealed, d.path, readStat, res)
		d.self = &inspect.Znode{Name: path.Base(d.path)}
	}
	d.dataRead, d.dataStale, d.triedAt = true, false, res.at
	r.judge(d)
}

// free keeps a lone node's lock when the node is gone, as a free one: whoever creates it holds it. A
// directory keeps one.
func (r *run) free(in, c *dir) {
	if in.freed != nil && in.freed != c {
		r.remove(in.freed)
	}
	in.freed, in.lone = c, nil
	r.unnote(c)
	c.single, c.dataWanted, c.dataRead, c.phase, c.seen = false, false, false, unasked, true
	r.stage(c.judge(r.id(c), true, r.cfg.Now(), nil))
}

// comesBack has a lone node that was gone looked at again.
func (r *run) comesBack(in, c *dir) {
	in.freed = nil
	in.unread++
	c.seen, c.phase = false, unasked
	r.push(&r.queue.urgent, job{kind: jobStat, dir: c})
}

// expiresWith notes when a lock runs out by itself, so that it is reported then.
func (r *run) expiresWith(d *dir, lock *inspect.Lock) {
	delete(r.expiring, d)
	if lock == nil {
		return
	}
	for _, c := range lock.Holders {
		if !c.ExpiresAt.IsZero() {
			r.expiring[d] = c.ExpiresAt
		}
	}
}

// expire emits the locks that have run out.
func (r *run) expire(now time.Time) {
	for d, at := range r.expiring {
		if !now.Before(at) {
			delete(r.expiring, d)
			r.judge(d)
		}
	}
}
