package finding

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
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

// A second reason is a separate finding, so a watch reports it.
func TestSecondRefusalReasonIsReported(t *testing.T) {
	t.Parallel()
	at := now
	o := inspect.NewObserver(func() time.Time { return at }, struct{ inspect.Source }{}) // fed by Film only
	o.Diagnose(Rules(), time.Hour)
	var reported []string
	err := o.Film(time.Second, func(emit func(inspect.Update)) error {
		for _, reasons := range [][2]inspect.WriteRefusal{
			{inspect.RefusedForMemory, ""}, {inspect.RefusedForSave, ""}, {inspect.RefusedForSave, inspect.RefusedForReplicas},
		} {
			b := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected, Topology: inspect.Cluster, FirstPass: true}
			for i, reason := range reasons {
				b.Servers = append(b.Servers, inspect.Server{Addr: fmt.Sprint("r", i), State: inspect.ServerUp, Role: "master", WritesRefused: reason})
			}
			emit(inspect.Update{Backend: b})
			at = at.Add(time.Minute)
		}
		return nil
	}, func(s *inspect.Snapshot) {
		for _, e := range s.Events {
			if e.Finding != nil && e.Finding.Rule == "writes-refused" {
				reported = append(reported, fmt.Sprint(e.Kind, " ", e.Finding.Evidence["reason"]))
			}
		}
	})
	must.Succeed(t, err)
	must.Same(t, reported, []string{"finding memory", "finding save", "cleared memory", "finding replicas"}, "reported")
}
