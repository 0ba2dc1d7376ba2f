package zkserver

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// threeMembers starts an ensemble on loopback ports.
func threeMembers(t *testing.T, tick time.Duration) (*Ensemble, []net.Listener) {
	t.Helper()
	var listeners []net.Listener
	for range 3 {
		listeners = append(listeners, must.Have(net.Listen("tcp", "127.0.0.1:0"))(t))
	}
	e := must.Have(StartEnsemble(Config{TickTime: tick}, 5, listeners...))(t)
	t.Cleanup(e.Close)
	return e, listeners
}

// startEnsemble starts three members with a connection to each.
func startEnsemble(t *testing.T) (*Ensemble, []*zk.Conn) {
	t.Helper()
	e, listeners := threeMembers(t, time.Second)
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

// cutBoth cuts a follower off in both directions.
func cutBoth(e *Ensemble, follower int) { e.Cut(follower, true, true) }

// wantDataOfA checks the data of /a on one member.
func wantDataOfA(t *testing.T, conn *zk.Conn, want, who string) {
	t.Helper()
	data, _, err := conn.Get("/a")
	must.Be(t, err, nil, who)
	must.Equal(t, string(data), want, who)
}

// watchDeletion watches a node. The function waits for its deletion.
func watchDeletion(t *testing.T, conn *zk.Conn, path string) func() {
	t.Helper()
	_, _, events, err := conn.ExistsW(path)
	must.Succeed(t, err)
	return func() {
		t.Helper()
		select {
		case event := <-events:
			must.Equal(t, event.Type, zk.EventNodeDeleted, "event", event)
		case <-time.After(60 * time.Second):
			t.Errorf("%s was not deleted", path)
		}
	}
}

// A follower that is cut off answers from its own data, and the leader expires its sessions.
func TestCutOffFollowerServesLocalData(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	follower, leader := conns[1], conns[0]
	must.Have(follower.Create("/a", []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	wantDataOfA(t, leader, "1", "the leader")
	expired := watchDeletion(t, leader, "/a")
	cutBoth(e, 1)
	wantDataOfA(t, follower, "1", "the follower, cut off")
	expired()
}

// A lagging follower answers with old data until a sync.
func TestSyncWaitsForLaggingFollower(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	const lag = 3 * time.Second
	must.Have(conns[2].Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	e.Lag(2, lag)
	must.Have(conns[0].Set("/a", []byte("new"), -1))(t)
	wantDataOfA(t, conns[2], "", "the lagging follower")
	must.Have(conns[2].Sync("/a"))(t)
	wantDataOfA(t, conns[2], "new", "after sync")
}

// Without a majority the leader commits nothing. It serves again after the cut.
func TestLeaderNeedsAMajority(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	e.Cut(1, true, false) // one direction suffices
	e.Cut(2, false, true)
	_, err := conns[0].Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	must.True(t, err != nil, "the leader committed alone")
	must.True(t, !deletes(e, "/zookeeper/quota"), "the leader deleted alone")
	e.Heal()
	must.Become(t, "all serve again", func() bool {
		_, err := conns[1].Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		return err == nil
	})
}

// deletes deletes a node as an operator, and reports whether it existed.
func deletes(e *Ensemble, path string) bool {
	done := make(chan bool)
	e.Delete(path, func(deleted bool) { done <- deleted })
	return <-done
}

func TestOperatorSeesAndDeletesNodes(t *testing.T) {
	t.Parallel()
	e, conns := startEnsemble(t)
	var sessions []int64
	for _, conn := range conns {
		must.Have(conn.Sync("/"))(t)
		sessions = append(sessions, conn.SessionID())
	}
	slices.Sort(sessions)
	must.Same(t, e.Sessions(), sessions, "sessions")
	undeletable := zk.WorldACL(zk.PermRead | zk.PermCreate) // by clients
	for _, path := range []string{"/a", "/a/y", "/a/x"} {
		must.Have(conns[1].Create(path, nil, 0, undeletable))(t)
	}
	must.Same(t, e.Children("/a"), []string{"x", "y"})
	must.Equal(t, len(e.Children("/none")), 0, "children of a missing node")
	must.True(t, deletes(e, "/a/x") && !deletes(e, "/a/x"), "deletes twice")
	must.Same(t, e.Children("/a"), []string{"y"})
}

// A leader learns of sessions only from the answers to its pings. A cut delays the answers until
// Heal.
func TestCutDelaysPings(t *testing.T) {
	t.Parallel()
	e, _ := threeMembers(t, time.Hour) // pings only in beat
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
		cut := tt.toLeader || tt.fromLeader
		must.True(t, !cut || !heard(), tt.name, "the leader heard of the session during the cut")
		e.Heal()
		must.Equal(t, heard(), tt.healed, tt.name, "the leader has heard of it")
		beat()
		must.Equal(t, heard(), tt.later, tt.name, "the leader has heard of it after another ping")
	}
}
