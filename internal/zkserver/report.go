package zkserver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/internal/each"
)

// What the admin commands and the four-letter words show, taken under Server.mu.

// version that the server reports: the release whose behaviour it follows, and that it is not that.
const version = "3.8.0-embedded, built on 1970-01-01 00:00 UTC"

// connInfo is one connection as /commands/connections shows it.
type connInfo struct {
	Remote      string `json:"remote_socket_address"`
	InterestOps int    `json:"interest_ops"`
	Outstanding int    `json:"outstanding_requests"`
	Received    int64  `json:"packets_received"`
	Sent        int64  `json:"packets_sent"`
	*sessionInfo
}

// sessionInfo is the part that a connection without a session lacks.
type sessionInfo struct {
	Session     int64  `json:"session_id"`
	LastOp      string `json:"last_operation"`
	Established int64  `json:"established"` // milliseconds since 1970
	Timeout     int64  `json:"session_timeout"`
	LastXid     int64  `json:"last_cxid"`
	LastZxid    int64  `json:"last_zxid"`
	LastReply   int64  `json:"last_response_time"` // milliseconds of the server's own clock
	LastLatency int64  `json:"last_latency"`
	MinLatency  int64  `json:"min_latency"`
	AvgLatency  int64  `json:"avg_latency"`
	MaxLatency  int64  `json:"max_latency"`
}

func (c *conn) info() connInfo {
	info := connInfo{Remote: c.remote, Received: c.stats.received, Sent: c.stats.sent}
	if c.session == nil {
		return info
	}
	info.InterestOps = 1
	info.sessionInfo = &sessionInfo{
		Session: c.session.id, LastOp: c.lastOp, Established: c.established.UnixMilli(),
		Timeout: c.session.timeout.Milliseconds(), LastXid: c.lastXid, LastZxid: c.lastZxid, LastReply: c.lastReply,
		LastLatency: c.stats.latencyLast.Milliseconds(), MinLatency: c.stats.latencyMin.Milliseconds(),
		AvgLatency: int64(c.stats.averageMillis()), MaxLatency: c.stats.latMax.Milliseconds(),
	}
	return info
}

// connections lists living connections, oldest first.
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
