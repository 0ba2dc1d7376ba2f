// Package zkwire is the one place that touches go-zookeeper's connection. It adds what that client
// lacks: more operations, several requests in flight, events and answers in order, and the time at
// which a quorum of the servers last answered.
//
// # How the socket is shared
//
// go-zookeeper makes the session: it dials through Tap.Dial, greets the server, sends pings and the
// requests of its own API, and reconnects. Tap gives it a connection of type tapConn (conn.go)
// instead of the plain one. All bytes that either side sends pass that connection's Write and Read,
// which cut them into frames (frames.go).
//
// Our requests (Tap.Send, request.go) are written between two frames of go-zookeeper. Each has an
// xid. go-zookeeper counts its own up from 1. Ours count down through negative numbers that neither
// it nor the protocol uses, so the xid identifies each reply. Replies to ours are removed from the
// stream before go-zookeeper reads it. Everything else passes unchanged, except events that have a
// listener (Tap.Listen). The listener receives them in their order among the replies, which
// go-zookeeper's channels do not keep.
//
// A request belongs to the connection that it was sent on and ends with it. So does a watch: go-zookeeper knows
// nothing of ours and sets none of them again. Each connection has a number (Tap.Connection) that callers can
// compare.
//
// # Facts from passing frames
//
// The greeting shows the session's id and its timeout. Replies show when the last answered request
// was sent (Tap.Lease), when a quorum last committed a change (Tap.Committed), and how late the
// server is (latency.go). Only a commit proves that the session lives. Silence is also noticed: a
// server that accepts a connection and does not answer is abandoned after Greeting. go-zookeeper
// alone would wait for several session timeouts.
//
// Lengths that a server announces are checked before go-zookeeper makes room for them (replies.go):
// otherwise a reply of a few bytes could crash the program.
//
// multiread.go has the operations that go-zookeeper does not know, fields.go and package jute the records.
package zkwire
