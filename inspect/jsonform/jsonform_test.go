package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var now = time.Date(2026, 11, 21, 9, 0, 10, 0, time.UTC)

// queueOf returns a kazoo lock whose contenders have these sessions, in this order.
func queueOf(id inspect.ID, sessions ...int64) *inspect.Lock {
	var nodes []inspect.Znode
	for i, session := range sessions {
		name := fmt.Sprintf("0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__%010d", i)
		nodes = append(nodes, inspect.Znode{Name: name, Known: true, EphemeralOwner: session, Czxid: session, Created: now})
	}
	l, _ := inspect.Directory{Children: nodes}.Lock(id, now)
	return l
}

// keyOf returns a Redis key with a vote for each word: a value, "-" if absent, or "!" if down.
func keyOf(path string, words ...inspect.Untrusted) *inspect.Lock {
	var votes []inspect.Vote
	for i, w := range words {
		v := inspect.Vote{Addr: fmt.Sprint(i), Up: w != "!", Present: w != "-" && w != "!"}
		if v.Present {
			v.Value, v.ExpiresAt = w, now.Add(time.Duration(i+1)*time.Second)
		}
		votes = append(votes, v)
	}
	return inspect.KeyLock(inspect.ID{Backend: "redis", Path: path}, votes, now)
}

// written returns the JSON of a snapshot, after comparing it with the contract's schema.
func written(t *testing.T, at time.Time, backends []*inspect.Backend, locks ...*inspect.Lock) string {
	t.Helper()
	text := string(must.Have(json.Marshal(Snapshot(inspect.NewSnapshot(at, backends, locks))))(t))
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema := must.Have(compiler.Compile("../../docs/snapshot.schema.json"))(t)
	document := must.Have(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	must.Be(t, schema.Validate(document), nil, text)
	return text
}

func TestSchemaHasEveryFieldOfUnseen(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/snapshot.schema.json"))(t)
	var schema struct {
		Defs struct {
			Unseen struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(text, &schema))
	var want []string
	for f := range reflect.TypeFor[inspect.Unseen]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, name)
	}
	slices.Sort(want)
	must.NoDiff(t, cmp.Diff(want, slices.Sorted(maps.Keys(schema.Defs.Unseen.Properties))))
}

// Write produces the same bytes as encoding/json for any number of locks, and returns the writer's
// error.
func TestStreamedOutputMatchesStandardEncoder(t *testing.T) {
	backends := []*inspect.Backend{{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeOnce}}
	var locks []*inspect.Lock
	for _, path := range []string{"", "/<a>", "/b\x1b", "/bZ"} { // ESC sorts before Z, but after it once escaped
		if path != "" {
			locks = append(locks, queueOf(inspect.ID{Backend: "zk", Path: path}, -2))
		}
		s := inspect.NewSnapshot(now, backends, locks)
		var want, got bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := errors.Join(e.Encode(Snapshot(s)), Write(&got, s)); err != nil || got.String() != want.String() {
			t.Errorf("%d locks, %v: %s", len(locks), err, cmp.Diff(want.String(), got.String()))
		}
		must.Be(t, Write(brokenPipe{}, s), io.ErrClosedPipe, len(locks), "locks, to a pipe without a reader")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDocumentKeepsTheContract(t *testing.T) {
	queue := queueOf(inspect.ID{Backend: "zk", Path: "/l\x1b"}, -2, 11)
	queue.Waiters[0].Watch = inspect.Missing
	text := written(t, now.Add(1500*time.Millisecond), []*inspect.Backend{
		{
			Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeOnce,
			Servers: []inspect.Server{{Addr: "a:1", State: inspect.ServerUp, Latency: 400 * time.Microsecond, ClockKnown: true}},
		},
		{Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePoll, Servers: []inspect.Server{{Addr: "b:1", State: inspect.ServerDown, Latency: -1}}},
	}, queue, keyOf("held", "x", "x", "x", "-", "!"), keyOf("split", "x", "x", "y", "y", "z"),
		inspect.FreeDirectory(inspect.ID{Backend: "zk", Path: "/free"}, nil, now))
	for _, want := range []string{
		`"id":"zk:/l\\u{1b}"`, `"session":"0xfffffffffffffffe"`, `"age_ms":1500`, `"watch_confirmed":false`, `"latency_ms":0.4`,
		`"clock_offset_ms":0`, `"latency_ms":null`, `"ttl_ms":-2`, `"held_since":null`, `"quorum":3,"margin":0`, `"validity_ms":`,
	} {
		must.Contain(t, text, want)
	}
}

// Watched renewals and grants are in the JSON, and absent if the lock was not watched.
func TestWatchedRenewalsAndGrantsAreWritten(t *testing.T) {
	l := keyOf("held", "x")
	l.Observed.History = &inspect.History{Since: now, Grants: 7, Renewal: inspect.Renewal{Count: 3, Every: 2 * time.Second, Last: now, Skipped: 1}}
	text := written(t, now, nil, l, keyOf("once", "x"))
	for _, want := range []string{`"renewal":{"count":3,"every_ms":2000,"last":`, `"missed":1}`, `"grants":{"count":7,"since":`} {
		must.Equal(t, strings.Count(text, want), 1, want, text)
	}
}

// The JSON says when we first saw a holder, even if its grant is unknown. It omits this if we did
// not watch.
func TestSeenSinceIsWritten(t *testing.T) {
	watched := keyOf("watched", "x")
	watched.Holders[0].Seen = now
	text := written(t, now, nil, watched, keyOf("once", "x"))
	must.Contain(t, text, `"held_since":null,"seen_since":"`+stamp(now)+`"`)
	must.Equal(t, strings.Count(text, "seen_since"), 1, text)
}

// An age whose clock was not compared with ours is marked in documents and events.
func TestUnknownClockAgesAreMarked(t *testing.T) {
	came := now.Add(-time.Hour)
	l := queueOf(inspect.ID{Backend: "zk", Path: "/l"}, 11, 12, 13)
	h, w, undated := &l.Holders[0], &l.Waiters[0], &l.Waiters[1]
	h.Since, h.HeldSince, h.Czxid, w.Since, w.Czxid = came, came, 2, came, 3
	undated.Since = time.Time{}
	for _, one := range []struct {
		clock   inspect.LeaderClock
		unknown int
	}{
		{inspect.LeaderClock{From: 1}, 2},
		{inspect.LeaderClock{From: 5 << 32, Known: true}, 2}, // made under an earlier leader
		{inspect.LeaderClock{From: 1, Known: true}, 0},
		{inspect.LeaderClock{}, 0},
	} {
		b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true, Clock: one.clock}
		text := written(t, now, []*inspect.Backend{b}, l)
		must.Equal(t, strings.Count(text, `"age_ms":3600000`), 2, "ages", one.clock, text)
		must.Equal(t, strings.Count(text, `"age_known":false`), one.unknown, "unknown ages", one.clock, text)
		must.Equal(t, strings.Count(text, "age_known"), one.unknown, "marked ages", one.clock, text)
		e := inspect.Event{Kind: inspect.EventAcquired, At: now, Lock: l.ID, Contender: h, Previous: w}
		line := string(must.Have(json.Marshal(Event(e, b)))(t))
		must.Equal(t, strings.Count(line, `"age_known":false`), one.unknown, "unknown ages", one.clock, line)
	}
}

func TestEventJSON(t *testing.T) {
	l := queueOf(inspect.ID{Backend: "zk", Path: "/l"}, 11, 12)
	was, is := &l.Holders[0], l.Waiters[0]
	is.State = inspect.Holding
	line := func(e inspect.Event) map[string]any {
		text := must.Have(json.Marshal(Event(e, &inspect.Backend{Servers: []inspect.Server{{ClockKnown: true, ClockOffset: time.Second}}})))(t)
		var m map[string]any
		must.Succeed(t, json.Unmarshal(text, &m))
		keys := []string{"at", "backend", "contender", "event", "finding", "from", "lock", "certainty"}
		must.True(t, !slices.ContainsFunc(keys, func(k string) bool { _, ok := m[k]; return !ok }), "fields of", text)
		return m
	}
	m := line(inspect.Event{Kind: inspect.EventHandover, At: now, Lock: l.ID, Contender: &is, Previous: was})
	if m["event"] != "handover" || m["lock"] != "zk:/l" || m["from"] != was.Name.Raw() || m["at"] != "2026-11-21T09:00:11Z" ||
		m["contender"].(map[string]any)["state"] != "holding" {
		t.Errorf("handover %v", m)
	}
	if m = line(inspect.Event{Kind: inspect.EventReleased, At: now, Lock: l.ID, Contender: was}); m["from"] != nil || m["contender"] == nil {
		t.Errorf("released %v", m)
	}
	if m = line(inspect.Event{Kind: inspect.EventBackend, At: now, Backend: &inspect.Backend{Name: "zk"}}); m["lock"] != "" || m["backend"].(map[string]any)["name"] != "zk" {
		t.Errorf("backend %v", m)
	}
}
