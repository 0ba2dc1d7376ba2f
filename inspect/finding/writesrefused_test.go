package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

// A master that refuses writes is a warning if the others are a quorum, otherwise critical.
func TestWritesRefused(t *testing.T) {
	t.Parallel()
	// Each server is up, down or a replica, and may refuse writes for a reason.
	of := func(topology inspect.Topology, servers ...string) *inspect.Backend {
		b := &inspect.Backend{Kind: inspect.Redis, Topology: topology}
		for i, words := range servers {
			is, refused, _ := strings.Cut(words, " ")
			s := inspect.Server{
				Addr: fmt.Sprint("r", i+1), State: inspect.ServerState(is), Role: "master",
				WritesRefused: inspect.WriteRefusal(refused), MaxMemory: 1 << 20,
			}
			if is == "replica" {
				s.Role, s.State, s.MaxMemory = is, inspect.ServerUp, 0
			}
			b.Servers = append(b.Servers, s)
		}
		return b
	}
	masters := func(servers ...string) *inspect.Backend { return of(inspect.Independent, servers...) }
	alone := masters("up save")
	alone.Servers[0].Addr = "r1:6379"
	check(t, "writes-refused",
		fires("the only master cannot save", alone),
		fires("one of three", masters("up", "up aof", "up")),
		fires("one of three while another is down", masters("down", "up replicas", "up")),
		fires("two of three", masters("up memory", "up memory", "up")),
		fires("a node of a cluster", of(inspect.Cluster, "up", "up", "up save")),
		fires("one of three, another is a replica", masters("up save", "replica", "up")),
		fires("one of three, with a replica", masters("up save", "replica save", "up", "up")),
		fires("the only master, with its replica", masters("up save", "replica")),
		fires("two masters for two reasons", masters("up save", "up memory")),
		silent("a replica of a cluster cannot save", of(inspect.Cluster, "up", "replica save")),
		silent("all take writes", masters("up", "up")),
		silent("refused before it went down", masters("down save", "up")),
		silent("a cluster that accepts writes", of(inspect.Cluster, "up")),
	)
}
