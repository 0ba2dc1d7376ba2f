package act

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const aToken = "YWFhYWFhYWFhYWFhYWFhYQ=="

// ttlCase is a lock of three masters and a Releaser of it.
type ttlCase struct {
	clients  []redis.UniversalClient
	servers  []*servertest.Redis
	key      string
	releaser *Redis
	audit    string
}

func eachTTLCase(t *testing.T, n int, f func(t *testing.T, c ttlCase)) {
	servertest.EachRedis(t, n, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		audit, path := openAudit(t)
		f(t, ttlCase{clients, servers, "lock:" + servertest.UniqueName(t), NewRedis(clients, Target{Name: "redis", Servers: addrs}, 30*time.Second, audit), path})
	})
}

func (c ttlCase) set(t *testing.T, i int, value string, ttl time.Duration) {
	t.Helper()
	must.Succeed(t, c.clients[i].Set(t.Context(), c.key, value, ttl).Err())
}

func (c ttlCase) preview(t *testing.T, owner string, ttl time.Duration) Preview {
	t.Helper()
	return must.Have(c.releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: c.key}, Owner: inspect.Untrusted(owner), TTL: ttl}))(t)
}

func (c ttlCase) execute(t *testing.T, p Preview) Result {
	t.Helper()
	result, err := c.releaser.Execute(t.Context(), p, "typed")
	if err != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	return result
}

// left returns the key's TTL on a master, or a negative value if it has none.
func (c ttlCase) left(t *testing.T, i int) time.Duration {
	t.Helper()
	return must.Have(c.clients[i].PTTL(t.Context(), c.key).Result())(t)
}

// The TTL is set on keys without one and on keys with a longer or shorter one. The value is
// unchanged, and the audit file has the request and its outcome.
func TestTTLReachesEveryMaster(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"none": 0, "shorter": time.Hour, "longer": time.Minute} {
		t.Run(name, func(t *testing.T) {
			eachTTLCase(t, 3, func(t *testing.T, c ttlCase) {
				for i := range c.clients {
					c.set(t, i, aToken, before)
				}
				p := c.preview(t, aToken, 10*time.Minute)
				if p.Refused != "" || len(p.Votes) != 3 || len(p.Sends) != 3 || len(p.Warnings) == 0 || p.Votes[0].NoExpiry != (before == 0) {
					t.Fatalf("preview %+v", p)
				}
				result := c.execute(t, p)
				if !result.Set || result.Released || result.Reason != "" || len(result.HoldersAfter) != 1 {
					t.Errorf("result %+v", result)
				}
				for i := range c.clients {
					if left := c.left(t, i); left <= 9*time.Minute || left > 10*time.Minute || !result.Masters[i].Set || result.Masters[i].After.ExpiresAt.IsZero() {
						t.Errorf("master %d: %v left, %+v", i, left, result.Masters[i])
					}
					must.Equal(t, c.clients[i].Get(t.Context(), c.key).Val(), aToken, "value on master", i)
				}
				lines := auditLines(t, c.audit)
				if len(lines) != 2 || lines[0]["action"] != "ttl" || lines[0]["ttl_ms"] != 600000.0 || lines[1]["set"] != true || lines[1]["released"] != nil {
					t.Errorf("audit %v", lines)
				}
			})
		})
	}
}

// The TTL is not set if the value has changed since the confirmation, or if the client set or
// removed the TTL itself.
func TestATTLIsGuarded(t *testing.T) {
	for name, tt := range map[string]struct {
		before    time.Duration
		meanwhile func(c redis.UniversalClient, key string) error
		left      time.Duration
		reason    Reason
	}{
		"another value": {0, func(c redis.UniversalClient, key string) error {
			return c.Set(context.Background(), key, "another", 0).Err()
		}, -1, Changed},
		"gone": {0, func(c redis.UniversalClient, key string) error { return c.Del(context.Background(), key).Err() }, -2, Gone},
		"a TTL was set": {0, func(c redis.UniversalClient, key string) error {
			return c.Expire(context.Background(), key, 20*time.Hour).Err()
		}, 20 * time.Hour, Changed},
		"the TTL was removed": {time.Hour, func(c redis.UniversalClient, key string) error { return c.Persist(context.Background(), key).Err() }, -1, Changed},
	} {
		t.Run(name, func(t *testing.T) {
			eachTTLCase(t, 1, func(t *testing.T, c ttlCase) {
				c.set(t, 0, aToken, tt.before)
				p := c.preview(t, aToken, 10*time.Minute)
				must.Succeed(t, tt.meanwhile(c.clients[0], c.key))
				if result := c.execute(t, p); result.Set || result.Reason != tt.reason || result.Masters[0].Set {
					t.Errorf("result %+v", result)
				}
				if left := c.left(t, 0); left > tt.left || left < min(tt.left, tt.left-time.Minute) {
					t.Errorf("%v left, want %v", left, tt.left)
				}
			})
		})
	}
}

// A value without a quorum gets the TTL where it exists. A value with a quorum needs a quorum of
// masters to accept it.
func TestMinorityValueTakesTTL(t *testing.T) {
	t.Parallel()
	eachTTLCase(t, 3, func(t *testing.T, c ttlCase) {
		c.set(t, 1, aToken, 0)
		if result := c.execute(t, c.preview(t, aToken, time.Minute)); !result.Set || !result.Masters[1].Set || result.Masters[0].Set {
			t.Errorf("a leftover: %+v", result)
		}
		if left := c.left(t, 1); left <= 0 {
			t.Errorf("%v left", left)
		}
		for i := range c.clients {
			c.set(t, i, aToken, 0)
		}
		p := c.preview(t, aToken, time.Minute)
		for i := range 2 {
			must.Succeed(t, c.clients[i].Expire(t.Context(), c.key, time.Hour).Err())
		}
		if result := c.execute(t, p); result.Set || result.Reason != NoQuorum || !result.Masters[2].Set || !strings.Contains(result.Detail, "1 of the 3") {
			t.Errorf("two masters have another TTL now: %+v", result)
		}
	})
}

func TestRefusedTTLReportsWhy(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	client := server.Client(t)
	r := onMaster(t, client, server.Addr)
	must.Succeed(t, client.Set(t.Context(), "lock:a", aToken, 0).Err())
	p := must.Have(r.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: aToken, TTL: time.Minute}))(t)
	must.Succeed(t, client.Do(t.Context(), "acl", "setuser", "default", "-pexpire").Err())
	result, err := r.Execute(t.Context(), p, "--yes")
	if result.Set || result.Reason != NoQuorum || !strings.Contains(result.Detail, "no master set the TTL") || !strings.Contains(result.Detail, "+pexpire") {
		t.Errorf("%+v, %v", result, err)
	}
}
