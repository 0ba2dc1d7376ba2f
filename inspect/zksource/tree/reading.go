package tree

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Lone reports whether the directory is a single node that may be a lock.
func (d *Dir) Lone() bool { return d.single() }

// Find returns the first read znode with a name, in the directory or its parts, for which wanted
// is true.
func (d *Dir) Find(name string, wanted func(inspect.Znode) bool) (inspect.Znode, bool) {
	for _, in := range d.places() {
		if n, ok := in.of(name); ok && wanted(n) {
			return n, true
		}
	}
	return inspect.Znode{}, false
}

// Without returns the directory's lock without some znodes, or nil if nothing is left.
func (d *Dir) Without(id inspect.ID, readAt time.Time, gone func(inspect.Znode) bool) *inspect.Lock {
	if gone(d.Own()) {
		return nil
	}
	whole := d.directory()
	whole.Children = slices.DeleteFunc(whole.Children, gone)
	for place, children := range whole.Parts {
		whole.Parts[place] = slices.DeleteFunc(children, gone)
	}
	l, _ := whole.Lock(id, readAt)
	return l
}

// Ask queues the first reads of one lock: its list, and that of a possible queue next to it.
// servers names the servers asked.
func (w *wants) Ask(servers string) {
	w.server.Addr = servers
	w.AddRoots()
	for _, p := range w.Roots() {
		w.push(&w.Queue.Urgent, Job{Kind: JobList, Dir: w.dirs[p]})
	}
}
