package hold

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
)

// The server's reply decides, not a lock's name that looks like one.
func TestOnlyRepliesCountAsRefusals(t *testing.T) {
	denied := &lockops.DeniedError{Command: "set", Err: errors.New("NOPERM no permissions to run the 'set' command")}
	for name, tt := range map[string]struct {
		err  error
		code int
	}{
		"a command":      {fmt.Errorf("redis:lock:a: %w", denied), app.ExitNo},
		"one of several": {errors.Join(errors.New("r1:6379: no answer in time"), denied), app.ExitNo},
		"a node":         {fmt.Errorf("zk:/a: %w", zk.ErrNoAuth), app.ExitNo},
		"a lock's name":  {errors.New("redis:lock:NOPERM: r1:6379: connection refused"), app.ExitUnreachable},
		"a login":        {errors.New("WRONGPASS invalid username-password pair"), app.ExitUnreachable},
	} {
		must.Equal(t, notTaken(tt.err), tt.code, name, "exit")
	}
}
