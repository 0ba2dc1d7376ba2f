// Package zkserver is a small ZooKeeper server that runs in-process, for the demo, the sandbox and
// the tests.
//
// It speaks the real client protocol, so that unmodified clients (go-zookeeper, kazoo, Curator) run
// against it. It also answers the AdminServer's HTTP commands and the four-letter words about
// sessions and watches. Its tests run the same scenarios against Apache ZooKeeper 3.8 and require
// equal results.
//
// It is only a sandbox: one server, everything in memory, no persistence, no quotas, no TLS. An
// Ensemble has followers that can lag or be cut off, to test how clients cope, but no elections.
// ACLs are enforced with the schemes world, auth and digest, and decide who is notified of a
// change; there is no super user. Reconfiguration and SASL are not implemented, and answered like
// any unknown request: Unimplemented, and the connection is closed.
//
// It also differs from 3.8.0 as shipped. There are no TTL nodes, and reports have no counts of
// packets and no latencies. Requests for ephemeral nodes, all children and the client are
// Unimplemented. Four-letter words work without a whitelist. Pipelined creations at the last
// sequence number never wrap it. Watches of different modes on one path do not replace each other.
// A client that lets 64 MiB of answers pile up is cut off. A check request outside a multi is
// refused at once, where the real server stops answering.
//
// How it works: one mutex around the tree, the sessions and the watches puts all requests in one
// sequence. Each connection has a reader and a writer. The reader executes its requests one after
// another under that mutex. The writer sends the replies and events queued under the same mutex.
// Clients build on the resulting guarantees: replies come in request order, and a watch event
// before the reply to any request executed after the change.
package zkserver
