// Package node asks one Redis server: for the votes of keys (Votes, ReadKey), for the keys there are
// (Scanner), for the keys that change (Pusher), and about itself (ReadStatus). Nothing but reading commands
// can leave it: see ErrRefused.
//
// A vote is made of the replies to one key. The key is read by the type that it is believed to have
// (keyreading.go), recipes ask for the keys and channels that belong to it (recognise.go, auxiliary.go), and
// each command that is refused leaves its own part unknown (replyfault.go, commands.go).
package node
