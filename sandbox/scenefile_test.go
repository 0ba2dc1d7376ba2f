package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/lockops"
)

const oneLock = "locks:\n  - id: zk:/locks/a\n"

func TestTheExampleOfAScenarioPlays(t *testing.T) {
	text, err := os.ReadFile("../docs/examples/scene.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := ParseScenario("scene.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Play(scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Scenes()) != 2 || s.Scenes()[1].Lock != "redis:lock:payout" || len(s.Masters()) != 3 {
		t.Errorf("scenes %+v, masters %v", s.Scenes(), s.Masters())
	}
}

func TestScenariosOfFilesAreChecked(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "locks is empty"},
		{"locks: [", "1:8"},
		{"nope: 1\n" + oneLock, "nope"},
		{"locks: !00000000000\n  0: 0\n080:", "YAML"}, // the library panics on this
		{"masters: 10\n" + oneLock, "masters: 10 (1 to 9)"},
		{"repeat: -1s\n" + oneLock, "repeat"},
		{oneLock + "  - id: zk:/locks/a\n", `line 3: id "zk:/locks/a" is there twice`},
		{oneLock + "  - id: zk:locks\n", "line 3: id \"zk:locks\" is no path"},
		{oneLock + "  - id: redis:orders\n", "line 3: id \"redis:orders\": keys in Redis begin with lock:"},
		{oneLock + "  - id: etcd:/a\n", "line 3"},
		{oneLock + "  - title: a\n", "line 3: id is missing"},
		{oneLock + "    colour: red\n", "colour"},
		{oneLock + "    ttl: 3s\n", "line 2: zk:/locks/a: ttl is for locks in Redis"},
		{oneLock + "    permits: -1\n", "line 2: zk:/locks/a: permits -1"},
		{oneLock + "contenders:\n  - {name: a, lock: 'zk:/locks/a', hold: 1s, mode: both}\n", `mode "both"`},
		{oneLock + "contenders:\n  - {name: a, lock: 'zk:/locks/a', hold: 1s, then: 'zk:/b'}\n", `then "zk:/b"`},
		{oneLock + "steps:\n  - {at: 1s, set: {lock: 'zk:/locks/a', owner: a}}\n", "set: give a lock in Redis"},
		{oneLock + "steps:\n  - {at: 1s, orphan: {lock: 'zk:/locks/a'}}\n", "orphan: give a lock"},
		{oneLock + "    recipe: zab\n", `line 2: recipe "zab"`},
		{oneLock + "contenders:\n  - name: a\n    lock: zk:/locks/b\n    hold: 1s\n", `line 4: contender "a": lock "zk:/locks/b" is none of locks`},
		{oneLock + "contenders:\n  - name: a\n    lock: zk:/locks/a\n", `line 4: contender "a": hold is missing`},
		{oneLock + "contenders:\n  - name: a\n    lock: zk:/locks/a\n    hold: 3s..1s\n", "line 6"},
		{oneLock + "contenders:\n  - name: a\n    lock: zk:/locks/a\n    hold: soon\n", "line 6"},
		{oneLock + "contenders:\n  - {name: a, lock: 'zk:/locks/a', hold: 1s, count: 201}\n", "201 contenders"},
		{oneLock + "steps:\n  - at: 1s\n", "line 4: a step does one thing"},
		{oneLock + "steps:\n  - at: 1s\n    stop: 1\n    start: 1\n", "line 4: a step does one thing"},
		{oneLock + "steps:\n  - at: 1s\n    stop: 6\n", "line 4: there is no master 6 (1 to 5)"},
		{oneLock + "steps:\n  - at: 1s\n    freeze: zk:/b\n", `line 4: lock "zk:/b" is none of locks`},
		{oneLock + "steps:\n  - at: 1s\n    expire: a\n", `line 4: "a" is no contender`},
		{oneLock + "steps:\n  - at: 1s\n    clock: {master: 1}\n", "line 4: clock: by is missing"},
		{oneLock + "repeat: 5s\nsteps:\n  - at: 6s\n    stop: 1\n", "line 5: at 6s is not within"},
	} {
		_, err := ParseScenario("x", []byte(tt.text))
		if !errors.Is(err, ErrScene) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// Every kind of step does on the servers what it says.
func TestStepsOfAScenario(t *testing.T) {
	scenario, err := ParseScenario("x", []byte(oneLock+"masters: 2\ncontenders:\n  - {name: a, lock: 'zk:/locks/a', hold: 1s..2s, count: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	box, err := Play(scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	first := box.masters[0]
	if err := first.Set("k", "v"); err != nil {
		t.Fatal(err)
	}
	first.SetTTL("k", 30*time.Second)
	who := &cast{}
	(&scriptStep{Stop: 1}).run(box, who)
	if !box.Stopped(box.addrs[0]) {
		t.Error("stop does not stop")
	}
	(&scriptStep{Empty: 1}).run(box, who)
	if !box.Stopped(box.addrs[0]) {
		t.Error("a stopped master was started by a step that restarts it")
	}
	(&scriptStep{Start: 1}).run(box, who)
	if box.Stopped(box.addrs[0]) || !first.Exists("k") {
		t.Error("start does not start, or forgets what was there")
	}
	(&scriptStep{Clock: &clockChange{1, -time.Minute}}).run(box, who)
	if ttl := first.TTL("k"); ttl < time.Minute {
		t.Errorf("a step back leaves a TTL of %v", ttl)
	}
	(&scriptStep{Clock: &clockChange{1, 2 * time.Minute}}).run(box, who)
	if first.Exists("k") {
		t.Error("a step ahead of the expiry leaves the key")
	}
	if err := first.Set("k", "v"); err != nil {
		t.Fatal(err)
	}
	id := first.runID
	(&scriptStep{Empty: 1}).run(box, who)
	if first.Exists("k") || first.runID == id {
		t.Error("a master that restarts empty has what it had, or is the same process")
	}
	(&scriptStep{Freeze: "zk:/locks/a"}).run(box, who)
	if !box.Frozen("zk:/locks/a") {
		t.Error("not frozen")
	}
	(&scriptStep{Thaw: "zk:/locks/a"}).run(box, who)
	if box.Frozen("zk:/locks/a") {
		t.Error("still frozen")
	}
}

// A client whose session a step ends learns of it, and comes back with another one.
func TestAStepEndsASession(t *testing.T) {
	s, err := Start("semaphore", 1) // for its ZooKeeper
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session, err := s.session()
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Conn().Create("/gone", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.session()
	if err != nil {
		t.Fatal(err)
	}
	_, _, ended, err := other.Conn().ExistsW("/gone")
	if err != nil {
		t.Fatal(err)
	}
	(&scriptStep{Expire: "a"}).run(s, &cast{sessions: map[string]*lockops.ZKSession{"a": session}})
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("its node is still there")
	}
}
