package act

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The TTL is set on keys without one and on keys with a longer or shorter one. The value is
// unchanged.
func TestTTLReachesEveryMaster(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"none": 0, "longer": time.Hour, "shorter": time.Minute} {
		t.Run(name, func(t *testing.T) {
			servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
				clients, releaser := onServers(t, servers...)
				request := ofKey("lock:"+servertest.UniqueName(t), "v")
				request.TTL = 10 * time.Minute
				for _, c := range clients {
					must.Succeed(t, c.Set(t.Context(), request.ID.Path, "v", before).Err())
				}
				p := confirmed(t, releaser, request)
				must.True(t, len(p.Votes) == 3 && p.Votes[0].NoExpiry == (before == 0), "votes", p.Votes)
				result := must.Have(releaser.Execute(t.Context(), p, "typed"))(t)
				must.True(t, result.Set && !result.Released && result.Reason == "" && len(result.HoldersAfter) == 1,
					"result", result)
				for i, c := range clients {
					left := must.Have(c.PTTL(t.Context(), request.ID.Path).Result())(t)
					if m := result.Masters[i]; left <= 9*time.Minute || left > 10*time.Minute || !m.Set || m.After.ExpiresAt.IsZero() {
						t.Errorf("master %d: %v left, %+v", i, left, m)
					}
					must.Equal(t, c.Get(t.Context(), request.ID.Path).Val(), "v", "value on master", i)
				}
			})
		})
	}
}

func TestBoundsOfTTLAreChecked(t *testing.T) {
	must.Equal(t, expiryCondition(&inspect.Vote{}), ", whatever its expiry")
	for ttl, ok := range map[time.Duration]bool{
		time.Second: true, time.Second - 1: false, 366 * 24 * time.Hour: true, 366*24*time.Hour + 1: false,
	} {
		err := CheckTTL(ttl)
		must.Equal(t, err == nil, ok, ttl)
		if !ok {
			must.Equal(t, err.Error(), "use a time from 1s to 366 days")
		}
	}
}
