package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// aclUser adds a user to a server and returns a client of that user.
func aclUser(t *testing.T, server *servertest.Redis, rights string) redis.UniversalClient {
	t.Helper()
	command(t, server.Client(t), "ACL SETUSER ops reset on >secret "+rights)
	c := redis.NewClient(&redis.Options{
		Addr: server.Addr, Username: "ops", Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2,
		ReadTimeout: time.Minute,
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// A denied wake-up does not fail the release, in the script, the result or the audit file.
func TestReleaseSurvivesDeniedWakeUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	for _, tt := range []struct{ name, write, owner string }{
		{"string", "SET lock:string lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a", "lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a"},
		{"python-redis-lock", "SET lock:python-redis-lock YWFhYWFhYWFhYWFhYWFhYWFh PX 60000", "YWFhYWFhYWFhYWFhYWFhYWFh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The user may neither publish nor push to the list that wakes waiters.
			c := aclUser(t, server, "~lock:"+tt.name+"* ~{lock* ~redisson* resetchannels +@all -@admin")
			command(t, admin, tt.write)
			releaser := onMaster(t, c, server.Addr)
			result, err := perform(t, releaser, ofKey("lock:"+tt.name, tt.owner))
			must.True(t, err == nil && result.Released && result.Masters[0].Deleted, "result", result, err)
			must.Equal(t, admin.Exists(t.Context(), "lock:"+tt.name).Val(), 0, "keys left")
			lines := auditLines(t, releaser.audit.path)
			must.True(t, len(lines) == 2 && lines[1]["released"] == true && lines[1]["error"] == nil, "audit", lines)
		})
	}
}

// A plain string is released with the fewest possible rights.
func TestReleaseNeedsFewRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	for rights, missing := range map[string]string{
		"~lock:* +evalsha +eval +get +del +getrange": "<nil>", "~other:* +@all": "grant ~lock:a",
	} {
		command(t, server.Client(t), "SET lock:a v")
		releaser := onMaster(t, aclUser(t, server, rights), server.Addr)
		p, err := releaser.Preview(t.Context(), ofKey("lock:a", "v"))
		if err == nil {
			_, err = releaser.Execute(t.Context(), p, "typed")
		}
		must.Contain(t, fmt.Sprint(err), missing)
	}
}

// The command may be renamed, or a user may lack the right (testdata/script/redis-denied.txt).
func TestRenamedCommandIsNamed(t *testing.T) {
	must.Equal(t, missing("EVAL", errorReply("ERR unknown command 'EVAL', with args beginning with: ")),
		"the server has no EVAL (renamed or disabled by rename-command): nothing can be compared and changed in one step, "+
			"so no lock can be released or given a TTL")
}

// The error of a script names the refused command, and what to grant or do.
func TestScriptErrorsAreExplained(t *testing.T) {
	const of = " script: fdc7e2a7738f3b2d0fe338af799cfe6cc45ae4c7, on @user_script:8."
	for said, want := range map[string]string{
		"ERR refused DEL: READONLY a replica." + of:          "it is a replica, which accepts no writes (use its master)",
		"NOPERM no permissions to run the 'evalsha' command": "the user may not run EVALSHA (grant +evalsha)",
		"ERR refused DEL: NOPERM run this command" + of:      "the user may not run DEL (grant +del)",
		"ERR refused DEL: NOPERM to access a key" + of:       "the user may not access lock:a (grant ~lock:a)",
		"ERR refused ZREM: WRONGTYPE Operation" + of:         "ZREM: WRONGTYPE Operation",
		"ERR user_script:8: too late" + of:                   "it reached the master too late, and was not executed",
		"LOADING Redis":                                      "LOADING Redis",
	} {
		must.Equal(t, (&Redis{}).explain("string", "lock:a", errors.New(said)).Error(), want)
	}
}

// A contender is reported gone only if all reads succeeded. Otherwise a needed release would look
// unnecessary.
func TestUnseenContenderIsNotGone(t *testing.T) {
	must.Equal(t, len(alike(kazooLock("/a", 1), "")), 0, "contenders like no name")
	for aspect, known := range map[inspect.Aspect]bool{
		inspect.AspectHolders: false, inspect.AspectWaiters: false, inspect.AspectKind: false, inspect.AspectWatches: true,
	} {
		l := &inspect.Lock{Unseen: []inspect.Unseen{{Aspect: aspect, Where: "/l", Read: "getChildren", Reason: "not authenticated", Right: "READ on /l"}}}
		d := directory{Reading: &zksource.Reading{Lock: l}}
		_, c, err := d.contender("lock-0000000001")
		must.True(t, c == nil && (err == nil) == known, aspect, "unseen:", c, err)
		must.True(t, known || (errors.Is(err, ErrUnreachable) && strings.Contains(err.Error(), "grant READ on /l")),
			aspect, "unseen:", err)
	}
}

// A failed read is named once, without a right that would help.
func TestFailedReadIsNamedOnce(t *testing.T) {
	silent := inspect.Unseen{Aspect: inspect.AspectHolders, Where: "a:1", Read: "TIME", Reason: "no\tanswer"}
	err := reading{lock: &inspect.Lock{Unseen: []inspect.Unseen{silent, silent}}}.unread()
	must.Equal(t, fmt.Sprint(err),
		`server could not be asked: it is unknown whether it exists: TIME of master a:1: no\u{9}answer`)
}
