// Package zksource is an inspect.Source that watches the locks of a ZooKeeper ensemble. It walks
// the tree from its roots, with many reads per request and one watch on each root that reports all
// changes below. It lists changed directories again at a bounded rate, and reads only new children.
// On servers before 3.6 it polls with single reads. It never writes.
//
// Package tree knows the nodes and builds the locks. Package ensemble knows the servers, their
// clients and the clock that dates the tree. Both receive events and answer queries; neither calls
// back. This package drives them. One goroutine, the loop in source.go, owns all state. It puts
// replies from a connection (link.go) into the tree, which builds the changed locks. It sends the
// reads that the tree wants (request.go, batch.go) within the budgets (pacing.go), and emits an
// update. From time to time it asks the servers about themselves (inquiries.go).
//
// ReadLock reads one lock by the same rules, over the caller's connection (readlock.go).
package zksource
