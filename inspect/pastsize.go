package inspect

// The approximate sizes of a past's parts in memory, in bytes, on the high side.
const (
	lockBytes      = 512
	contenderBytes = 320
	voteBytes      = 256
	findingBytes   = 768
)

// size is the approximate size of a version of a lock, in bytes.
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

// entrySize is roughly the overhead of a lock's versions, in bytes.
func entrySize(id ID) int {
	const entry = 128
	return entry + len(id.Path)
}
