package clients

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/screen"
)

// ClientsListedMsg carries a new list.
type ClientsListedMsg struct{ List *clientList }

// clientsDueMsg arrives when a newer list may be made. clientsOldMsg arrives when the screen has
// been hidden for a while; hides says which time.
type (
	clientsDueMsg struct{}
	clientsOldMsg struct{ hides int }
)

// clientsRest is the minimum time between making two lists. clientsKept is how long a hidden list
// is kept, since it keeps a snapshot in memory.
const (
	clientsRest = time.Second
	clientsKept = 10 * time.Second
)

// make starts a list of the newest snapshot if one is wanted.
func (s *Screen) make() tea.Cmd {
	if s.hidden || s.Making || !s.stale || !s.Arrived() {
		return nil
	}
	s.Making, s.stale, s.began = true, false, s.Clock()
	snapshot, order := s.Snapshot(), s.order
	return s.Request(screen.Clients, 0, func(context.Context) tea.Msg {
		return ClientsListedMsg{listClients(snapshot, order)}
	})
}

// after sends a message to the screen after a delay.
func (s *Screen) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return s.Request(screen.Clients, 0, func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return msg
		}
	})
}
