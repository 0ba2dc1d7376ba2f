// Package redissource is an inspect.Source that reads locks from Redis. It finds keys with SCAN. A master
// that can pushes which keys change (CLIENT TRACKING in broadcast mode), and only these are read again; on
// the others the known keys are, with one pipeline a tick. When a key runs out is timed here, since servers
// report that late. A master that is slow or gone never holds up the others. Nothing but reading commands can
// leave it: see ErrRefused.
//
// One goroutine has all of the state: run, whose loop is in source.go. Its tasks find keys on each master
// (scan.go), hear of them (push.go) and read them (master.go, read.go, keyreading.go); what the masters said
// of every key is in one table (keytable.go), which makes the locks. ReadKey reads one key by the same rules
// for who acts on it (readkey.go).
package redissource
