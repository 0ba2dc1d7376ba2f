package act

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A user who may not read a part of a lock sees the right that is missing: neither that its holder is gone or
// another, nor that no client waits.
func TestWhatMayNotBeReadIsUnknownToARelease(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin, addrs := redisMastersOf(t, []*servertest.Redis{server})
	all := []any{"~*", "&*", "+@all"}
	const base64 = "YWFhYWFhYWFhYWFhYWFhYQ=="
	for key, write := range map[string][]any{
		"lock:plain":    {"SET", "lock:plain", base64, "PX", 60000},
		"lock:redisson": {"HSET", "lock:redisson", ownerA, 1},
		"{lock:zset}":   {"ZADD", "lock:zset", 4102444800000, idA},
	} {
		if err := admin[0].Do(t.Context(), write...).Err(); err != nil {
			t.Fatal(key, err)
		}
	}
	preview := func(t *testing.T, key, owner string, rights ...any) (Preview, error) {
		releaser := NewRedis([]redis.UniversalClient{aclUser(t, server, "ops", append(all, rights...)...)}, Target{Servers: addrs}, 30*time.Second, nil)
		return releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: inspect.Untrusted(owner)})
	}
	for _, tt := range []struct {
		key, owner, denied string
		found              bool   // all the same
		next               string // part of NextUnknown
	}{
		{key: "lock:plain", owner: base64, denied: "getrange", found: true},
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
				t.Errorf("refused %q, error %v: want what is not known, and the right +%s", p.Refused, err, tt.denied)
			}
			if !strings.Contains(p.NextUnknown, tt.next) || tt.next == "" && p.NextUnknown != "" {
				t.Errorf("next is unknown because of %q, want %q in it", p.NextUnknown, tt.next)
			}
		})
	}
	if p, err := preview(t, "lock:redisson", ownerB); err != nil || p.Refused != Gone {
		t.Errorf("with all rights an owner that is not there is %q, %v", p.Refused, err)
	}
}

// A replica that refuses a release is named one, without the script's digest.
func TestReplicaIsNamedByARelease(t *testing.T) {
	r := &Redis{}
	err := r.explain("release", "lock:a", errors.New("ERR user_script:8: refused DEL: READONLY You can't write against a read only replica. script: fdc7e2a7738f3b2d0fe338af799cfe6cc45ae4c7, on @user_script:8."))
	if text := err.Error(); !strings.Contains(text, "it is a replica") || strings.Contains(text, "script") {
		t.Error(text)
	}
}
