// Package zksource is an inspect.Source that watches the locks of a ZooKeeper ensemble. It walks the tree
// from its roots, many reads a request, with one watch on each root that reports all changes below, lists
// again what changed at a bounded rate, and reads only children that are new. On servers before 3.6 it reads
// one by one, again and again. It never writes.
//
// The work is divided: package tree knows the nodes and makes the locks, and package ensemble knows the
// servers, who is connected to them and whose clock counts. Both are told what happened and asked what
// follows; neither calls back. What is left here turns the wheel. One goroutine has all of the state: the loop
// in source.go. It takes what a connection heard (link.go), puts it into the tree, lets the tree make the
// locks that this changes, sends what the tree wants read (request.go, batch.go) at the pace of the budgets
// (pacing.go), and emits an update. Beside that it asks the servers about themselves at a slow beat
// (inquiries.go).
//
// ReadLock reads one lock by the same rules for who acts on it, over a connection of theirs (readlock.go).
package zksource
