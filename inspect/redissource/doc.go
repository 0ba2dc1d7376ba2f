// Package redissource is an inspect.Source that reads locks from Redis. It finds keys with SCAN. A master that
// can pushes which keys change (CLIENT TRACKING in broadcast mode), and only these are read again; on the
// others the known keys are polled, with one pipeline a tick. Expiries are timed here, since servers report
// them late. A master that is slow or gone never holds up the others.
//
// One goroutine has all of the state: run, whose loop is in source.go. Its tasks ask the masters, one server
// each (package node); what the masters said of every key is in one table (keytable.go), which makes the locks.
package redissource
