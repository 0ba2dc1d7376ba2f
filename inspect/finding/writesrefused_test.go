package finding

import (
	"testing"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// A master that refuses writes is critical where no other can make up for it, and a warning where the others are a quorum.
func TestWritesRefused(t *testing.T) {
	const up, down = inspect.ServerUp, inspect.ServerDown
	master := func(addr string, state inspect.ServerState, refused inspect.WriteRefusal) inspect.Server {
		return inspect.Server{Addr: addr, State: state, Role: "master", WritesRefused: refused, MaxMemory: 1 << 20}
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
			"r2 refuses writes, since it cannot write its append-only file: no lock can be taken, renewed or released there", "takes writes again by itself",
			map[string]any{"quorum": 2, "unusable": 1}),
		fires("one of three while another is down", of(independent, master("r1", down, ""), master("r2", up, replicas), master("r3", up, "")), inspect.Critical,
			"since no replica keeps up: no lock can be taken, renewed or released", "a person has to decide", map[string]any{"quorum": 2, "unusable": 2}),
		fires("two of three", of(independent, master("r1", up, memory), master("r2", up, memory), master("r3", up, "")), inspect.Critical,
			"its memory is full: no lock can be taken (and so 1 other)", "held locks can be renewed and released",
			map[string]any{"servers": []evidence{{"addr": "r1", "maxmemory": int64(1 << 20)}, {"addr": "r2", "maxmemory": int64(1 << 20)}}}),
		fires("a node of a cluster", of(inspect.Cluster, master("r1", up, ""), master("r2", up, ""), master("r3", up, save)), inspect.Critical, "r3 refuses writes", "", nil),
		{name: "all take writes", c: of(independent, master("r1", up, ""), master("r2", up, ""))},
		{name: "what it said before it went down", c: of(independent, master("r1", down, save), master("r2", up, ""))},
		{name: "a cluster that takes writes", c: of(inspect.Cluster, master("r1", up, ""))},
	})
	if found := diagnose(t, "writes-refused", of(independent, master("r1", up, save), master("r2", up, memory))); len(found) != 2 {
		t.Errorf("two reasons: %+v", found)
	}
}
