// Package zksource is an inspect.Source that watches the locks of a ZooKeeper ensemble. It walks the tree
// from its roots, many reads a request, with one watch on each root that reports all changes below, lists
// again what changed at a bounded rate, and reads only children that are new. On servers before 3.6 it reads
// one by one, again and again. It never writes.
//
// The work is divided. Package tree knows the nodes and builds the locks. Package ensemble knows
// the servers, their clients and the clock that counts. Both receive events and answer queries;
// neither calls back. This package drives them. One goroutine, the loop in source.go, owns all of
// the state. It takes replies from a connection (link.go) and puts them into the tree, which builds
// the changed locks. It sends the reads that the tree wants (request.go, batch.go) at the pace of
// the budgets (pacing.go), and emits an update. It also asks the servers about themselves at a slow
// beat (inquiries.go).
//
// ReadLock reads one lock by the same rules, over the connection of a caller that acts on it
// (readlock.go).
package zksource
