package zksource

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A one-shot read waits for a slow server, but a hung one leaves time for the others.
func TestHungServerLeavesTimeForOthers(t *testing.T) {
	t.Parallel()
	three := []string{"a:1", "b:1", "c:1"}
	for _, tt := range []struct {
		name           string
		cfg            Config
		session, query time.Duration
	}{
		{"a watch", Config{Servers: three}, 10 * time.Second, 3 * time.Second},
		{"one server", Config{Once: true, Servers: three[:1], Timeout: 20 * time.Second}, 60 * time.Second, 10 * time.Second},
		{"three servers", Config{Once: true, Servers: three, Timeout: 20 * time.Second}, 20 * time.Second, 10 * time.Second},
		{"five seconds", Config{Once: true, Servers: three[:1], Timeout: 5 * time.Second}, 15 * time.Second, 5 * time.Second},
		{"one second", Config{Once: true, Servers: three, Timeout: time.Second}, 10 * time.Second, 3 * time.Second},
	} {
		r := New(tt.cfg).newRun(t.Context(), nil)
		must.Equal(t, r.sessionTimeout(), tt.session, tt.name, "session timeout")
		must.Equal(t, r.queryTime(), tt.query, tt.name, "query time")
	}
}
