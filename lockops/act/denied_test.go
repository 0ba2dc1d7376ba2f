package act

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A user who may not read part of a lock sees the missing right, not a missing holder or missing
// waiters.
func TestReleaseReportsMissingReadRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	all := []any{"~*", "&*", "+@all"}
	const base64 = "YWFhYWFhYWFhYWFhYWFhYQ=="
	command(t, server.Client(t), "SET lock:plain "+base64+" PX 60000;HSET lock:redisson "+ownerA+" 1;ZADD lock:zset 4102444800000 "+idA)
	preview := func(t *testing.T, key, owner string, rights ...any) (Preview, error) {
		user := aclUser(t, server, "ops", append(all, rights...)...)
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
			if !strings.Contains(p.NextUnknown, tt.next) || tt.next == "" && p.NextUnknown != "" {
				t.Errorf("next is unknown because of %q, want %q in it", p.NextUnknown, tt.next)
			}
		})
	}
	if p, err := preview(t, "lock:redisson", ownerB); err != nil || p.Refused != Gone {
		t.Errorf("with all rights, a missing owner is %q, %v", p.Refused, err)
	}
}

// The error says that the server is a replica and omits the script's digest.
func TestReplicaIsNamedByARelease(t *testing.T) {
	r := &Redis{}
	err := r.explain("release", "lock:a", errors.New("ERR user_script:8: refused DEL: READONLY You can't write against a read only replica. script: fdc7e2a7738f3b2d0fe338af799cfe6cc45ae4c7, on @user_script:8."))
	if text := err.Error(); !strings.Contains(text, "it is a replica") || strings.Contains(text, "script") {
		t.Error(text)
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
		if c != nil || (err == nil) != known {
			t.Errorf("%v unseen: %v, %v", aspect, c, err)
		}
		if !known && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "grant READ on /l")) {
			t.Errorf("%v unseen: %v", aspect, err)
		}
	}
}

// Without the server's clock, dead waiters cannot be told from live ones, so the next holder is
// unknown.
func TestNextIsUnknownWithoutServerClock(t *testing.T) {
	clock := inspect.Unseen{Aspect: inspect.AspectExpiry, Where: "a:1", Read: "TIME", Right: "+time", Reason: "NOPERM"}
	two := []inspect.Contender{{Name: "a", State: inspect.Waiting}, {Name: "b", State: inspect.Waiting}}
	holder := &inspect.Contender{Name: "h", State: inspect.Holding}
	for name, tt := range map[string]struct {
		waiters []inspect.Contender
		unseen  []inspect.Unseen
		known   bool
	}{
		"known":                         {two, nil, true},
		"no clock":                      {two, []inspect.Unseen{clock}, false},
		"no clock, but there is one":    {two[:1], []inspect.Unseen{clock}, true},
		"another expiry that is denied": {two, []inspect.Unseen{{Aspect: inspect.AspectExpiry, Read: "PTTL", Right: "+pttl"}}, true},
	} {
		rd := reading{lock: &inspect.Lock{Waiters: tt.waiters, Unseen: tt.unseen}}
		next, why := rd.next(holder), rd.unseenWaiters()
		if (next != nil) != tt.known || (why == "") != tt.known || !tt.known && !strings.Contains(why, "+time") {
			t.Errorf("%s: next %+v, %q", name, next, why)
		}
	}
}

// A rueidislock holder that lost two of its three keys since the preview no longer holds the lock.
// The remaining key stays, and the report says so.
func TestHolderWithoutMajorityIsNotReleased(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	const value = "0123456789abcdefghijklmn"
	keys := []string{"rueidislock:0:a", "rueidislock:1:a", "rueidislock:2:a"}
	for _, left := range keys {
		for _, key := range keys {
			client.Set(t.Context(), key, value, time.Hour)
		}
		p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: keys[0]}, Owner: value})
		for _, key := range keys {
			if key != left {
				client.Del(t.Context(), key)
			}
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || result.Released || result.Reason != Changed || client.Get(t.Context(), left).Val() != value {
			t.Errorf("%s is left: %+v, %v", left, result, err)
		}
	}
}
