// Package inspect is the reading side's model: locks, their contenders and owners, backends, and immutable
// snapshots of them. It does no I/O: sources below it (zksource, redissource) read servers and emit Updates, the
// Observer joins them. Nothing under inspect writes to a server.
package inspect
