package zkserver

import (
	"encoding/json"
	"net/http"
)

// adminCommands are the commands of the AdminServer. A result is a JSON object, to which command and error are added.
var adminCommands = map[string]func(*Server) map[string]any{
	"connections": func(s *Server) map[string]any {
		return map[string]any{"connections": s.connections(), "secure_connections": []any{}}
	},
	"server_stats": (*Server).adminStats,
	"watch_summary": func(s *Server) map[string]any {
		conns, paths, total := s.watches.summary()
		return map[string]any{"num_connections": conns, "num_paths": paths, "num_total_watches": total}
	},
	"watches_by_path": func(s *Server) map[string]any {
		return map[string]any{"path_to_session_ids": s.watches.byPath()}
	},
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
	run := adminCommands[name]
	if run == nil {
		return map[string]any{"command": name, "error": "Unknown command: " + name}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result := run(s)
	result["command"], result["error"] = name, nil
	return result
}

func (s *Server) adminStats() map[string]any {
	return map[string]any{
		"version": version, "read_only": false, "node_count": s.tree.count(),
		"server_stats": map[string]any{
			"server_state": "standalone", "last_processed_zxid": s.zxid, "uptime": s.uptime(),
		},
	}
}
