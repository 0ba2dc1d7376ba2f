package inspect

import (
	"slices"
	"time"
)

// Mute is an operator's statement that a finding is known. Until it ends, the finding is reported
// as muted and never counts as a lock's worst one.
type Mute struct {
	// Lock is the lock with the finding. With an empty Path it is the backend's finding.
	Lock ID
	// Rule of the finding.
	Rule string
	Muted
}

// Muted is the mute of a finding.
type Muted struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
}

// Mute makes the observer report exactly these findings as muted, each until its end. It may be
// called at any time.
func (o *Observer) Mute(list []Mute) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mutes, o.remute = slices.Clone(list), true
}

// muted returns the findings with their mutes. It does not change its arguments.
func (o *Observer) muted(on ID, found []Finding, now time.Time) []Finding {
	if len(found) == 0 {
		return found
	}
	o.mu.Lock()
	mutes := o.mutes
	o.mu.Unlock()
	cloned := false
	for _, m := range mutes {
		if m.Lock != on || !now.Before(m.Until) {
			continue
		}
		for i := range found {
			if found[i].Rule != m.Rule {
				continue
			}
			if !cloned {
				found, cloned = slices.Clone(found), true
			}
			found[i].Muted = &m.Muted
		}
	}
	return found
}

// mutesChanged reports whether Mute has been called since the previous call.
func (o *Observer) mutesChanged() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.remute
	o.remute = false
	return changed
}

// sameMute reports whether two findings have the same mute.
func sameMute(a, b *Muted) bool {
	return a == b || a != nil && b != nil && a.Reason == b.Reason && a.By == b.By && a.Until.Equal(b.Until)
}
