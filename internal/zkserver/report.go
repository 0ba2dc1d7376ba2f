package zkserver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/internal/each"
)

// What the admin commands and the four-letter words show, taken under Server.mu.

// version is what the server reports: the release whose behaviour it follows, marked as embedded.
const version = "3.8.0-embedded, built on 1970-01-01 00:00 UTC"

// connInfo is one connection as /commands/connections shows it.
type connInfo struct {
	Remote      string `json:"remote_socket_address"`
	InterestOps int    `json:"interest_ops"`
	*sessionInfo
}

// sessionInfo is the part that a connection without a session lacks.
type sessionInfo struct {
	Session     int64 `json:"session_id"`
	Established int64 `json:"established"` // milliseconds since 1970
	Timeout     int64 `json:"session_timeout"`
	LastReply   int64 `json:"last_response_time"` // milliseconds of the server's own clock
}

func (c *conn) info() connInfo {
	info := connInfo{Remote: c.remote}
	if c.session == nil {
		return info
	}
	info.InterestOps = 1
	info.sessionInfo = &sessionInfo{
		Session: c.session.id, Established: c.established.UnixMilli(),
		Timeout: c.session.timeout.Milliseconds(), LastReply: c.lastReply,
	}
	return info
}

// connections lists open connections, oldest first.
func (s *Server) connections() []connInfo {
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		if !c.closed {
			conns = append(conns, c)
		}
	}
	slices.SortFunc(conns, func(a, b *conn) int {
		return cmp.Or(a.established.Compare(b.established), strings.Compare(a.remote, b.remote))
	})
	return each.Of(conns, (*conn).info)
}

func (s *Server) ephemeralCount() (total int) {
	for _, paths := range s.tree.ephemerals {
		total += len(paths)
	}
	return total
}
