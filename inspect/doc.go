// Package inspect is the model of the reading side: locks, their contenders and owners, backends,
// and immutable snapshots of them. It does no I/O. Sources (zksource, redissource) read servers
// and emit Updates; the Observer joins them. Nothing under inspect writes to a server.
package inspect
