package act

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// triesScripts reports whether a command only checks that the server supports scripts: an unknown
// script, or a trivial one.
func triesScripts(c redis.Cmder) bool {
	script, _ := append(c.Args(), "", "")[1].(string)
	return script == "0000000000000000000000000000000000000000" || script == "return 1"
}

func TestMissingScriptsAreNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, rule []string }{
		"EVALSHA": {args: []string{"--rename-command", "EVALSHA", ""}},
		"EVAL":    {rule: []string{"acl", "setuser", "default", "-eval"}},
		"":        {},
	} {
		client := servertest.StartRedis(t, tt.args...).Client(t)
		if tt.rule != nil {
			args := make([]any, len(tt.rule))
			for i, word := range tt.rule {
				args[i] = word
			}
			must.Succeed(t, client.Do(t.Context(), args...).Err())
		}
		why := NoScripts(t.Context(), client)
		if name == "" && why != "" || name != "" && !strings.Contains(why, " "+name+" ") {
			t.Errorf("%q: %s", name, why)
		}
	}
}
