package cli

import (
	"encoding/json"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

type event struct {
	Event, At, Lock string
	Contender       *contender
	From            *string
	Finding         *struct{ Rule string }
	Backend         *struct{ Name, State string }
}

// checkEvent checks a line of watch against the schema.
func checkEvent(t *testing.T, line string) event {
	t.Helper()
	must.Be(t, conforms(line, "event"), nil, line)
	var e event
	must.Succeed(t, json.Unmarshal([]byte(line), &e))
	return e
}
