package zkserver

import (
	"maps"
	"slices"
)

// watchKind distinguishes the tables of watches.
type watchKind int

const (
	watchData       watchKind = iota // set by exists and getData; fires once
	watchChild                       // set by getChildren; fires once
	watchPersistent                  // set by addWatch: data and children of one path, repeatedly
	watchRecursive                   // set by addWatch: data of a path and all below it, repeatedly
	watchKinds
)

// watchTable lists the connections that watch a path.
type watchTable map[string]map[*conn]struct{}

// watches are all watches of all connections. They belong to a connection and end with it; clients
// set them again with setWatches. The kinds coexist, even on one path (in 3.8 the newest replaces
// the others: ZOOKEEPER-4466).
type watches [watchKinds]watchTable

// watchedPaths is the inverse: the watches of one connection.
type watchedPaths [watchKinds]map[string]struct{}

func newWatches() *watches {
	var w watches
	for kind := range w {
		w[kind] = watchTable{}
	}
	return &w
}

func newWatchedPaths() watchedPaths {
	var p watchedPaths
	for kind := range p {
		p[kind] = map[string]struct{}{}
	}
	return p
}

func (w *watches) add(kind watchKind, path string, c *conn) {
	if w[kind][path] == nil {
		w[kind][path] = map[*conn]struct{}{}
	}
	w[kind][path][c] = struct{}{}
	c.watched[kind][path] = struct{}{}
}

func (w *watches) has(kind watchKind, path string, c *conn) bool {
	_, ok := c.watched[kind][path]
	return ok
}

func (w *watches) remove(kind watchKind, path string, c *conn) {
	delete(c.watched[kind], path)
	delete(w[kind][path], c)
	if len(w[kind][path]) == 0 {
		delete(w[kind], path)
	}
}

// drop forgets every watch of a connection.
func (w *watches) drop(c *conn) {
	for kind := range watchKinds {
		for path := range c.watched[kind] {
			w.remove(kind, path, c)
		}
	}
}

// fire sends the events of one change. Each connection gets each of them once.
func (w *watches) fire(ch change) {
	parent, _, _ := parentOf(ch.path)
	watchers := map[*conn]struct{}{}
	w.take(watchData, ch.path, watchers)
	if ch.kind == nodeDeleted {
		w.take(watchChild, ch.path, watchers)
	}
	maps.Copy(watchers, w[watchPersistent][ch.path])
	w.collectRecursive(ch.path, watchers)
	notifyAll(watchers, ch.kind, ch.path, ch.acl)
	if ch.kind == nodeDataChanged {
		return
	}
	clear(watchers)
	w.take(watchChild, parent, watchers)
	maps.Copy(watchers, w[watchPersistent][parent])
	notifyAll(watchers, nodeChildrenChanged, parent, ch.parentACL)
}

// take moves the watchers of one path, whose watches fire once, into a set.
func (w *watches) take(kind watchKind, path string, into map[*conn]struct{}) {
	for c := range w[kind][path] {
		into[c] = struct{}{}
		w.remove(kind, path, c)
	}
}

func (w *watches) collectRecursive(path string, into map[*conn]struct{}) {
	if len(w[watchRecursive]) == 0 {
		return
	}
	for {
		maps.Copy(into, w[watchRecursive][path])
		if path == "/" {
			return
		}
		path, _, _ = parentOf(path)
	}
}

// notifyAll notifies the clients that may read the node.
func notifyAll(watchers map[*conn]struct{}, kind eventType, path string, list []acl) {
	for c := range watchers {
		if allow(list, permRead, c.who) == codeOK {
			c.notify(kind, path)
		}
	}
}

// missed is a client's request (setWatches) to watch these paths again.
type missed struct {
	since                 int64 // the last zxid the client has seen
	data, exist, child    []string
	persistent, recursive []string
}

// restore sets watches again. Those of changed nodes fire at once instead; a persistent watch stays
// silent about the change.
func (w *watches) restore(t *tree, c *conn, m missed) {
	again := func(watch watchKind, paths []string, at func(*node) int64, changed eventType) {
		for _, path := range paths {
			switch n := t.get(path); {
			case n == nil:
				c.notify(nodeDeleted, path)
			case at(n) > m.since:
				c.notify(changed, path)
			default:
				w.add(watch, path, c)
			}
		}
	}
	again(watchData, m.data, func(n *node) int64 { return n.mzxid }, nodeDataChanged)
	for _, path := range m.exist {
		if t.get(path) != nil {
			c.notify(nodeCreated, path)
		} else {
			w.add(watchData, path, c)
		}
	}
	again(watchChild, m.child, func(n *node) int64 { return n.pzxid }, nodeChildrenChanged)
	for _, path := range m.persistent {
		w.add(watchPersistent, path, c)
	}
	for _, path := range m.recursive {
		w.add(watchRecursive, path, c)
	}
}

// reported are the kinds that the admin commands show: child watches are not among them.
var reported = []watchKind{watchData, watchPersistent, watchRecursive}

// byPath lists the watching sessions as the admin commands show them.
func (w *watches) byPath() map[string][]int64 {
	list := map[string][]int64{}
	for _, kind := range reported {
		for path, conns := range w[kind] {
			for c := range conns {
				list[path] = append(list[path], c.session.id)
			}
		}
	}
	for path, ids := range list {
		slices.Sort(ids)
		list[path] = slices.Compact(ids)
	}
	return list
}

// bySession is byPath the other way round.
func (w *watches) bySession() map[int64][]string {
	list, byPath := map[int64][]string{}, w.byPath()
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		for _, id := range byPath[path] {
			list[id] = append(list[id], path)
		}
	}
	return list
}

// summary counts the watches of byPath.
func (w *watches) summary() (sessions, paths, total int) {
	byPath := w.byPath()
	for _, ids := range byPath {
		total += len(ids)
	}
	return len(w.bySession()), len(byPath), total
}
