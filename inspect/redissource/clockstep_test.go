package redissource

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
)

// The clock of a server is set back after it told its time. Who was heard of by it since then waits, and who may hold by it for an hour
// more holds, whatever tells that clock, also of a node of a cluster.
func TestWhatALockHoldsIsReadByTheClockOfThatMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		denied  string
		cluster bool
	}{
		"TIME tells it": {}, "INFO tells it": {denied: "-time"}, "of a cluster": {cluster: true}, "INFO of a cluster's node": {"-time", true},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			if tt.cluster {
				args = []string{"--cluster-enabled", "yes"}
			}
			server, clock := servertest.StartRedisWithClock(t, args...)
			admin, ctx := redis.NewClient(&redis.Options{Addr: server.Addr}), t.Context()
			defer admin.Close()
			do := func(words ...any) {
				t.Helper()
				if err := admin.Do(ctx, words...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			user := []any{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all"}
			if tt.denied != "" {
				user = append(user, tt.denied)
			}
			do(user...)
			options := redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "viewer", Password: "pw"}
			var m *master
			if tt.cluster {
				do("cluster", "addslotsrange", "0", "16383")
				c := newCluster(Config{Masters: []*redis.UniversalOptions{&options}, Timeout: 30 * time.Second, Now: time.Now}, nil)
				defer c.close()
				for infoFieldOf(t, admin, "cluster_state") != "ok" {
					time.Sleep(10 * time.Millisecond)
				}
				topology, err := c.read(ctx)
				if err != nil {
					t.Fatal(err)
				}
				m = c.masters(topology)[0]
			} else {
				m = newMaster(server.Addr, options, 30*time.Second, time.Now)
				defer m.close()
			}
			m.typed.patient = true // what looks dead is looked at again
			if _, err := m.readStatus(ctx); err != nil {
				t.Fatal(err)
			}
			clock.Step(t, -24*time.Hour)
			now, err := admin.Time(ctx).Result()
			if err != nil {
				t.Fatal(err)
			}
			symfony := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef\xf0\x9f\x82\xa1 \xa7\x9c\x91\x85\xff\xfe\x80\x81\xc7\xd8\x93"))
			listening := admin.Subscribe(ctx, "redisson_lock__channel:{fair}:22222222-2222-2222-2222-222222222222:1")
			defer listening.Close()
			if _, err := listening.Receive(ctx); err != nil {
				t.Fatal(err)
			}
			waiter, soon := recipe.LockscopeToken([16]byte{2}, "waiter"), now.Add(time.Hour)
			do("set", "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), "px", 3600_000)
			do("zadd", recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), now.UnixMicro(), waiter)
			do("hset", recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, soon.UnixMicro())
			do("hset", "fair", "11111111-1111-1111-1111-111111111111:1", 1)
			do("rpush", "redisson_lock_queue:{fair}", "22222222-2222-2222-2222-222222222222:1")
			do("zadd", "redisson_lock_timeout:{fair}", soon.UnixMilli(), "22222222-2222-2222-2222-222222222222:1")
			do("zadd", "symfony", soon.UnixMilli(), "__write__", soon.UnixMilli(), symfony)
			do("pexpire", "symfony", 3600_000)
			votes, err := m.readVotes(ctx, []string{"lock:a", "fair", "symfony"})
			if err != nil {
				t.Fatal(err)
			}
			for i, claims := range []int{2, 2, 1} {
				held := votes[i].Held
				if held == nil || len(held.Claims) != claims || held.Claims[claims-1].Dead || held.Doubtful || len(votes[i].Unseen) > 0 {
					t.Errorf("%d: %+v, unseen %+v", i, held, votes[i].Unseen)
				}
			}
		})
	}
}

func infoFieldOf(t *testing.T, c *redis.Client, field string) string {
	t.Helper()
	info, err := c.ClusterInfo(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return infoField(info, field)
}
