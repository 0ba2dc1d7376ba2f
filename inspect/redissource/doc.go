// Package redissource is an inspect.Source that reads locks from Redis. It finds keys with SCAN.
// If a master can push changed keys (CLIENT TRACKING in broadcast mode), only these are read
// again. On other masters the known keys are polled, with one pipeline a tick. Expiries are timed
// here, since servers report them late. A slow or missing master never delays the others.
//
// One goroutine owns all state: run, whose loop is in source.go. Its tasks ask the masters, one
// server each (package node). Their votes on every key are in one table (keytable.go), which
// builds the locks.
package redissource
