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

// clockUser creates a user with all rights except denied. It returns the administrator's client.
func clockUser(t *testing.T, server *servertest.Redis, denied string) (*redis.Client, redis.UniversalOptions) {
	t.Helper()
	admin := server.Client(t)
	user := []any{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all"}
	if denied != "" {
		user = append(user, denied)
	}
	must.Succeed(t, admin.Do(t.Context(), user...).Err())
	return admin, redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "viewer", Password: "pw"}
}

// onlyNode is the master of a single-node Cluster.
func onlyNode(t *testing.T, admin *redis.Client, options redis.UniversalOptions) *Master {
	t.Helper()
	if infoFieldOf(t, admin, "cluster_slots_assigned") == "0" {
		must.Succeed(t, admin.Do(t.Context(), "cluster", "addslotsrange", "0", "16383").Err())
	}
	for infoFieldOf(t, admin, "cluster_state") != "ok" { // no event reports it
		time.Sleep(10 * time.Millisecond)
	}
	how := Settings{Timeout: 30 * time.Second, Now: time.Now}
	keys := NewKeyClient(options, how.Timeout, &NodeTraffic{})
	m := New(options.Addrs[0], options, how)
	t.Cleanup(func() { m.Close(); keys.Close() })
	m.Join(keys, []*Master{m})
	return m
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
	for _, words := range [][]any{
		{"set", "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), "px", 3600_000},
		{"zadd", recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), now.UnixMicro(), waiter},
		{"hset", recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, soon.UnixMicro()},
		{"hset", "fair", holder, 1},
		{"rpush", "redisson_lock_queue:{fair}", second},
		{"zadd", "redisson_lock_timeout:{fair}", soon.UnixMilli(), second},
		{"zadd", "symfony", soon.UnixMilli(), "__write__", soon.UnixMilli(), symfony},
		{"pexpire", "symfony", 3600_000},
	} {
		if err := admin.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(words, err)
		}
	}
	return []string{"lock:a", "fair", "symfony"}
}

// The server's clock is set back after we read it. Contenders with newer heartbeats are still alive.
func TestSteppedBackClockKeepsContenders(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster bool
	}{
		"a server": {}, "a node of a cluster": {cluster: true},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			if tt.cluster {
				args = []string{"--cluster-enabled", "yes"}
			}
			server, clock := servertest.StartRedisWithClock(t, args...)
			admin, options := clockUser(t, server, "")
			claims := []int{2, 2, 1} // by key; a separate Master reads each, so that each must read the clock
			var readers []*Master
			for range claims {
				m := New(server.Addr, options, Settings{Timeout: 30 * time.Second, Now: time.Now})
				defer m.Close()
				if tt.cluster {
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

// Servers log refused commands, so only the status asks for TIME.
func TestRefusedTimeIsNotRetried(t *testing.T) {
	server := servertest.StartRedis(t)
	admin, options := clockUser(t, server, "-time")
	m := New(server.Addr, options, Settings{Timeout: 30 * time.Second, Now: time.Now})
	defer m.Close()
	must.Have(m.ReadStatus(t.Context()))(t)
	keys := datedByScores(t, admin)
	for range 3 {
		must.Have(m.Votes(t.Context(), keys))(t)
	}
	log := must.Have(admin.ACLLog(t.Context(), 100).Result())(t)
	refused := int64(0)
	for _, entry := range log {
		if entry.Object == "time" {
			refused += entry.Count
		}
	}
	must.True(t, refused == 1, "TIME was refused", refused, "times", log)
}

func infoFieldOf(t *testing.T, c *redis.Client, field string) string {
	t.Helper()
	info := must.Have(c.ClusterInfo(t.Context()).Result())(t)
	return infoField(info, field)
}
