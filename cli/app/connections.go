package app

import (
	"context"
	"errors"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops/act"
)

// MostUnasked is the largest number of connections of a server that we list unprompted.
const MostUnasked = 1000

// ConnectionsOf lists the connections to a backend's masters. The error says which masters did not
// list theirs; most is as for act.Redis.Connections.
func (a *App) ConnectionsOf(ctx context.Context, s Setup, backend string, most int) ([]act.Connection, error) {
	all := a.NewPreviewers(s)
	defer all.Close()
	limited, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	list, _, err := all.connections(limited, backend, most)
	return list, err
}

// connections lists the clients of a Redis backend, and the number of its database; see
// act.Redis.Connections.
func (r *Releasers) connections(ctx context.Context, backend string, most int) ([]act.Connection, int, error) {
	t, err := r.setup.Backend(backend)
	switch {
	case err != nil:
		return nil, 0, err
	case t.Service == connect.RedisCluster:
		return nil, 0, errors.New("a client of a Cluster has connections to each node")
	}
	redis, err := capable[*act.Redis](ctx, r, backend, "it has no list of connections")
	if err != nil {
		return nil, 0, err
	}
	list, err := redis.Connections(ctx, most)
	return list, t.DB, err
}

// Unasked lists connections unprompted, for a screen; nil with --budget gentle.
func (r *Releasers) Unasked() func(context.Context, string) ([]act.Connection, int, error) {
	if r.app.Budget == "gentle" {
		return nil
	}
	return func(ctx context.Context, backend string) ([]act.Connection, int, error) {
		return r.connections(ctx, backend, MostUnasked)
	}
}

// ConnectionJSON is a connection to a server of Redis, in the JSON of commands.
type ConnectionJSON struct {
	Server  string `json:"server"`
	ID      int64  `json:"id"`
	Addr    string `json:"addr"`
	Name    string `json:"name"`
	AgeMS   int64  `json:"age_ms"`
	IdleMS  int64  `json:"idle_ms"`
	Command string `json:"command"`
}

// ConnectionsJSON converts connections for JSON; the result is never nil.
func ConnectionsJSON(list []act.Connection) []ConnectionJSON {
	out := make([]ConnectionJSON, 0, len(list))
	for _, c := range list {
		out = append(out, ConnectionJSON{
			inspect.Escape(c.Server), c.ID, c.Addr.String(), c.Name.String(),
			c.Age.Milliseconds(), c.Idle.Milliseconds(), c.Command.String(),
		})
	}
	return out
}
