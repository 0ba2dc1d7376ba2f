package describe

import (
	"cmp"

	"github.com/lockscope/lockscope/inspect"
)

// WorstFirst orders findings by severity, the worst first and muted ones last.
func WorstFirst(a, b inspect.Finding) int {
	return cmp.Or(compareBool(a.Muted != nil, b.Muted != nil), cmp.Compare(b.Severity.Rank(), a.Severity.Rank()))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Worst returns the first of the worst unmuted findings, or nil.
func Worst(findings []inspect.Finding) *inspect.Finding {
	var worst *inspect.Finding
	for i := range findings {
		if f := &findings[i]; f.Muted == nil && (worst == nil || f.Severity.Rank() > worst.Severity.Rank()) {
			worst = f
		}
	}
	return worst
}

// Level orders locks by severity, the worst last. A queue with waiters is worse than an unknown
// lock.
type Level int

// The levels.
const (
	LevelFree Level = iota
	LevelHeld
	LevelUnknown
	LevelContended
	LevelWarning
	LevelCritical
)

// LevelOf returns the level of a lock by its state and its worst finding.
func LevelOf(l *inspect.Lock) Level {
	level := StateLevel(l)
	switch f := Worst(l.Findings); {
	case f == nil:
	case f.Severity == inspect.Critical:
		level = LevelCritical
	case f.Severity == inspect.Warning:
		level = max(level, LevelWarning)
	}
	return level
}
