package node

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// at are the options of a master without a login.
func at(addr string) redis.UniversalOptions { return redis.UniversalOptions{Addrs: []string{addr}} }

// viewer sets the rights of a user, all except as changed by ACL rules, and returns its options.
func viewer(t *testing.T, server *servertest.Redis, rules ...string) redis.UniversalOptions {
	t.Helper()
	rules = append([]string{"reset", "on", ">pw", "allkeys", "allchannels", "+@all"}, rules...)
	must.Succeed(t, server.Client(t).ACLSetUser(t.Context(), "viewer", rules...).Err())
	return redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "viewer", Password: "pw"}
}

// testMaster is a master that is closed when the test ends.
func testMaster(t *testing.T, options redis.UniversalOptions) *Master {
	t.Helper()
	m := New(options.Addrs[0], options, Settings{Timeout: 30 * time.Second, Now: time.Now})
	t.Cleanup(m.Close)
	return m
}

// send sends commands, and fails the test if one is refused.
func send(t *testing.T, c *redis.Client, commands ...[]any) {
	t.Helper()
	for _, words := range commands {
		if err := c.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(words, err)
		}
	}
}

// onlyNode is the master of a single-node Cluster.
func onlyNode(t *testing.T, admin *redis.Client, options redis.UniversalOptions) *Master {
	t.Helper()
	state := func(field string) string {
		return infoField(must.Have(admin.ClusterInfo(t.Context()).Result())(t), field)
	}
	if state("cluster_slots_assigned") == "0" {
		send(t, admin, []any{"cluster", "addslotsrange", "0", "16383"})
	}
	must.Become(t, "the cluster is up", func() bool { return state("cluster_state") == "ok" })
	m := testMaster(t, options)
	joinAlone(t, m, options)
	return m
}

// joinAlone makes a master the only node of a cluster.
func joinAlone(t *testing.T, m *Master, options redis.UniversalOptions) {
	t.Helper()
	traffic := &NodeTraffic{}
	traffic.Add(options.Addrs[0], m)
	keys := NewKeyClient(options, 30*time.Second, traffic)
	t.Cleanup(func() { keys.Close() })
	m.Join(keys, []*Master{m})
}

// datedByScores creates three locks with contenders that expire in an hour by the server's clock.
func datedByScores(t *testing.T, admin *redis.Client) (keys []string) {
	t.Helper()
	now := must.Have(admin.Time(t.Context()).Result())(t)
	const holder, second = "11111111-1111-1111-1111-111111111111:1", "22222222-2222-2222-2222-222222222222:1"
	symfony := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef\xf0\x9f\x82\xa1 \xa7\x9c\x91\x85\xff\xfe\x80\x81\xc7\xd8\x93"))
	listening := admin.Subscribe(t.Context(), "redisson_lock__channel:{fair}:"+second)
	t.Cleanup(func() { listening.Close() })
	must.Have(listening.Receive(t.Context()))(t)
	waiter, soon := recipe.LockscopeToken([16]byte{2}, "waiter"), now.Add(time.Hour)
	send(t, admin, [][]any{
		{"set", "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), "px", 3600_000},
		{"zadd", recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), now.UnixMicro(), waiter},
		{"hset", recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, soon.UnixMicro()},
		{"hset", "fair", holder, 1},
		{"rpush", "redisson_lock_queue:{fair}", second},
		{"zadd", "redisson_lock_timeout:{fair}", soon.UnixMilli(), second},
		{"zadd", "symfony", soon.UnixMilli(), "__write__", soon.UnixMilli(), symfony},
		{"pexpire", "symfony", 3600_000},
	}...)
	return []string{"lock:a", "fair", "symfony"}
}

// The server's clock is set back after we read it. Contenders with newer heartbeats are still alive.
func TestSteppedBackClockKeepsContenders(t *testing.T) {
	for name, args := range map[string][]string{
		"a server":            nil,
		"a node of a cluster": {"--cluster-enabled", "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			server, clock := servertest.StartRedisWithClock(t, args...)
			admin, options := server.Client(t), viewer(t, server)
			claims := []int{2, 2, 1} // by key; a separate Master reads each, so that each must read the clock
			var readers []*Master
			for range claims {
				m := testMaster(t, options)
				if args != nil {
					m = onlyNode(t, admin, options)
				}
				m.typed.patient = true // rereads entries that look dead
				must.Have(m.ReadStatus(t.Context()))(t)
				readers = append(readers, m)
			}
			clock.Step(t, -24*time.Hour)
			for i, key := range datedByScores(t, admin) {
				votes := must.Have(readers[i].Votes(t.Context(), []string{key}))(t)
				held := votes[0].Held
				if held == nil || len(held.Claims) != claims[i] || held.Claims[claims[i]-1].Dead || held.Doubtful || len(votes[0].Unseen) > 0 {
					t.Errorf("%s: %+v, unseen %+v", key, held, votes[0].Unseen)
				}
			}
		})
	}
}
