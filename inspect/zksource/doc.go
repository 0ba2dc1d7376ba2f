// Package zksource is an inspect.Source that watches the locks of a ZooKeeper ensemble. It walks the tree
// from its roots, many reads a request, with one watch on each root that reports all changes below, lists
// again what changed at a bounded rate, and reads only children that are new. On servers before 3.6 it reads
// one by one, again and again. The clients of sessions it learns from the servers themselves at a slow beat
// (package zkadmin). It never writes.
//
// One goroutine has all of the state: run, whose loop is in source.go. It goes round from what was heard
// (link.go, below.go) over what is to be asked (jobs.go, manyreads.go) and what was answered (walk.go,
// tree.go) to the locks that this makes (parts.go) and to the update that is emitted (flush in source.go).
// ReadLock reads one lock by the same rules for who acts on it, over a connection of theirs (readlock.go).
package zksource
