package finding

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// A master that refuses writes is a warning if the others are a quorum, otherwise critical.
func TestWritesRefused(t *testing.T) {
	t.Parallel()
	const up, down = inspect.ServerUp, inspect.ServerDown
	master := func(addr string, state inspect.ServerState, refused inspect.WriteRefusal) inspect.Server {
		return inspect.Server{Addr: addr, State: state, Role: "master", WritesRefused: refused, MaxMemory: 1 << 20}
	}
	replica := func(addr string, refused inspect.WriteRefusal) inspect.Server {
		return inspect.Server{Addr: addr, State: up, Role: "replica", WritesRefused: refused}
	}
	of := func(topology inspect.Topology, servers ...inspect.Server) inspect.Case {
		return inspect.Case{Backend: &inspect.Backend{Kind: inspect.Redis, Topology: topology, Servers: servers}, Now: now}
	}
	const save, aof, replicas, memory = inspect.RefusedForSave, inspect.RefusedForAOF, inspect.RefusedForReplicas, inspect.RefusedForMemory
	fires := func(name string, c inspect.Case, severity inspect.Severity, has, advice string, e map[string]any) state {
		return state{name: name, c: c, fires: true, severity: severity, confidence: recipe.Certain, has: []string{has}, advice: advice, evidence: e}
	}
	independent := inspect.Independent
	check(t, "writes-refused", []state{
		fires("the only master cannot save", of(independent, master("r1:6379", up, save)), inspect.Critical,
			"r1:6379 refuses writes, since its last snapshot failed: no lock can be taken, renewed or released", "after a save: redis-cli -h r1 -p 6379 BGSAVE",
			map[string]any{"servers": []evidence{{"addr": "r1:6379"}}, "reason": "save", "quorum": nil}),
		fires("one of three", of(independent, master("r1", up, ""), master("r2", up, aof), master("r3", up, "")), inspect.Warning,
			"r2 refuses writes, since it cannot write its append-only file: no lock can be taken, renewed or released there", "then accepts writes again",
			map[string]any{"quorum": 2, "unusable": 1}),
		fires("one of three while another is down", of(independent, master("r1", down, ""), master("r2", up, replicas), master("r3", up, "")), inspect.Critical,
			"since no replica keeps up: no lock can be taken, renewed or released", "decide whether it should", map[string]any{"quorum": 2, "unusable": 2}),
		fires("two of three", of(independent, master("r1", up, memory), master("r2", up, memory), master("r3", up, "")), inspect.Critical,
			"its memory is full: most locks cannot be taken, nor can Redisson's be released (and so does 1 other)", "DEL and PEXPIRE still work; SET, ZADD, HINCRBY do not",
			map[string]any{"servers": []evidence{{"addr": "r1", "maxmemory": int64(1 << 20)}, {"addr": "r2", "maxmemory": int64(1 << 20)}}}),
		fires("a node of a cluster", of(inspect.Cluster, master("r1", up, ""), master("r2", up, ""), master("r3", up, save)), inspect.Critical, "r3 refuses writes", "", nil),
		fires("one of three, another is a replica", of(independent, master("r1", up, save), replica("r2", ""), master("r3", up, "")), inspect.Critical,
			"r1 refuses writes, since its last snapshot failed: no lock can be taken, renewed or released", "", map[string]any{"quorum": 2, "unusable": 1}),
		fires("one of three, with a replica", of(independent, master("r1", up, save), replica("r2", save), master("r3", up, ""), master("r4", up, "")), inspect.Warning,
			"no lock can be taken, renewed or released there", "", map[string]any{"quorum": 2, "unusable": 1, "servers": []evidence{{"addr": "r1"}}}),
		fires("the only master, with its replica", of(independent, master("r1", up, save), replica("r2", "")), inspect.Critical, "r1 refuses writes", "", map[string]any{"quorum": nil}),
		{name: "a replica of a cluster cannot save", c: of(inspect.Cluster, master("r1", up, ""), replica("r2", save))},
		{name: "all take writes", c: of(independent, master("r1", up, ""), master("r2", up, ""))},
		{name: "refused before it went down", c: of(independent, master("r1", down, save), master("r2", up, ""))},
		{name: "a cluster that accepts writes", c: of(inspect.Cluster, master("r1", up, ""))},
	})
	if found := diagnose(t, "writes-refused", of(independent, master("r1", up, save), master("r2", up, memory))); len(found) != 2 {
		t.Errorf("two reasons: %+v", found)
	}
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
