package zkserver

import (
	"math"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// The last sequence number is used repeatedly, since DataTree never uses a smaller one.
func TestLastSequenceNumberRepeats(t *testing.T) {
	t.Parallel()
	tree := newTree()
	tx := &txn{tree: tree, zxid: 1}
	create := func(path string, flags int32) string {
		t.Helper()
		got, _, code := tx.create(createArgs{path: path, acl: openACL, flags: flags})
		must.Equal(t, code, codeOK, path)
		return got
	}
	create("/d", modePersistent)
	tree.nodes["/d"].creates = math.MaxInt32
	for _, prefix := range []string{"/d/n-", "/d/m-"} {
		must.Equal(t, create(prefix, modePersistentSequential), prefix+"2147483647")
	}
}

// A rollback undoes all changes of a transaction, whatever their order.
func TestRollbackLeavesNoTrace(t *testing.T) {
	t.Parallel()
	tree := newTree()
	before := &txn{tree: tree, zxid: 1} // session 0: its "ephemeral" node has no owner
	before.create(createArgs{path: "/a", data: []byte("x"), acl: openACL})
	before.create(createArgs{path: "/a/e", acl: openACL, flags: modeEphemeral})
	stat, count := tree.nodes["/a"].stat(), tree.count()

	tx := &txn{tree: tree, zxid: 2, session: 7}
	tx.create(createArgs{path: "/a/n-", acl: openACL, flags: modeEphemeralSequential})
	tx.create(createArgs{path: "/a/c", acl: openACL, container: true})
	tx.create(createArgs{path: "/a/c/d", data: []byte("long"), acl: openACL})
	tx.setData("/a", []byte("longer"), -1)
	tx.setData("/a/c/d", nil, 0)
	tx.delete("/a/e", -1)
	tx.delete("/a/c/d", -1)
	must.Equal(t, len(tx.changes), 7, "changes")
	tx.rollback()
	must.Equal(t, tree.nodes["/a"].stat(), stat, "stat: got")
	must.Equal(t, tree.count(), count, "nodes")
	must.True(t, len(tree.reapable) == 0 && len(tree.ephemerals) == 0, tree.reapable, tree.ephemerals)
	must.True(t, string(tree.nodes["/a"].data) == "x" && tree.nodes["/a/e"] != nil, "data or node not restored")
}
