// Package node asks one Redis server for the votes of keys (Votes, ReadKey), for existing keys
// (Scanner), for changed keys (Pusher), and about itself (ReadStatus). It sends only read
// commands: see ErrRefused.
//
// A vote is built from the replies about one key. The key is read by its presumed type
// (keyreading.go), and recipes request related keys and channels (recognise.go, auxiliary.go).
// Each refused command leaves only its own part unknown (replyfault.go, commands.go).
package node
