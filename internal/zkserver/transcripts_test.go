package zkserver_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// scenarios are the scripts of testdata/scenarios.txtar.
func scenarios(t *testing.T) []txtar.File {
	return must.Have(txtar.ParseFile("testdata/scenarios.txtar"))(t).Files
}

// play runs scripts against a server, and replaces each with its transcript.
func play(t *testing.T, addr string, scripts []txtar.File) {
	for i := range scripts {
		w := newWorld(t, addr)
		w.play(string(scripts[i].Data))
		scripts[i].Data = []byte(w.log.String())
	}
}

// Every scenario runs against a new embedded and a new real server. The transcripts must be equal: reply order,
// zxids, error codes, watch events, and Stat without times.
func TestTranscriptsMatchRealServer(t *testing.T) {
	t.Parallel()
	onBoth(t, "testdata/transcripts.txtar", nil, func(t *testing.T, zk *servertest.ZooKeeper) *txtar.Archive {
		all := scenarios(t)
		play(t, zk.Addr, all)
		return &txtar.Archive{Files: all}
	})
}

// startMembers starts an ensemble and returns its addresses. The first member leads.
func startMembers(t *testing.T) (addrs []string) {
	t.Helper()
	var listeners []net.Listener
	for range 3 {
		l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
		listeners, addrs = append(listeners, l), append(addrs, l.Addr().String())
	}
	sameAsAlone := zkserver.Config{TickTime: time.Second / 2, MaxSessionTimeout: 40 * time.Second} // see servertest
	e := must.Have(zkserver.StartEnsemble(sameAsAlone, 5, listeners...))(t)
	t.Cleanup(e.Close)
	return addrs
}

// A session that moves to another member leaves the first one.
func TestMovedSessionLeavesItsMember(t *testing.T) {
	t.Parallel()
	addrs := startMembers(t)
	w := newWorld(t, addrs[0])
	w.play("a connects")
	w.addr = addrs[1]
	w.play("b resumes a 4000\na ends\nb sync /\nb ping") // a follower may be late until a sync
	must.Contain(t, w.log.String(), "a: end: closed")
	must.Contain(t, w.log.String(), "b ping: xid -2 zxid 1 code 0")
}

// Members answer like a single server, except for these steps. They do not answer the end of a session, and
// keep a connection despite a wrong password.
func TestMembersAnswerLikeSingleServer(t *testing.T) {
	t.Parallel()
	alike := func(text []byte) []string {
		return each.Where(lines(text), func(line string) bool {
			return !strings.Contains(line, " bye: ") && !strings.HasPrefix(line, "a raw sync: ")
		})
	}
	possible := func(f txtar.File) bool { return f.Name != "a wrong password" }
	want := each.Where(must.Have(txtar.ParseFile("testdata/transcripts.txtar"))(t).Files, possible)
	for member, name := range []string{"leader", "follower"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := each.Where(scenarios(t), possible)
			play(t, startMembers(t)[member], got)
			for i := range want {
				must.NoDiff(t, cmp.Diff(alike(want[i].Data), alike(got[i].Data)), want[i].Name, "- single server, +", name)
			}
		})
	}
}
