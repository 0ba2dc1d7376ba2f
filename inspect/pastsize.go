package inspect

import "slices"

// What the parts of a past take in memory, in bytes: rough, and rather too much.
const (
	lockBytes      = 512
	contenderBytes = 320
	voteBytes      = 256
	findingBytes   = 768
	backendBytes   = 2048
	serverBytes    = 512
	sessionBytes   = 160
)

// size is about how many bytes a version of a lock takes.
func (l *Lock) size() int {
	return lockBytes + l.Contention()*contenderBytes + len(l.Masters)*voteBytes + len(l.Findings)*findingBytes
}

func versionSize(l *Lock) int {
	const own = 48
	if l == nil {
		return own
	}
	return own + l.size()
}

// entrySize is about how many bytes the versions of a lock take besides their own.
func entrySize(id ID) int {
	const entry = 128
	return entry + len(id.Path)
}

// stateSize is about how many bytes a state takes that it does not share with the previous one.
func (p *Past) stateSize(i int) int {
	const own, cycle = 96, 256
	var before pastState
	if i > 0 {
		before = p.states[i-1]
	}
	s := &p.states[i]
	n := own + 8*(len(s.backends)+len(s.reported))
	for _, b := range s.backends {
		if !slices.Contains(before.backends, b) {
			n += backendBytes + len(b.Servers)*serverBytes + len(b.Findings)*findingBytes
		}
	}
	if !sameSlice(before.cycles, s.cycles) {
		n += len(s.cycles) * cycle
	}
	for name, table := range s.sessions {
		if !sameTable(table, before.sessions[name]) {
			n += sessionBytes * len(table)
		}
	}
	return n
}
