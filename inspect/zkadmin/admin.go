package zkadmin

import (
	"fmt"
	"time"
)

// Connection is one client of a server. Text is as the server sent it, unescaped.
type Connection struct {
	// Session is the session's id, a signed 64-bit number. Client is its ip:port.
	Session int64
	Client  string
	// Timeout of the session as negotiated; zero if unknown.
	Timeout time.Duration
	// Established is when the client connected, by the server's wall clock; zero if unknown.
	Established time.Time
	// LastResponse of the server, by a clock with an unknown start. Only differences between
	// connections of one server are meaningful.
	LastResponse time.Duration
}

// WatchSummary counts data and exists watches.
type WatchSummary struct{ Connections, Paths, Watches int }

// Status is what a server reports about itself.
type Status struct {
	// Role is leader, follower, observer, standalone, or read-only (without quorum, it serves
	// clients that only read); empty for any other.
	Role string
	// Version such as 3.8.0, without the build's hash; empty if unknown.
	Version string
	// Uptime of the server in this role. It starts again with each election (ServerStats belongs to
	// the serving ZooKeeperServer, not to the process). Zero if unreported.
	Uptime time.Duration
	// Zxid is its newest transaction: the election's number in the upper half, a count in the lower; zero if unknown.
	Zxid uint64
	// Nodes counts its znodes; zero if unknown.
	Nodes int
	// Date is the server's wall clock when it made the answer, cut to the second. It is zero
	// without an AdminServer, which alone reports it.
	Date time.Time
}

func parseConnections(body []byte) ([]Connection, error) {
	type connection struct {
		Remote      string `json:"remote_socket_address"`
		Session     int64  `json:"session_id"`
		Timeout     int64  `json:"session_timeout"`
		Established int64  `json:"established"`
		Response    int64  `json:"last_response_time"`
	}
	var answer struct {
		Connections *[]connection `json:"connections"`
		Secure      []connection  `json:"secure_connections"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, err
	}
	if answer.Connections == nil {
		return nil, fmt.Errorf("%w: no connections in it", ErrSyntax)
	}
	var list []Connection
	for _, c := range append(*answer.Connections, answer.Secure...) {
		if c.Session == 0 {
			continue
		}
		list = append(list, Connection{
			Session: c.Session, Client: trimAddress(c.Remote), Timeout: millis(c.Timeout),
			Established: instant(c.Established), LastResponse: millis(c.Response),
		})
	}
	return list, nil
}

func parseWatches(body []byte) (map[string][]int64, error) {
	var answer struct {
		Paths map[string][]int64 `json:"path_to_session_ids"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, err
	}
	if answer.Paths == nil {
		return nil, fmt.Errorf("%w: no path_to_session_ids in it", ErrSyntax)
	}
	return answer.Paths, nil
}

func parseSummary(body []byte) (WatchSummary, error) {
	var answer struct {
		Connections int  `json:"num_connections"`
		Paths       int  `json:"num_paths"`
		Watches     *int `json:"num_total_watches"`
	}
	if err := decode(body, &answer); err != nil {
		return WatchSummary{}, err
	}
	if answer.Watches == nil || *answer.Watches < 0 {
		return WatchSummary{}, fmt.Errorf("%w: no num_total_watches in it", ErrSyntax)
	}
	return WatchSummary{answer.Connections, answer.Paths, *answer.Watches}, nil
}

func parseStats(body []byte) (Status, error) {
	var answer struct {
		Version string `json:"version"`
		Nodes   int    `json:"node_count"`
		Stats   struct {
			State  *string `json:"server_state"`
			Zxid   uint64  `json:"last_processed_zxid"`
			Uptime int64   `json:"uptime"`
		} `json:"server_stats"`
	}
	if err := decode(body, &answer); err != nil {
		return Status{}, err
	}
	if answer.Stats.State == nil {
		return Status{}, fmt.Errorf("%w: no server_state in it", ErrSyntax)
	}
	return Status{
		Role: role(*answer.Stats.State), Version: cutVersion(answer.Version), Uptime: millis(answer.Stats.Uptime),
		Zxid:  answer.Stats.Zxid,
		Nodes: max(0, answer.Nodes),
	}, nil
}
