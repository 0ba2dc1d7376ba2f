package inspect

import (
	"slices"
)

// Aspect is a part of the state of a lock or a backend that can be unknown on its own.
type Aspect string

// The aspects, as in the JSON.
const (
	// AspectLocks is which locks exist on a backend, or in one of its directories or patterns.
	AspectLocks Aspect = "locks"
	// AspectKind is whether it is a lock, its kind and its library.
	AspectKind Aspect = "kind"
	// AspectHolders is its holders. The lock's state is then unknown, unless other masters decide
	// it.
	AspectHolders Aspect = "holders"
	// AspectWaiters is its waiters; there may be more than are listed.
	AspectWaiters Aspect = "waiters"
	// AspectExpiry is when it expires.
	AspectExpiry Aspect = "expiry"
	// AspectVotes is the values of one or more masters under its key.
	AspectVotes Aspect = "votes"
	// AspectWatches is the waiters' watches.
	AspectWatches Aspect = "watches"
	// AspectSessions is which clients the sessions belong to, and whether they are alive.
	AspectSessions Aspect = "sessions"
	// AspectOwner is the owners, as named in the contenders' data.
	AspectOwner Aspect = "owner"
	// AspectServer is a server's role, start, clock, memory or persistence.
	AspectServer Aspect = "server"
	// AspectChanges is the events between two readings of a server that is polled.
	AspectChanges Aspect = "changes"
)

// Unseen is a read that was refused or failed, so that an aspect is unknown. Reads that no user
// requested are not listed, such as those from an AdminServer that was never named.
type Unseen struct {
	Aspect Aspect `json:"aspect"`
	// Where is the server (host:port), and Read the request: a command, a node, a URL.
	Where string `json:"where"`
	Read  string `json:"read"`
	// Reason why it failed, in the server's words if it gave any; not escaped.
	Reason string `json:"reason"`
	// Right that would allow the read, as an administrator grants it: "+type", "READ on /locks",
	// "cons in 4lw.commands.whitelist". It is empty if no right is missing: the server is down, or
	// the reply was cut off.
	Right string `json:"right"`
	// Advice is set if neither a right nor a failure is the cause: the target names a replica, or a
	// node that does not exist, or a table is too long to read. Reason then describes Where.
	Advice string `json:"advice,omitempty"`
}

// NewerRedis is the Right of a Redis server that cannot push changes.
const NewerRedis = "Redis 6 or later, without a proxy"

// Unknown reports whether an aspect of the lock could not be seen.
func (l *Lock) Unknown(a Aspect) bool { return unknown(l.Unseen, a) }

// Unknown reports whether an aspect of the backend could not be seen.
func (b *Backend) Unknown(a Aspect) bool { return unknown(b.Unseen, a) }

// Unknown reports whether an aspect of the key could not be seen on the master.
func (v *Vote) Unknown(a Aspect) bool { return unknown(v.Unseen, a) }

// admitUnknown makes a free lock unknown if its holders could not be read. On Redis, the lock stays
// free if the other masters are enough for a quorum.
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
