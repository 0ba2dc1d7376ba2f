package zkserver

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lockscope/lockscope/internal/zkpath"
)

// stat is a node's Stat. Times are milliseconds since 1970.
type stat struct {
	czxid, mzxid, ctime, mtime  int64
	version, cversion, aversion int32
	ephemeralOwner              int64
	dataLength, numChildren     int32
	pzxid                       int64
}

type node struct {
	data     []byte // nil and empty differ on the wire
	acl      []acl
	children map[string]struct{}

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	creates             int32 // children ever created: the next sequence number
	owner               int64 // session of an ephemeral node, else 0
	container           bool
}

func (n *node) stat() stat {
	return stat{
		czxid: n.czxid, mzxid: n.mzxid, ctime: n.ctime, mtime: n.mtime,
		version: n.version, aversion: n.aversion,
		cversion:       2*n.creates - int32(len(n.children)), // every create counts once, every delete once
		ephemeralOwner: n.owner,
		dataLength:     int32(len(n.data)),
		numChildren:    int32(len(n.children)),
		pzxid:          n.pzxid,
	}
}

// tree holds the nodes by path. It does not know clients: watches fire from the changes that a txn
// collects.
type tree struct {
	nodes      map[string]*node
	ephemerals map[int64]map[string]struct{} // session -> paths
	reapable   map[string]struct{}           // containers
}

// change is one change of one node, for the watches.
type change struct {
	kind eventType
	path string
	// acl and parentACL decide who is notified. A client must be able to read the node and, if it
	// was created or deleted, its parent (CVE-2024-23944: since 3.8.4, and in Debian's version).
	acl, parentACL []acl
}

// txn is one numbered change of the tree: a write request, all parts of one multi, or the end of a
// session.
type txn struct {
	tree    *tree
	zxid    int64
	now     int64 // milliseconds since 1970
	session int64
	who     []identity // of the client
	changes []change
	undo    []func()
}

// rollback undoes everything that this txn did.
func (tx *txn) rollback() {
	for _, undo := range slices.Backward(tx.undo) {
		undo()
	}
	tx.undo, tx.changes = nil, nil
}

func newTree() *tree {
	t := &tree{
		nodes:      map[string]*node{},
		ephemerals: map[int64]map[string]struct{}{},
		reapable:   map[string]struct{}{},
	}
	// The server's own nodes were never "created": they do not count for their parents.
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		t.nodes[path] = &node{data: []byte{}, acl: openACL, children: map[string]struct{}{}}
		if parent, name, _ := parentOf(path); name != "" {
			t.nodes[parent].children[name] = struct{}{}
		}
	}
	config := t.nodes["/zookeeper/config"]
	config.acl, config.aversion = []acl{{permRead, anyone}}, -1
	return t
}

func isSpecial(path string) bool {
	return path == "/" || path == "/zookeeper" || path == "/zookeeper/config" || path == "/zookeeper/quota"
}

// get finds a node; the empty path is the root, too, as in the real server.
func (t *tree) get(path string) *node {
	path = cmp.Or(path, "/")
	return t.nodes[path]
}

// createArgs is a create request of any kind.
type createArgs struct {
	path      string
	data      []byte
	acl       []acl
	flags     int32
	container bool // the client asks for a container
}

func (a createArgs) sequential() bool {
	return a.flags == modePersistentSequential || a.flags == modeEphemeralSequential
}

func (a createArgs) ephemeral() bool {
	return a.flags == modeEphemeral || a.flags == modeEphemeralSequential
}

func (a createArgs) code() errCode {
	if a.flags < modePersistent || a.flags > modeContainer {
		return codeBadArguments
	}
	if _, _, ok := parentOf(a.path); !ok {
		return codeBadArguments
	}
	return codeOK
}

// create adds a node and returns its path, with any sequence number. It checks in the real server's
// order.
func (tx *txn) create(a createArgs) (string, *node, errCode) {
	if code := a.code(); code != codeOK {
		return "", nil, code
	}
	list, code := resolve(a.acl, tx.who)
	if code != codeOK {
		return "", nil, code
	}
	t := tx.tree
	parentPath, _, _ := parentOf(a.path)
	parent := t.get(parentPath)
	if parent == nil {
		return "", nil, codeNoNode
	}
	if code := allow(parent.acl, permCreate, tx.who); code != codeOK {
		return "", nil, code
	}
	path := a.path
	if a.sequential() {
		path += fmt.Sprintf("%010d", parent.creates)
	}
	switch {
	case zkpath.Check(path) != nil:
		return "", nil, codeBadArguments
	case t.nodes[path] != nil:
		return "", nil, codeNodeExists
	case parent.owner != 0:
		return "", nil, codeNoChildrenForEphemerals
	}
	n := &node{
		data: a.data, acl: list, children: map[string]struct{}{},
		czxid: tx.zxid, mzxid: tx.zxid, pzxid: tx.zxid, ctime: tx.now, mtime: tx.now,
		container: a.container,
	}
	if a.ephemeral() {
		n.owner = tx.session
	}
	creates, pzxid := parent.creates, parent.pzxid
	t.link(path, n)
	if parent.creates < math.MaxInt32 {
		parent.creates++ // the last number repeats (DataTree.createNode, 3.8)
	}
	parent.pzxid = tx.zxid
	tx.undo = append(tx.undo, func() {
		t.unlink(path, n)
		parent.creates, parent.pzxid = creates, pzxid
	})
	tx.changes = append(tx.changes, change{nodeCreated, path, n.acl, parent.acl})
	return path, n, codeOK
}

// delete removes a node without children; version -1 matches any.
func (tx *txn) delete(path string, version int32) errCode {
	t := tx.tree
	parentPath, _, ok := parentOf(path)
	if !ok || isSpecial(path) {
		return codeBadArguments
	}
	parent, n := t.get(parentPath), t.nodes[path]
	if parent == nil {
		return codeNoNode
	}
	if code := allow(parent.acl, permDelete, tx.who); code != codeOK {
		return code
	}
	switch {
	case n == nil:
		return codeNoNode
	case version != -1 && version != n.version:
		return codeBadVersion
	case len(n.children) > 0:
		return codeNotEmpty
	}
	pzxid := parent.pzxid
	t.unlink(path, n)
	parent.pzxid = tx.zxid
	tx.undo = append(tx.undo, func() {
		t.link(path, n)
		parent.pzxid = pzxid
	})
	tx.changes = append(tx.changes, change{nodeDeleted, path, n.acl, parent.acl})
	return codeOK
}

func (tx *txn) setData(path string, data []byte, version int32) (*node, errCode) {
	n, code := tx.node(path, permWrite)
	if code != codeOK {
		return nil, code
	}
	if version != -1 && version != n.version {
		return nil, codeBadVersion
	}
	old := *n
	n.data, n.mzxid, n.mtime = data, tx.zxid, tx.now
	n.version++
	tx.undo = append(tx.undo, func() {
		n.data, n.mzxid, n.mtime, n.version = old.data, old.mzxid, old.mtime, old.version
	})
	tx.changes = append(tx.changes, change{kind: nodeDataChanged, path: path, acl: n.acl})
	return n, codeOK
}

func (tx *txn) check(path string, version int32) errCode {
	n, code := tx.node(path, permRead)
	if code == codeOK && version != -1 && version != n.version {
		return codeBadVersion
	}
	return code
}

// node finds a node and checks a right on it.
func (tx *txn) node(path string, perm int32) (*node, errCode) {
	if zkpath.Check(path) != nil {
		return nil, codeBadArguments
	}
	n := tx.tree.nodes[path]
	if n == nil {
		return nil, codeNoNode
	}
	return n, allow(n.acl, perm, tx.who)
}

func (tx *txn) setACL(path string, list []acl, version int32) (*node, errCode) {
	if zkpath.Check(path) != nil {
		return nil, codeBadArguments
	}
	list, code := resolve(list, tx.who)
	if code != codeOK {
		return nil, code
	}
	n, code := tx.node(path, permAdmin)
	if code != codeOK {
		return nil, code
	}
	if version != -1 && version != n.aversion {
		return nil, codeBadVersion
	}
	n.acl = list
	n.aversion++
	return n, codeOK
}

// endSession deletes the ephemeral nodes of the txn's session.
func (tx *txn) endSession() {
	tx.who = super
	for _, path := range tx.tree.ephemeralsOf(tx.session) {
		tx.delete(path, -1)
	}
}

func (t *tree) ephemeralsOf(session int64) []string {
	return slices.Sorted(maps.Keys(t.ephemerals[session]))
}

// reap returns the containers that have had children and are now empty.
func (t *tree) reap() []string {
	var list []string
	for path := range t.reapable {
		n := t.nodes[path]
		if len(n.children) > 0 {
			continue
		}
		if n.creates > 0 {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

func (t *tree) link(path string, n *node) {
	parent, name, _ := parentOf(path)
	t.nodes[path] = n
	t.nodes[parent].children[name] = struct{}{}
	if n.container {
		t.reapable[path] = struct{}{}
	}
	if n.owner != 0 {
		if t.ephemerals[n.owner] == nil {
			t.ephemerals[n.owner] = map[string]struct{}{}
		}
		t.ephemerals[n.owner][path] = struct{}{}
	}
}

func (t *tree) unlink(path string, n *node) {
	parent, name, _ := parentOf(path)
	delete(t.nodes, path)
	delete(t.nodes[parent].children, name)
	delete(t.reapable, path)
	if n.owner != 0 {
		delete(t.ephemerals[n.owner], path)
		if len(t.ephemerals[n.owner]) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
}

// childNames lists children unordered, as the real server does.
func (n *node) childNames() []string {
	return slices.Collect(maps.Keys(n.children))
}

// count counts nodes as the real server does: the root twice, for its two names.
func (t *tree) count() int { return len(t.nodes) + 1 }
