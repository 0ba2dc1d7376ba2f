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
		{"redisson", "HSET lock:redisson " + ownerA + " 1", ownerA},
		{"reader", "HSET lock:reader mode read " + ownerA + " 1", ownerA},
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

// A plain string is released with the fewest possible rights, and each missing one is named.
func TestReleaseNamesMissingRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	release := func(rights string) (Result, error) {
		command(t, admin, "SET lock:a v;SCRIPT FLUSH")
		releaser := onMaster(t, aclUser(t, server, rights), server.Addr)
		p, err := releaser.Preview(t.Context(), ofKey("lock:a", "v"))
		if err != nil {
			return Result{}, err
		}
		return releaser.Execute(t.Context(), p, "typed")
	}
	const least = "~lock:* +evalsha +eval +get +del +getrange"
	if result, err := release(least); err != nil || !result.Released {
		t.Errorf("with the least rights: %+v, %v", result, err)
	}
	for _, right := range strings.Fields(least)[1:] {
		result, err := release(strings.Replace(least+" ", right+" ", "", 1))
		said := result.Detail // a missing right to run scripts is in the preview
		if err != nil {
			said = err.Error()
		}
		must.True(t, !result.Released && strings.Contains(said, "grant "+right), "without", right, result, err)
	}
	_, err := release("~other:* +@all")
	must.True(t, err != nil && strings.Contains(err.Error(), "grant ~lock:a"), "without the key:", err)
}

func TestMissingScriptsAreNamed(t *testing.T) {
	t.Parallel()
	const so = ": nothing can be compared and changed in one step, so no lock can be released or given a TTL"
	renamed := servertest.StartRedis(t, "--rename-command", "EVALSHA", "").Client(t)
	why := "the server has no EVALSHA (renamed or disabled by rename-command)"
	must.Equal(t, NoScripts(t.Context(), renamed), why+so)
	client := servertest.StartRedis(t).Client(t)
	must.Equal(t, NoScripts(t.Context(), client), "")
	command(t, client, "ACL SETUSER default -eval")
	must.Equal(t, NoScripts(t.Context(), client), "its ACL denies EVAL to this user (grant +eval)"+so)
}

// A user who may not read part of a lock sees the missing right, not a missing holder or missing
// waiters.
func TestReleaseReportsMissingReadRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	const base64 = "YWFhYWFhYWFhYWFhYWFhYQ=="
	command(t, server.Client(t), "SET lock:plain "+base64+" PX 60000;HSET lock:redisson "+ownerA+" 1;ZADD lock:zset 4102444800000 "+idA)
	preview := func(t *testing.T, key, owner, denied string) (Preview, error) {
		user := aclUser(t, server, "~* &* +@all "+denied)
		return onMaster(t, user, server.Addr).Preview(t.Context(), ofKey(key, owner))
	}
	for _, tt := range []struct {
		key, owner, denied string
		found              bool   // despite the missing right
		next               string // part of NextUnknown
	}{
		{key: "lock:plain", owner: base64, denied: "getrange"},
		{key: "lock:plain", owner: base64, denied: "type", found: true},
		{key: "lock:redisson", owner: ownerA, denied: "hscan"},
		{key: "lock:redisson", owner: ownerA, denied: "lrange", found: true, next: "+lrange"},
		{key: "lock:redisson", owner: ownerB, denied: "lrange"},
		{key: "lock:redisson", owner: ownerA, denied: "pubsub", found: true, next: "+pubsub|numsub"},
		{key: "lock:zset", owner: idA, denied: "zrange"},
	} {
		t.Run(tt.key+" -"+tt.denied+" "+tt.owner, func(t *testing.T) {
			p, err := preview(t, tt.key, tt.owner, "-"+tt.denied)
			switch {
			case tt.found && (err != nil || p.Seen == nil || p.Refused != ""):
				t.Errorf("preview %+v, %v", p, err)
			case !tt.found && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "grant +"+tt.denied)):
				t.Errorf("refused %q, error %v: want ErrUnreachable and the right +%s", p.Refused, err, tt.denied)
			}
			must.True(t, strings.Contains(p.NextUnknown, tt.next) && (tt.next != "" || p.NextUnknown == ""),
				"next is unknown because of", p.NextUnknown, "want", tt.next, "in it")
		})
	}
	p, err := preview(t, "lock:redisson", ownerB, "")
	must.True(t, err == nil && p.Refused == Gone, "with all rights, a missing owner is", p.Refused, err)
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

// Without the server's clock, dead waiters cannot be told from live ones, so the next holder is
// unknown.
func TestNextIsUnknownWithoutServerClock(t *testing.T) {
	clock := inspect.Unseen{Aspect: inspect.AspectExpiry, Where: "a:1", Read: "TIME", Right: "+time", Reason: "NOPERM"}
	silent := inspect.Unseen{Aspect: inspect.AspectExpiry, Where: "a:1", Read: "TIME", Reason: "no answer"}
	two := []inspect.Contender{{Name: "a", State: inspect.Waiting}, {Name: "b", State: inspect.Waiting}}
	holder := &inspect.Contender{Name: "h", State: inspect.Holding}
	for name, tt := range map[string]struct {
		waiters []inspect.Contender
		unseen  inspect.Unseen
		why     string // empty if the next holder is known
	}{
		"known":                         {two, inspect.Unseen{}, ""},
		"no clock":                      {two, clock, "the user may not run TIME on master a:1 (grant +time)"},
		"no answer":                     {two, silent, "TIME of master a:1: no answer"},
		"no clock, but there is one":    {two[:1], clock, ""},
		"another expiry that is denied": {two, inspect.Unseen{Aspect: inspect.AspectExpiry, Read: "PTTL"}, ""},
	} {
		rd := reading{lock: &inspect.Lock{Waiters: tt.waiters, Unseen: []inspect.Unseen{tt.unseen, tt.unseen}}}
		if tt.why != "" {
			tt.why = "unknown: without the server's clock we cannot tell which waiters are alive: " + tt.why
		}
		must.Equal(t, rd.unseenWaiters(), tt.why, name)
		must.Equal(t, rd.next(holder) == nil, tt.why != "", name)
	}
	silent.Aspect = inspect.AspectHolders
	err := reading{lock: &inspect.Lock{Unseen: []inspect.Unseen{silent}}}.unread()
	must.Contain(t, fmt.Sprint(err), ": it is unknown whether it exists: TIME of master a:1: no answer")
}
