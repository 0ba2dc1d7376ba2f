package act

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// NoScripts explains why a server can neither release nor set a TTL: EVALSHA or EVAL is renamed,
// removed or denied to our user. The result is empty if both work, or if that is unknown. NoScripts
// runs only an empty script.
func NoScripts(ctx context.Context, client redis.UniversalClient) string {
	const unknownScript = "0000000000000000000000000000000000000000"
	if why := missing("EVALSHA", client.EvalSha(ctx, unknownScript, nil).Err()); why != "" {
		return why
	}
	return missing("EVAL", client.Eval(ctx, "return 1", nil).Err())
}

func missing(command string, err error) string {
	const so = ": nothing can be compared and changed in one step, so no lock can be released or given a TTL"
	switch {
	case redisreply.UnknownCommand(err):
		return "the server has no " + command + " (renamed or disabled by rename-command)" + so
	case redisreply.Denied(err):
		return fmt.Sprintf("its ACL denies %s to this user (grant +%s)%s", command, strings.ToLower(command), so)
	}
	return ""
}

// noScripts explains why an action cannot work on enough masters to end a lock; otherwise warnings
// are about single masters.
func (r *Redis) noScripts(ctx context.Context, l *inspect.Lock) (why string, warnings []string) {
	said := make([]string, len(r.masters))
	r.each(ctx, func(ctx context.Context, i int) {
		if l.Masters[i].Up {
			said[i] = NoScripts(ctx, r.masters[i])
		}
	})
	for i, text := range said {
		if text != "" {
			why = "master " + r.target.Servers[i] + ": " + text
			warnings = append(warnings, why)
		}
	}
	if len(warnings) <= len(r.masters)-l.Quorum {
		why = ""
	}
	return why, warnings
}
