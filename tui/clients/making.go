package clients

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/screen"
)

// ClientsListedMsg is a new list.
type ClientsListedMsg struct{ List *clientList }

// clientsDueMsg comes when a newer list may be made, clientsOldMsg when the screen was hidden for a while,
// the hides-th time.
type (
	clientsDueMsg struct{}
	clientsOldMsg struct{ hides int }
)

// clientsRest is the minimum time between the making of two lists. clientsKept is how long a hidden
// list is kept, since it keeps a snapshot in memory.
const (
	clientsRest = time.Second
	clientsKept = 10 * time.Second
)

// make makes a list of the newest snapshot if one is wanted.
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

// after is a message to the screen after a while.
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
