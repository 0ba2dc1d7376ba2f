package zkserver

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// startEnsemble starts three members on loopback ports, with a connection to each.
func startEnsemble(t *testing.T) (*Ensemble, []*zk.Conn) {
	t.Helper()
	var listeners []net.Listener
	for range 3 {
		l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
		listeners = append(listeners, l)
	}
	e := must.Have(StartEnsemble(Config{TickTime: time.Second}, 5, listeners...))(t)
	t.Cleanup(e.Close)
	var conns []*zk.Conn
	for _, l := range listeners {
		conn, events, err := zk.Connect([]string{l.Addr().String()}, 12*time.Second, zk.WithLogger(quiet{}))
		must.Succeed(t, err)
		t.Cleanup(func() {
			conn.Close()
			for range events { // closed when its goroutines have ended
			}
		})
		conns = append(conns, conn)
	}
	return e, conns
}

// All members see writes through a follower, in order. A follower that is cut off answers from its
// own data, and the leader expires its sessions.
func TestCutOffFollowerServesLocalData(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	follower, leader := conns[1], conns[0]
	must.Have(follower.Create("/a", []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	if data, _, err := leader.Get("/a"); err != nil || string(data) != "1" {
		t.Fatalf("the leader has %q, %v", data, err)
	}
	_, _, gone, err := leader.ExistsW("/a")
	must.Succeed(t, err)
	e.Cut(1, true, true)
	if data, _, err := follower.Get("/a"); err != nil || string(data) != "1" {
		t.Errorf("cut off, the follower answers %q, %v", data, err)
	}
	select {
	case event := <-gone:
		must.Equal(t, event.Type, zk.EventNodeDeleted, "event", event)
	case <-time.After(60 * time.Second):
		t.Error("the session did not expire")
	}
	e.Heal()
}

// A lagging follower answers with old data until a sync.
func TestSyncWaitsForLaggingFollower(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	const lag = 3 * time.Second
	must.Have(conns[2].Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	e.Lag(2, lag)
	must.Have(conns[0].Set("/a", []byte("new"), -1))(t)
	if data, _, err := conns[2].Get("/a"); err != nil || len(data) > 0 {
		t.Errorf("the lagging follower has %q, %v", data, err)
	}
	must.Have(conns[2].Sync("/a"))(t)
	if data, _, err := conns[2].Get("/a"); err != nil || string(data) != "new" {
		t.Errorf("after sync it has %q, %v", data, err)
	}
}

// Without a majority nothing is committed, and both sides stop serving.
func TestNothingIsCommittedWithoutAMajority(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	e.Cut(1, true, true)
	e.Cut(2, true, true)
	if _, err := conns[0].Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
		t.Error("the leader committed alone")
	}
	e.Heal()
}

// An access list applies on every member. The end of a session needs no right.
func TestAccessListsApplyOnEveryMember(t *testing.T) {
	t.Parallel()
	_, conns := startEnsemble(t)
	owner, stranger := conns[1], conns[2]
	must.Succeed(t, owner.AddAuth("digest", []byte("owner:secret")))
	mine := zk.AuthACL(zk.PermAll &^ zk.PermDelete)
	must.Have(owner.Create("/dir", nil, 0, mine))(t)
	must.Have(stranger.Sync("/dir"))(t)
	if _, _, err := stranger.Children("/dir"); err != zk.ErrNoAuth {
		t.Errorf("a stranger lists: %v", err)
	}
	if _, err := stranger.Create("/dir/x", nil, 0, mine); err != zk.ErrInvalidACL {
		t.Errorf("a stranger creates with AuthACL: %v", err)
	}
	if _, err := stranger.Create("/dir/x", nil, 0, zk.WorldACL(zk.PermAll)); err != zk.ErrNoAuth {
		t.Errorf("a stranger creates: %v", err)
	}
	if _, err := owner.Create("/dir/x", nil, zk.FlagEphemeral, mine); err != nil {
		t.Errorf("the owner creates: %v", err)
	}
	if err := owner.Delete("/dir/x", -1); err != zk.ErrNoAuth {
		t.Errorf("the owner deletes: %v", err)
	}
	owner.Close()
	must.Succeed(t, conns[0].AddAuth("digest", []byte("owner:secret")))
	awaitEmpty(t, conns[0], "/dir")
}

// awaitEmpty waits until a node has no children.
func awaitEmpty(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	for {
		names, _, events, err := conn.ChildrenW(path)
		must.Succeed(t, err)
		if len(names) == 0 {
			return
		}
		select {
		case <-events:
		case <-time.After(time.Minute):
			t.Fatalf("%s has %q", path, names)
		}
	}
}

// A leader learns of sessions only from the answers to its pings. A cut delays the answers until
// Heal.
func TestCutDelaysPings(t *testing.T) {
	t.Parallel()
	var listeners []net.Listener
	for range 3 {
		l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
		listeners = append(listeners, l)
	}
	e, err := StartEnsemble(Config{TickTime: time.Hour}, 5, listeners...) // pings only in beat
	must.Succeed(t, err)
	defer e.Close()
	const id = 7
	follower := e.members[1]
	beat := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.ping(follower, time.Now())
	}
	touch := func() { follower.touch(id) }
	for _, tt := range []struct {
		name                 string
		toLeader, fromLeader bool
		do                   []func()
		healed, later        bool // whether the leader has heard of it
	}{
		{"not cut, before its ping", false, false, []func(){touch}, false, true},
		{"not cut", false, false, []func(){touch, beat}, true, true},
		{"its answer held back", true, false, []func(){touch, beat}, true, true},
		{"touched after its answer", true, false, []func(){beat, touch}, false, true},
		{"the ping held back", false, true, []func(){beat, touch}, true, true},
		{"both held back", true, true, []func(){touch, beat}, true, true},
		{"no ping during the cut", true, true, []func(){touch}, false, true},
		{"never touched", true, true, []func(){beat}, false, false},
	} {
		leader := e.servers[0]
		leader.mu.Lock()
		leader.sessions[id] = &session{id: id, timeout: 2 * time.Hour}
		leader.mu.Unlock()
		heard := func() bool {
			leader.mu.Lock()
			defer leader.mu.Unlock()
			return leader.sessions[id].deadline > 0
		}
		e.Cut(1, tt.toLeader, tt.fromLeader)
		for _, do := range tt.do {
			do()
		}
		if (tt.toLeader || tt.fromLeader) && heard() {
			t.Errorf("%s: the leader heard of the session during the cut", tt.name)
		}
		e.Heal()
		must.Equal(t, heard(), tt.healed, tt.name, "the leader has heard of it")
		beat()
		must.Equal(t, heard(), tt.later, tt.name, "the leader has heard of it after another ping")
	}
}
