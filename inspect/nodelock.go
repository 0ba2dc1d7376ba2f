package inspect

import (
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// NodeLock makes the lock of the single znode at its path; nil if no recipe recognises it. alone
// means that no other node of its directory is ephemeral. Its waiters show only as watches on it.
// If its data has an expiry, it is held until then.
func NodeLock(id ID, n Znode, alone bool, readAt time.Time) *Lock {
	if !n.Known {
		return nil
	}
	s, ok := recipe.ReadSingle(id.Path, n.Data[:min(len(n.Data), maxValue)], n.EphemeralOwner != 0, alone)
	if !ok {
		return nil
	}
	l := &Lock{ID: id, Kind: KindMutex, Recipe: s.Recipe, Confidence: s.Confidence, State: StateFree, ReadAt: readAt}
	if s.Kind != "" {
		l.Kind = Kind(s.Kind)
	} else if recipe.ElectsByPath(id.Path) {
		l.Kind, l.KindConfidence = KindElection, recipe.Possible
	}
	if !s.Free && (s.Until.IsZero() || s.Until.After(readAt)) {
		l.State = StateHeld
		l.Holders = []Contender{{
			Name: Untrusted(n.Name), Special: Special{Place: ".."}, State: Holding, Count: 1, Since: entered(n),
			ExpiresAt: s.Until,
			Owner: Owner{
				Session: n.EphemeralOwner, Label: Untrusted(s.Label),
				Process: Process{Host: Untrusted(s.Host)},
			},
			Czxid: n.Czxid, Version: n.Version, Persistent: n.EphemeralOwner == 0,
		}}
	}
	return l
}

// entered returns when the lock was taken: a persistent node is rewritten each time.
func entered(n Znode) time.Time {
	if n.EphemeralOwner == 0 {
		return n.Modified
	}
	return n.Created
}
