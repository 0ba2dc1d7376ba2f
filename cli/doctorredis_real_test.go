package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestDoctorFindsRedisMasterFaults(t *testing.T) {
	var addrs []string
	var masters []*redis.Client
	var servers []*servertest.Redis
	for range 5 {
		s := servertest.StartRedis(t)
		c := s.Client(t)
		servers, addrs, masters = append(servers, s), append(addrs, s.Addr), append(masters, c)
	}
	t.Parallel() // the masters' uptime grows during the sequential tests
	const ttl = 30 * time.Second
	awaitUptime(t, masters, ttl+2*time.Second) // otherwise a missing key may be due to a restart
	set := func(key string, expiry time.Duration, values ...string) {
		t.Helper()
		for i, v := range values {
			if v == "" {
				continue
			}
			must.Succeed(t, masters[i].Set(t.Context(), "lock:"+key, v, expiry).Err())
		}
	}
	a, b, c := "YWFhYWFhYWFhYWFhYWFhYQ==", "YmJiYmJiYmJiYmJiYmJiYg==", "Y2NjY2NjY2NjY2NjY2NjYw=="
	must.Succeed(t, masters[2].LPush(t.Context(), "lock:foreign", "a job").Err())
	fairQueue(t, masters)
	set("foreign", time.Minute, a, a, "", a, a)
	set("no-ttl", 0, a, a, a, a, a)
	set("healthy", time.Minute, a, a, a, a, a)
	set("healthy-too", ttl, a, a, a, a, "")
	set("split", ttl, a, a, b, b, c)
	set("leftover", ttl, a, a, "", "", "")
	set("thin", ttl, a, a, a, "", "")
	target := "redis://" + strings.Join(addrs, ",")
	want := map[string][]string{
		"lock:foreign": {"foreign-value"}, "lock:no-ttl": {"no-ttl"}, "lock:split": {"split-quorum"},
		"lock:leftover": {"minority-leftover"}, "lock:thin": {"thin-margin"}, "lock:fair": {"stale-fair-queue"},
	}
	doctor(t, target).want(t, 1, "redis:", want)

	t.Run("evicting", func(t *testing.T) {
		for _, setting := range [][2]string{{"maxmemory", "100mb"}, {"maxmemory-policy", "allkeys-lru"}} {
			must.Succeed(t, masters[1].ConfigSet(t.Context(), setting[0], setting[1]).Err())
		}
		d := doctor(t, target+"?match=lock:healthy")
		d.want(t, 1, "redis:", map[string][]string{"backend redis": {"eviction-risk"}})
		must.Succeed(t, masters[1].ConfigSet(t.Context(), "maxmemory", "0").Err())
	})
	t.Run("skewed", func(t *testing.T) {
		ahead := slices.Clone(addrs)
		ahead[1] = clockAhead(t, addrs[1])
		d := doctor(t, "redis://"+strings.Join(ahead, ",")+"?match=lock:healthy")
		d.want(t, 1, "redis:", map[string][]string{"backend redis": {"clock-skew"}})
		if len(d.all) == 1 && !strings.Contains(d.all[0].Message, ahead[1]) {
			t.Errorf("%s is not named: %s", ahead[1], d.all[0].Message)
		}
	})
	t.Run("restarted", func(t *testing.T) {
		servers[4].Restart(t)
		doctor(t, target+"?match=lock:healthy").want(t, 1, "redis:", map[string][]string{"lock:healthy": {"master-restarted"}})
	})
	t.Run("silent", func(t *testing.T) {
		servers[3].Stop(t)
		d := doctor(t, target+"?match=lock:healthy", "--timeout", "2s", "--fail-on", "critical")
		if rules := d.rules["redis:lock:healthy"]; d.code != 3 || !slices.Contains(rules, "blind") || slices.Contains(rules, "thin-margin") {
			t.Errorf("exit code %d, %v", d.code, d.rules)
		}
	})
}
