package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// The schema has every field of what is unseen.
func TestTheSchemaHasAllOfUnseen(t *testing.T) {
	text, err := os.ReadFile("../docs/snapshot.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Unseen struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var want []string
	for f := range reflect.TypeFor[Unseen]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(schema.Defs.Unseen.Properties))); diff != "" {
		t.Error(diff)
	}
}

// WriteJSON writes what encoding/json makes of JSON, however many locks there are; the error of a writer is returned.
func TestJSONIsWrittenLockByLock(t *testing.T) {
	backends := []*Backend{{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeOnce}}
	var locks []*Lock
	for _, path := range []string{"", "/<a>", "/b\x1b", "/bz"} { // as bytes ESC is before z, and escaped behind it
		if path != "" {
			locks = append(locks, directoryLock(ID{"zk", path}, []Znode{node(guid+"__lock__0000000000", -2)}, now))
		}
		s := NewSnapshot(now, backends, locks)
		var want, got bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := errors.Join(e.Encode(s.JSON()), s.WriteJSON(&got)); err != nil || got.String() != want.String() {
			t.Errorf("%d locks, %v: %s", len(locks), err, cmp.Diff(want.String(), got.String()))
		}
		if err := s.WriteJSON(brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%d locks, to a pipe that nobody reads: %v", len(locks), err)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestJSONKeepsTheContract(t *testing.T) {
	queue := directoryLock(ID{"zk", "/l\x1b"}, []Znode{node(guid+"__lock__0000000000", -2), node(guid+"__lock__0000000001", 11)}, now)
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

// What was watched of renewals and grants is in the JSON, and nothing where nothing was.
func TestRenewalsAndGrantsInTheJSON(t *testing.T) {
	l := KeyLock(ID{"redis", "held"}, ballots("x"), now)
	l.history = &History{Since: now, Grants: 7, Renewal: Renewal{Count: 3, Every: 2 * time.Second, Last: now, Skipped: 1}}
	once := KeyLock(ID{"redis", "once"}, ballots("x"), now)
	text, err := json.Marshal(NewSnapshot(now, nil, []*Lock{l, once}).JSON())
	if err != nil {
		t.Fatal(err)
	}
	validate(t, text)
	for _, want := range []string{`"renewal":{"count":3,"every_ms":2000,"last":`, `"missed":1}`, `"grants":{"count":7,"since":`} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("not once: %s in %s", want, text)
		}
	}
}

// Since when a holder was seen is in the JSON, also where nobody knows since when it holds; and nothing where
// nobody watched.
func TestSeenSinceInTheJSON(t *testing.T) {
	watched, once := KeyLock(ID{"redis", "watched"}, ballots("x"), now), KeyLock(ID{"redis", "once"}, ballots("x"), now)
	watched.Holders[0].Seen = now
	text, err := json.Marshal(NewSnapshot(now, nil, []*Lock{watched, once}).JSON())
	if err != nil {
		t.Fatal(err)
	}
	validate(t, text)
	want := `"held_since":null,"seen_since":"` + stamp(now) + `"`
	if strings.Count(string(text), want) != 1 || strings.Count(string(text), "seen_since") != 1 {
		t.Errorf("not once: %s in %s", want, text)
	}
}
