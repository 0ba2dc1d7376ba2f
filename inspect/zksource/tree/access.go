package tree

import (
	"errors"
	"fmt"
	"path"

	"github.com/lockscope/lockscope/inspect"
)

// mostLists is the number of a lock's contenders whose access lists are read, starting with the
// holders.
const mostLists = 50

// accessList is one node's access list. is is nil until the first answer.
type accessList struct {
	czxid int64
	is    *inspect.Access
	asked bool // a request is on its way
}

// looksClosely reports whether one lock alone is looked at, and this one: a request a node would be too much
// for all in sight.
func (g *ground) looksClosely(p string) bool {
	return g.cfg.Once && g.cfg.Only == p || len(g.focus) == 1 && g.focus[p]
}

// wantAccess wants the access lists of a lock's contenders read that are not known.
func (w *wants) wantAccess(d *Dir, l *inspect.Lock) {
	if l == nil || !w.looksClosely(d.Path) {
		return
	}
	known := d.access
	d.access = make(map[string]accessList)
	for _, c := range firstOf(l, mostLists) {
		p := l.Node(c)
		if list, ok := known[p]; ok && list.czxid == c.Czxid && (list.is != nil || list.asked) {
			d.access[p] = list
		} else if w.askAccess(d, p) {
			d.access[p] = accessList{czxid: c.Czxid, asked: true}
		}
	}
}

// askAccess wants the access list of a node of d's lock read, where there is a server to ask.
func (w *wants) askAccess(d *Dir, p string) bool {
	in, name := w.dirs[parent(p)], path.Base(p)
	if p == d.Path {
		in, name = d, "" // a node that is a lock by itself
	}
	if in == nil || !w.server.Connected {
		return false
	}
	w.Queue.Alone = append(w.Queue.Alone, Job{Kind: JobAccess, Dir: in, Name: name, of: d})
	return true
}

// AskAccessAgain wants the known lists of the lock that is looked at read again: no watch reports that a
// right was given.
func (w *wants) AskAccessAgain() {
	for p := range w.focus {
		d := w.dirs[p]
		if d == nil || !w.looksClosely(p) {
			continue
		}
		for node, list := range d.access {
			if !list.asked && w.askAccess(d, node) { // a slow server may not have answered the last time
				list.asked = true
				d.access[node] = list
			}
		}
	}
}

// forgetAsked notes that no access list is on its way any more.
func (d *Dir) forgetAsked() {
	for p, list := range d.access {
		list.asked = false
		d.access[p] = list
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

// gotAccess handles a node's access list.
func (t *Tree) gotAccess(r *Reply) {
	p, of := r.Node(), t.dirs[r.of.Path]
	if of == nil {
		return
	}
	list, ok := of.access[p]
	if !ok {
		return
	}
	if errors.Is(r.Err, ErrGone) || r.Err == nil && r.Stat.Czxid != list.czxid { // it is another's by now
		delete(of.access, p)
		return
	}
	list.asked, list.is = false, r.Access
	if r.Err != nil {
		node := t.cfg.Chroot.OnServer(p)
		why := reads[readAccess].name + " " + node + ": " + reason(r.Err)
		if errors.Is(r.Err, ErrDenied) {
			why += " (it needs " + fmt.Sprintf(reads[readAccess].right, node) + ")"
		}
		list.is = &inspect.Access{Entries: []inspect.AccessEntry{}, Unknown: inspect.Untrusted(why)}
	}
	of.access[p] = list
	t.mark(of)
}

// accessOn puts the lists that are known into the directory's lock.
func (d *Dir) accessOn(l *inspect.Lock) {
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
