package tree

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// node is the last reading of one child of a directory.
type node struct {
	data              []byte
	czxid, owner      int64
	created, modified int64 // ms since 1970, by the servers' clock
	version           int32
	read              nodeRead
	wait              nodeWait
}

// nodeRead is the outcome of reading a node.
type nodeRead uint8

const (
	nodeUnread   nodeRead = iota
	nodeRefused           // nothing could be read
	nodeSealed            // only its Stat was read
	nodeComplete          // all was read
)

// nodeWait is whether a node's read is queued or in flight.
type nodeWait uint8

const (
	nodeIdle nodeWait = iota
	nodeAwaited
	nodeFresh // awaited, and new since the lock was last complete, so hidden until read
)

// maxData limits the bytes that are kept of a node's data.
const maxData = 1 << 10

// children has the sorted names of a directory's children, and their last readings.
type children struct {
	names []string
	nodes []node // one for each of names, or nil if nothing was read
	// early holds nodes that are read before a list names them.
	early   map[string]*node
	awaited int // number of awaited nodes
	fresh   int
}

// find returns the last reading of a child, or nil. The pointer is valid until the next list.
func (c *children) find(name string) *node {
	if c.nodes != nil {
		if i, listed := slices.BinarySearch(c.names, name); listed {
			return &c.nodes[i]
		}
	}
	return c.early[name]
}

// at is find by the index in names.
func (c *children) at(i int) *node {
	if c.nodes == nil {
		return nil
	}
	return &c.nodes[i]
}

// place is find, but makes room for an unknown child.
func (c *children) place(name string) *node {
	if i, listed := slices.BinarySearch(c.names, name); listed {
		if c.nodes == nil {
			c.nodes = make([]node, len(c.names))
		}
		return &c.nodes[i]
	}
	n := c.early[name]
	if n == nil {
		n = new(node)
		if c.early == nil {
			c.early = map[string]*node{}
		}
		c.early[name] = n
	}
	return n
}

// has reports whether a child was read.
func (c *children) has(name string) bool { return c.find(name).wasRead() }

func (c *children) awaits(name string) bool { return c.find(name).isAwaited() }

// wasRead reports whether a node was read, or found to be unreadable.
func (n *node) wasRead() bool { return n != nil && n.read != nodeUnread }

func (n *node) isAwaited() bool { return n != nil && n.wait != nodeIdle }

// of returns a child that was read.
func (c *children) of(name string) (inspect.Znode, bool) {
	n := c.find(name)
	if !n.wasRead() {
		return inspect.Znode{}, false
	}
	return n.znode(name), true
}

func (n *node) znode(name string) inspect.Znode {
	if n.read < nodeSealed {
		return inspect.Znode{Name: name}
	}
	return inspect.Znode{
		Name: name, Known: true, Sealed: n.read == nodeSealed, Data: n.data,
		Czxid: n.czxid, Version: n.version, EphemeralOwner: n.owner,
		Created: time.UnixMilli(n.created), Modified: time.UnixMilli(n.modified),
	}
}

// keep remembers a child that was read or, without a Stat, could not be read. It reports whether
// anything changed.
func (c *children) keep(name string, data []byte, stat *Stat, sealed bool) (n *node, changed bool) {
	n = c.place(name)
	was := *n
	*n = node{read: nodeRefused, wait: was.wait}
	if stat != nil {
		n.data = slices.Clip(slices.Clone(data[:min(len(data), maxData)]))
		n.czxid, n.owner, n.version = stat.Czxid, stat.EphemeralOwner, stat.Version
		n.created, n.modified = stat.Ctime, stat.Mtime
		n.read = nodeComplete
		if sealed {
			n.read = nodeSealed
		}
	}
	return n, n.read != was.read || n.czxid != was.czxid || n.version != was.version
}

// await notes that a read of the child is queued.
func (c *children) await(name string) {
	if n := c.place(name); n.wait == nodeIdle {
		n.wait = nodeAwaited
		c.awaited++
	}
}

// hold keeps a child hidden until its queued read, if any, is answered.
func (c *children) hold(name string) {
	if n := c.find(name); n != nil && n.wait == nodeAwaited {
		n.wait = nodeFresh
		c.fresh++
	}
}

// arrived notes that a child was read, or is gone.
func (c *children) arrived(name string) {
	n := c.find(name)
	if n == nil {
		return
	}
	c.settle(n)
	if !n.wasRead() {
		delete(c.early, name)
	}
}

// settle removes a node from the counts of awaited nodes.
func (c *children) settle(n *node) {
	if n.wait != nodeIdle {
		c.awaited--
	}
	if n.wait == nodeFresh {
		c.fresh--
	}
	n.wait = nodeIdle
}

// awaitNone cancels all awaited reads.
func (c *children) awaitNone() {
	if c.awaited == 0 {
		return
	}
	for i := range c.nodes {
		c.settle(&c.nodes[i])
	}
	maps.DeleteFunc(c.early, func(_ string, n *node) bool {
		c.settle(n)
		return !n.wasRead()
	})
}

// forget drops all readings and awaited reads.
func (c *children) forget() { *c = children{names: c.names} }

// list applies a new list, and returns the added and removed names. All names of a list share
// memory. New names of a later list are cloned, so that they do not keep the whole list.
func (c *children) list(names []string) (added, removed []string) {
	slices.Sort(names)
	old, were := c.names, c.nodes
	c.names, c.nodes = names, nil
	if len(old) == 0 && len(c.early) == 0 { // the usual case: most directories are listed once
		return slices.Clone(names), nil
	}
	if were != nil || len(c.early) > 0 {
		c.nodes = make([]node, len(names))
	}
	for i, k := 0, 0; i < len(names) || k < len(old); { // both are sorted
		switch {
		case k == len(old) || i < len(names) && names[i] < old[k]:
			names[i] = strings.Clone(names[i])
			added = append(added, names[i])
			if n := c.early[names[i]]; n != nil {
				c.nodes[i] = *n
				delete(c.early, names[i])
			}
			i++
		case i == len(names) || old[k] < names[i]:
			removed = append(removed, old[k])
			if were != nil {
				c.settle(&were[k])
			}
			k++
		default:
			if names[i] = old[k]; were != nil {
				c.nodes[i] = were[k]
			}
			i, k = i+1, k+1
		}
	}
	maps.DeleteFunc(c.early, func(_ string, n *node) bool { return n.wait == nodeIdle }) // gone before it was listed
	return added, removed
}

// drop forgets a child that is gone; false if it was not listed.
func (c *children) drop(name string) bool {
	c.arrived(name)
	i, listed := slices.BinarySearch(c.names, name)
	if listed {
		c.names = slices.Delete(c.names, i, i+1)
		if c.nodes != nil {
			c.nodes = slices.Delete(c.nodes, i, i+1)
		}
	}
	return listed
}

// shown returns the children that may be shown. A child still awaiting its first read since the
// lock was complete is left out.
func (c *children) shown() []inspect.Znode {
	shown := make([]inspect.Znode, 0, len(c.names))
	for i, name := range c.names {
		switch {
		case c.nodes == nil:
			shown = append(shown, inspect.Znode{Name: name})
		case c.nodes[i].wasRead():
			shown = append(shown, c.nodes[i].znode(name))
		case c.nodes[i].wait != nodeFresh:
			shown = append(shown, inspect.Znode{Name: name})
		}
	}
	return shown
}

// readSome reports whether any child was read.
func (c *children) readSome() bool {
	return slices.ContainsFunc(c.nodes, func(n node) bool { return n.wasRead() })
}

// someUnread reports whether any child is unread.
func (c *children) someUnread() bool {
	return c.nodes == nil && len(c.names) > 0 || slices.ContainsFunc(c.nodes, func(n node) bool { return !n.wasRead() })
}

// owned iterates over the children that a session owns.
func (c *children) owned(yield func(name string, n *node) bool) {
	for i := range c.nodes {
		if n := &c.nodes[i]; n.owner != 0 && !yield(c.names[i], n) {
			return
		}
	}
}
