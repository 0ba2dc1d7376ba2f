package zkserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
)

// adminCommand is one command of the AdminServer. Its result is a JSON object, to which command and error are added.
type adminCommand struct {
	name    string
	aliases []string
	run     func(*Server) map[string]any
}

var adminCommands = []adminCommand{
	{"connections", []string{"cons"}, (*Server).adminConnections},
	{"dump", nil, func(s *Server) map[string]any {
		return map[string]any{"expiry_time_to_session_ids": s.expiries(), "session_id_to_ephemeral_paths": s.ephemerals()}
	}},
	{"is_read_only", []string{"isro"}, func(*Server) map[string]any { return map[string]any{"read_only": false} }},
	{"monitor", []string{"mntr"}, (*Server).adminMonitor},
	{"ruok", nil, func(*Server) map[string]any { return map[string]any{} }},
	{"server_stats", []string{"srvr"}, (*Server).adminStats},
	{"stats", []string{"stat"}, func(s *Server) map[string]any {
		result := s.adminStats()
		maps.Copy(result, s.adminConnections())
		return result
	}},
	{"watch_summary", []string{"wchs"}, func(s *Server) map[string]any {
		conns, paths, total := s.watches.summary()
		return map[string]any{"num_connections": conns, "num_paths": paths, "num_total_watches": total}
	}},
	{"watches", []string{"wchc"}, func(s *Server) map[string]any {
		return map[string]any{"session_id_to_watched_paths": s.watches.bySession()}
	}},
	{"watches_by_path", []string{"wchp"}, func(s *Server) map[string]any {
		return map[string]any{"path_to_session_ids": s.watches.byPath()}
	}},
}

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /commands", func(w http.ResponseWriter, _ *http.Request) {
		for _, cmd := range adminCommands {
			fmt.Fprintf(w, "<a href=\"/commands/%s\">%s</a>\n<br/>\n", cmd.name, cmd.name)
		}
	})
	mux.HandleFunc("GET /commands/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", s.wall().UTC().Format(http.TimeFormat))
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		enc.Encode(s.runAdmin(r.PathValue("name")))
	})
	return mux
}

func (s *Server) runAdmin(name string) map[string]any {
	for _, cmd := range adminCommands {
		if cmd.name != name && !slices.Contains(cmd.aliases, name) {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		result := cmd.run(s)
		result["command"], result["error"] = cmd.name, nil
		return result
	}
	return map[string]any{"command": name, "error": "Unknown command: " + name}
}

func (s *Server) adminConnections() map[string]any {
	return map[string]any{"connections": s.connections(), "secure_connections": []any{}}
}

func (s *Server) adminStats() map[string]any {
	return map[string]any{
		"version": version, "read_only": false, "node_count": s.tree.count(),
		"server_stats": map[string]any{
			"packets_sent": s.stats.sent, "packets_received": s.stats.received,
			"server_state": "standalone", "provider_null": false, "last_processed_zxid": s.zxid, "outstanding_requests": 0,
			"avg_latency": s.averageLatency(), "max_latency": s.stats.latMax.Milliseconds(), "min_latency": s.stats.latencyMin.Milliseconds(),
			"num_alive_client_connections": len(s.connections()), "uptime": s.uptime(), "auth_failed_count": 0,
		},
	}
}

func (s *Server) adminMonitor() map[string]any {
	result := map[string]any{}
	for _, m := range s.monitor() {
		result[m.key] = m.value
	}
	return result
}

type metric struct {
	key   string
	value any
}

// monitor is the part of the real server's metrics that the embedded server knows.
func (s *Server) monitor() []metric {
	return []metric{
		{"version", version},
		{"server_state", "standalone"},
		{"ephemerals_count", s.ephemeralCount()},
		{"num_alive_connections", len(s.connections())},
		{"avg_latency", s.averageLatency()},
		{"max_latency", s.stats.latMax.Milliseconds()},
		{"min_latency", s.stats.latencyMin.Milliseconds()},
		{"outstanding_requests", 0},
		{"znode_count", s.tree.count()},
		{"global_sessions", len(s.sessions)},
		{"local_sessions", 0},
		{"packets_sent", s.stats.sent},
		{"packets_received", s.stats.received},
		{"watch_count", s.watches.size()},
		{"approximate_data_size", s.tree.dataSize},
		{"uptime", s.uptime()},
	}
}

// averageLatency is in milliseconds, to four decimals.
func (s *Server) averageLatency() float64 {
	return math.Round(s.stats.averageMillis()*10_000) / 10_000
}

func formatLatency(v float64) string {
	text := fmt.Sprintf("%.4f", v)
	text = strings.TrimRight(text, "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text
}
