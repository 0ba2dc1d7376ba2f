package finding

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// A real master with a replica is reported until it waits for the replica.
func TestRealMasterWithAReplica(t *testing.T) {
	t.Parallel()
	master, replica := servertest.StartRedis(t), servertest.StartRedis(t)
	m, r := redis.NewClient(&redis.Options{Addr: master.Addr}), redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer m.Close()
	defer r.Close()
	host, port, err := net.SplitHostPort(master.Addr)
	must.Succeed(t, err)
	must.Succeed(t, r.Do(t.Context(), "replicaof", host, port).Err())
	must.Become(t, "replica online", func() bool { return strings.Contains(m.Info(t.Context(), "replication").Val(), "state=online") })
	cfg := redissource.Config{Backend: "redis", Only: servertest.UniqueName(t), Once: true, Timeout: 30 * time.Second, Masters: []*redis.UniversalOptions{{Addrs: []string{master.Addr}}}}
	found := func() bool {
		o := inspect.NewObserver(time.Now, redissource.New(cfg))
		o.Diagnose(Rules(), time.Hour)
		must.Succeed(t, o.Run(t.Context()))
		return slices.ContainsFunc(o.Snapshot().Backends[0].Findings, func(f inspect.Finding) bool { return f.Rule == "replica-failover" })
	}
	must.True(t, found(), "no finding although the master does not wait for its replica")
	must.Succeed(t, m.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	must.True(t, !found(), "still found although the master waits for its replica")
}
