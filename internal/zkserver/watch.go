package zkserver

import (
	"maps"
	"slices"
)

// watchTable says which connections watch which path. A watch fires once.
type watchTable map[string]map[*conn]struct{}

func (t watchTable) add(path string, c *conn) {
	if t[path] == nil {
		t[path] = map[*conn]struct{}{}
	}
	t[path][c] = struct{}{}
}

func (t watchTable) remove(path string, c *conn) {
	delete(t[path], c)
	if len(t[path]) == 0 {
		delete(t, path)
	}
}

func (t watchTable) size() (total int) {
	for _, conns := range t {
		total += len(conns)
	}
	return total
}

// watches are all one-shot watches: data holds those set by exists and getData, child those set by getChildren.
// They belong to a connection and end with it; clients set them again with setWatches.
type watches struct {
	data, child watchTable
}

func newWatches() *watches { return &watches{data: watchTable{}, child: watchTable{}} }

func (w *watches) addData(path string, c *conn) {
	w.data.add(path, c)
	c.dataPaths[path] = struct{}{}
}

func (w *watches) addChild(path string, c *conn) {
	w.child.add(path, c)
	c.childPaths[path] = struct{}{}
}

// drop forgets every watch of a connection.
func (w *watches) drop(c *conn) {
	for path := range c.dataPaths {
		w.data.remove(path, c)
	}
	for path := range c.childPaths {
		w.child.remove(path, c)
	}
	clear(c.dataPaths)
	clear(c.childPaths)
}

// fire tells the watchers of one change, each connection once an event.
func (w *watches) fire(ch change) {
	parent, _, _ := parentOf(ch.path)
	switch ch.kind {
	case nodeCreated:
		w.tell(w.takeData(ch.path), nodeCreated, ch.path)
		w.tell(w.takeChild(parent), nodeChildrenChanged, parent)
	case nodeDeleted:
		gone := w.takeData(ch.path)
		for c := range w.takeChild(ch.path) {
			if gone == nil {
				gone = map[*conn]struct{}{}
			}
			gone[c] = struct{}{}
		}
		w.tell(gone, nodeDeleted, ch.path)
		w.tell(w.takeChild(parent), nodeChildrenChanged, parent)
	case nodeDataChanged:
		w.tell(w.takeData(ch.path), nodeDataChanged, ch.path)
	}
}

func (w *watches) takeData(path string) map[*conn]struct{} {
	conns := w.data[path]
	delete(w.data, path)
	for c := range conns {
		delete(c.dataPaths, path)
	}
	return conns
}

func (w *watches) takeChild(path string) map[*conn]struct{} {
	conns := w.child[path]
	delete(w.child, path)
	for c := range conns {
		delete(c.childPaths, path)
	}
	return conns
}

func (w *watches) tell(conns map[*conn]struct{}, kind eventType, path string) {
	for c := range conns {
		c.notify(kind, path)
	}
}

// restore is setWatches: a client that was away since relativeZxid watches again. What has changed meanwhile fires at once.
func (w *watches) restore(t *tree, c *conn, relativeZxid int64, data, exist, child []string) {
	for _, path := range data {
		switch n := t.get(path); {
		case n == nil:
			c.notify(nodeDeleted, path)
		case n.mzxid > relativeZxid:
			c.notify(nodeDataChanged, path)
		default:
			w.addData(path, c)
		}
	}
	for _, path := range exist {
		if t.get(path) != nil {
			c.notify(nodeCreated, path)
		} else {
			w.addData(path, c)
		}
	}
	for _, path := range child {
		switch n := t.get(path); {
		case n == nil:
			c.notify(nodeDeleted, path)
		case n.pzxid > relativeZxid:
			c.notify(nodeChildrenChanged, path)
		default:
			w.addChild(path, c)
		}
	}
}

// byPath lists the data and exists watches as the admin commands show them: child watches are not in it.
func (w *watches) byPath() map[string][]int64 {
	list := map[string][]int64{}
	for path, conns := range w.data {
		for c := range conns {
			list[path] = append(list[path], c.session.id)
		}
		slices.Sort(list[path])
	}
	return list
}

// bySession is byPath the other way round.
func (w *watches) bySession() map[int64][]string {
	list := map[int64][]string{}
	for _, path := range slices.Sorted(maps.Keys(w.data)) {
		for c := range w.data[path] {
			list[c.session.id] = append(list[c.session.id], path)
		}
	}
	return list
}

// summary counts the same watches.
func (w *watches) summary() (conns, paths, total int) {
	seen := map[*conn]struct{}{}
	for _, set := range w.data {
		maps.Copy(seen, set)
	}
	return len(seen), len(w.data), w.data.size()
}
