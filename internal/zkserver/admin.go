package zkserver

import (
	"encoding/json"
	"net/http"
	"slices"
)

// adminCommand is one command of the AdminServer. Its result is a JSON object, to which command and error are added.
type adminCommand struct {
	name    string
	aliases []string
	run     func(*Server) map[string]any
}

var adminCommands = []adminCommand{
	{"connections", []string{"cons"}, (*Server).adminConnections},
	{"server_stats", []string{"srvr"}, (*Server).adminStats},
	{"watch_summary", []string{"wchs"}, func(s *Server) map[string]any {
		conns, paths, total := s.watches.summary()
		return map[string]any{"num_connections": conns, "num_paths": paths, "num_total_watches": total}
	}},
	{"watches_by_path", []string{"wchp"}, func(s *Server) map[string]any {
		return map[string]any{"path_to_session_ids": s.watches.byPath()}
	}},
}

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
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
			"server_state": "standalone", "last_processed_zxid": s.zxid, "uptime": s.uptime(),
		},
	}
}
