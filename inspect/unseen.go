package inspect

import (
	"slices"
)

// Aspect is a part of the state of a lock or a backend that can be unknown on its own.
type Aspect string

// The aspects, as in the JSON.
const (
	// AspectLocks: which locks there are; of a backend, or of a directory or pattern in it.
	AspectLocks Aspect = "locks"
	// AspectKind: whether it is a lock, its kind and its library.
	AspectKind Aspect = "kind"
	// AspectHolders: the holders. The lock's state is then unknown, unless other masters decide it.
	AspectHolders Aspect = "holders"
	// AspectWaiters: the waiters; there may be more than are listed.
	AspectWaiters Aspect = "waiters"
	// AspectExpiry: the time of its expiry.
	AspectExpiry Aspect = "expiry"
	// AspectVotes: the values of one or more masters under its key.
	AspectVotes Aspect = "votes"
	// AspectWatches: the waiters' watches.
	AspectWatches Aspect = "watches"
	// AspectSessions: which clients the sessions are, and whether they live.
	AspectSessions Aspect = "sessions"
	// AspectOwner: the owners, as the contenders' data names them.
	AspectOwner Aspect = "owner"
	// AspectServer: a server's role, start, clock, memory or persistence.
	AspectServer Aspect = "server"
	// AspectChanges: the events between two readings, on a server that is polled.
	AspectChanges Aspect = "changes"
)

// Unseen is a read that was refused or failed, so that an aspect is unknown. Reads that no user
// requested (of an AdminServer that was never named) are not in it.
type Unseen struct {
	Aspect Aspect `json:"aspect"`
	// Where is the server (host:port), and Read the request: a command, a node, a URL.
	Where string `json:"where"`
	Read  string `json:"read"`
	// Reason why it was not answered, in the server's words where it gave any; not escaped.
	Reason string `json:"reason"`
	// Right that would allow the read, as an administrator grants it: "+type", "READ on /locks",
	// "cons in 4lw.commands.whitelist". Empty where no right is missing: the server is down, the reply was cut.
	Right string `json:"right"`
	// Advice where the target is at fault rather than a right or a server: it names a replica, or a node that is not
	// there. Reason then describes Where.
	Advice string `json:"advice,omitempty"`
}

// Unknown reports whether an aspect of the lock could not be seen.
func (l *Lock) Unknown(a Aspect) bool { return unknown(l.Unseen, a) }

// Unknown reports whether an aspect of the backend could not be seen.
func (b *Backend) Unknown(a Aspect) bool { return unknown(b.Unseen, a) }

// Unknown reports whether an aspect of the key could not be seen on the master.
func (v *Vote) Unknown(a Aspect) bool { return unknown(v.Unseen, a) }

// admitUnknown makes a free lock unknown if its holders could not be seen: on so many masters that
// the others are not a quorum, or on ZooKeeper at all.
func (l *Lock) admitUnknown() {
	if l.State != StateFree || !l.Unknown(AspectHolders) && !l.Unknown(AspectKind) {
		return
	}
	blind := map[string]bool{}
	for _, u := range l.Unseen {
		if u.Aspect == AspectHolders || u.Aspect == AspectKind {
			blind[u.Where] = true
		}
	}
	if len(l.Masters)-len(blind) < max(1, l.Quorum) {
		l.State = StateUnknown
	}
}

func unknown(list []Unseen, a Aspect) bool {
	return slices.ContainsFunc(list, func(u Unseen) bool { return u.Aspect == a })
}
