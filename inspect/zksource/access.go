package zksource

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
)

// mostLists of a lock's contenders are asked for who has rights on them, from its holders on.
const mostLists = 50

// accessList is that of one node. is is nil while the request is on its way, on link.
type accessList struct {
	czxid int64
	link  *link
	is    *inspect.Access
	again *link // on which it is being read once more
}

// looksClosely reports whether somebody looks at one lock alone, and at this one: a request a node would be
// too much for all in sight.
func (r *run) looksClosely(p string) bool {
	return r.cfg.Once && r.cfg.Only == p || len(r.focus) == 1 && r.focus[p]
}

// wantAccess has the access lists of a lock's contenders read that are not known.
func (r *run) wantAccess(d *dir, l *inspect.Lock) {
	if l == nil || !r.looksClosely(d.path) {
		return
	}
	known := d.access
	d.access = make(map[string]accessList)
	for _, c := range firstOf(l, mostLists) {
		p := l.Node(c)
		if list, ok := known[p]; ok && list.czxid == c.Czxid && (list.is != nil || list.link == r.link) {
			d.access[p] = list
		} else if r.queueAccess(d, p) {
			d.access[p] = accessList{czxid: c.Czxid, link: r.link}
		}
	}
}

// queueAccess has the access list of a node of d's lock read, where somebody can be asked.
func (r *run) queueAccess(d *dir, p string) bool {
	in, name := r.dirs[parent(p)], p[strings.LastIndexByte(p, '/')+1:]
	if p == d.path {
		in, name = d, "" // a node that is a lock by itself
	}
	if in == nil || !r.ready {
		return false
	}
	queue := &r.queue.reads
	if r.manyReads {
		queue = &r.queue.alone
	}
	*queue = append(*queue, job{kind: jobAccess, dir: in, name: name, of: d})
	return true
}

// requestAccessAgain has the known lists of the lock read again that somebody looks at: no watch reports that
// a right was given.
func (r *run) requestAccessAgain() {
	for p := range r.focus {
		d := r.dirs[p]
		if d == nil || !r.looksClosely(p) {
			continue
		}
		for node, list := range d.access {
			if list.is == nil || list.again == r.link { // a slow server has not answered what it was asked for before
				continue
			}
			if r.queueAccess(d, node) {
				list.again = r.link
				d.access[node] = list
			}
		}
	}
}

// firstOf are a lock's first contenders, holders before waiters.
func firstOf(l *inspect.Lock, most int) []*inspect.Contender {
	var first []*inspect.Contender
	for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list[:min(len(list), most-len(first))] {
			first = append(first, &list[i])
		}
	}
	return first
}

// requestAccess asks for a node's access list.
func (l *link) requestAccess(cfg Config, j job) result {
	r := result{job: j, link: l, sent: cfg.Now()}
	r.access, r.stat, r.err = l.conn.GetACL(cfg.onServer(j.node()))
	r.at = cfg.Now()
	return r
}

// node is the path of a job's node.
func (j *job) node() string {
	if j.name == "" {
		return j.dir.path
	}
	return join(j.dir.path, j.name)
}

// gotAccess takes in a node's access list.
func (r *run) gotAccess(res result) {
	p, of := res.job.node(), r.dirs[res.job.of.path]
	if of == nil {
		return
	}
	asked, ok := of.access[p]
	asked.again = nil
	switch {
	case !ok:
		return
	case errors.Is(res.err, zk.ErrNoNode) || res.err == nil && res.stat.Czxid != asked.czxid: // it is another's by now
		delete(of.access, p)
		return
	case res.err != nil:
		b := &reads[readAccess]
		asked.is = &inspect.Access{Entries: []inspect.AccessEntry{}, Unknown: inspect.Untrusted(b.name + " " + r.cfg.onServer(p) + ": " + reason(res.err))}
		if errors.Is(res.err, zk.ErrNoAuth) {
			asked.is.Unknown += inspect.Untrusted(" (it needs " + fmt.Sprintf(b.right, r.cfg.onServer(p)) + ")")
		}
	default:
		asked.is = accessOf(res.access)
	}
	of.access[p] = asked
	r.judge(of)
}

// accessOf is a list as it is shown.
func accessOf(list []zk.ACL) *inspect.Access {
	a := &inspect.Access{Entries: []inspect.AccessEntry{}}
	for _, e := range list {
		id := e.ID
		if e.Scheme == "digest" {
			id, _, _ = strings.Cut(id, ":") // the rest is a hash of the password
		}
		var rights strings.Builder
		for _, right := range []struct {
			bit    int32
			letter byte
		}{{zk.PermCreate, 'c'}, {zk.PermDelete, 'd'}, {zk.PermRead, 'r'}, {zk.PermWrite, 'w'}, {zk.PermAdmin, 'a'}} {
			if e.Perms&right.bit != 0 {
				rights.WriteByte(right.letter)
			}
		}
		a.Entries = append(a.Entries, inspect.AccessEntry{Scheme: inspect.Untrusted(e.Scheme), ID: inspect.Untrusted(id), Rights: rights.String()})
	}
	return a
}

// accessOn puts the lists that are known into the directory's lock.
func (d *dir) accessOn(l *inspect.Lock) {
	if len(d.access) == 0 {
		return
	}
	for _, c := range firstOf(l, mostLists) {
		if list := d.access[l.Node(c)]; list.is != nil && list.czxid == c.Czxid {
			if l.Access == nil {
				l.Access = make(map[inspect.Untrusted]*inspect.Access)
			}
			l.Access[c.Name] = list.is
		}
	}
}

// printAccess makes the lists part of a fingerprint.
func printAccess(h *maphash.Hash, l *inspect.Lock) {
	for _, name := range slices.Sorted(maps.Keys(l.Access)) {
		maphash.WriteComparable(h, name)
		maphash.WriteComparable(h, l.Access[name].String())
	}
}
