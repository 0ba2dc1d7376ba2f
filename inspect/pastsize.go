package inspect

import (
	"reflect"
	"slices"
)

var (
	lockSize      = int(reflect.TypeFor[Lock]().Size())
	contenderSize = int(reflect.TypeFor[Contender]().Size())
	processSize   = int(reflect.TypeFor[Process]().Size())
	specialSize   = int(reflect.TypeFor[Special]().Size())
	serverSize    = int(reflect.TypeFor[Server]().Size())
	voteSize      = int(reflect.TypeFor[Vote]().Size())
	findingSize   = int(reflect.TypeFor[Finding]().Size())
)

// size is about how many bytes a version of a lock takes that the one before does not share: texts are counted for those that
// come anew with each reading, and the history where there is one.
func (l *Lock) size() int {
	const text, evidence, history, shared = 48, 512, 512, 96
	n := lockSize + l.Contention()*(contenderSize+text) + len(l.Masters)*(voteSize+text) + len(l.Findings)*(findingSize+evidence)
	everyContender(l, func(c *Contender) { // as if no other had the same
		if c.Owner.Process != (Shared[Process]{}) {
			n += processSize + shared
		}
		if c.Special != (Shared[Special]{}) {
			n += specialSize + shared
		}
	})
	if l.history != nil {
		n += history
	}
	return n
}

func versionSize(l *Lock) int {
	const own = 48
	if l == nil {
		return own
	}
	return own + l.size()
}

// entrySize is about how many bytes it takes to have versions of a lock, whose name nothing else need have any more.
func entrySize(id ID) int {
	const entry = 128 // in the map, and of earlier
	return entry + len(id.Path)
}

// stateSize is about how many bytes a state takes that the one before does not share.
func (p *Past) stateSize(i int) int {
	const own, backend, text, session = 96, 1024, 64, 160
	var before pastState
	if i > 0 {
		before = p.states[i-1]
	}
	s := &p.states[i]
	n := own + 8*(len(s.backends)+len(s.reported))
	for _, b := range s.backends {
		if !slices.Contains(before.backends, b) {
			n += backend + len(b.Servers)*(serverSize+2*text) + len(b.Unseen)*3*text + len(b.Findings)*findingSize + len(b.Outliers)*2*text
		}
	}
	if !sameSlice(before.cycles, s.cycles) {
		n += len(s.cycles) * 4 * text
	}
	for name, table := range s.sessions {
		if reflect.ValueOf(table).Pointer() != reflect.ValueOf(before.sessions[name]).Pointer() {
			n += session * len(table)
		}
	}
	return n
}
