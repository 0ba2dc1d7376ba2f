package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
)

// bellPause is the minimum time between two bells.
const bellPause = 3 * time.Second

// ring rings the terminal's bell for new findings of the configured severity or worse. It ignores
// muted findings and those from a backend's first pass.
func (m *Model) ring(s *inspect.Snapshot) {
	if m.options.Bell == "" {
		return
	}
	least, now := m.options.Bell.Rank(), m.options.now()
	if now.Sub(m.rang) >= bellPause && slices.ContainsFunc(s.Events, func(e inspect.Event) bool {
		if e.Kind != inspect.EventFinding || e.Finding.Muted != nil || e.Finding.Severity.Rank() < least {
			return false
		}
		name := e.Lock.Backend
		if e.Backend != nil {
			name = e.Backend.Name
		}
		return m.known[name]
	}) {
		m.rang = now
		m.Later(tea.Raw("\a"))
	}
	for _, b := range s.Backends {
		if b.FirstPass {
			m.known[b.Name] = true
		}
	}
}
