package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validate checks JSON against the contract's schema.
func validate(t *testing.T, text []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../docs/snapshot.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("the contract's schema says: %v\n%s", err, text)
	}
}

func TestJSONKeepsTheContract(t *testing.T) {
	queue := DirectoryLock(ID{"zk", "/l\x1b"}, []Znode{node(guid+"__lock__0000000000", -2), node(guid+"__lock__0000000001", 11)}, now)
	queue.Waiters[0].Watch = Missing
	s := NewSnapshot(now.Add(1500*time.Millisecond), []*Backend{
		{
			Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeOnce,
			Servers: []Server{{Addr: "a:1", State: ServerUp, Latency: 400 * time.Microsecond, ClockKnown: true}},
		},
		{Name: "redis", Kind: Redis, State: Degraded, Mode: ModePoll, Servers: []Server{{Addr: "b:1", State: ServerDown, Latency: -1}}},
	}, []*Lock{
		queue,
		KeyLock(ID{"redis", "held"}, ballots("x x x - !"), now),
		KeyLock(ID{"redis", "split"}, ballots("x x y y z"), now),
		FreeDirectory(ID{"zk", "/free"}, nil, now),
	})
	text, err := json.Marshal(s.JSON())
	if err != nil {
		t.Fatal(err)
	}
	validate(t, text)
	for _, want := range []string{
		`"id":"zk:/l\\u{1b}"`, `"session":"0xfffffffffffffffe"`, `"age_ms":1500`, `"watch_confirmed":false`, `"latency_ms":0.4`,
		`"clock_offset_ms":0`, `"latency_ms":null`, `"ttl_ms":-2`, `"held_since":null`, `"quorum":3,"margin":0`, `"validity_ms":`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("missing %s in %s", want, text)
		}
	}
}
