// Package sourcekit has what the sources share: the delivery of the focus, when a backend is
// reported, how fast servers answer, and how a source ends.
package sourcekit

import "github.com/lockscope/lockscope/inspect"

// Focus passes the newest focus to a source's Run: the paths or keys that a viewer has open.
// Receive from it.
type Focus chan map[string]bool

// NewFocus makes a Focus.
func NewFocus() Focus { return make(Focus, 1) }

// Set replaces a focus that was not received yet with the ids of that backend. It does not block.
func (f Focus) Set(backend string, ids []inspect.ID) {
	paths := make(map[string]bool, len(ids))
	for _, id := range ids {
		if id.Backend == backend {
			paths[id.Path] = true
		}
	}
	for {
		select {
		case f <- paths:
			return
		default:
		}
		select {
		case <-f: // an older one
		default:
		}
	}
}
