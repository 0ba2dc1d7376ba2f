package servertest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// StartZooKeeperEnsemble starts an ensemble of real servers for one test, which may break them.
// They are stopped when the test ends.
func StartZooKeeperEnsemble(t testing.TB, members int) []*ZooKeeper {
	t.Helper()
	return StartEnsemble(t, EnsembleConfig{Members: members}).Members
}

// EnsembleConfig configures an ensemble. The defaults are three members, the tick of all servers
// here, and a SyncLimit of ten.
type EnsembleConfig struct {
	Members int
	// Tick is the servers' unit of time: a session's timeout is at least two ticks, at most 40 s.
	Tick time.Duration
	// SyncLimit is the number of ticks that a member cut off from its leader, or a leader cut off
	// from the others, continues as usual.
	SyncLimit int
}

// Ensemble is a group of real servers. They reach each other, and clients reach them, over wires.
type Ensemble struct {
	Members []*ZooKeeper
	// Clients are wires to the members' ports for clients.
	Clients []*Wire
	wires   map[[2]int][]*Wire // from one member to another: one for followers, one for elections
}

// StartEnsemble starts an ensemble for one test. It is stopped when the test ends.
func StartEnsemble(t testing.TB, cfg EnsembleConfig) *Ensemble {
	t.Helper()
	check(t, zookeeperInstalled())
	if cfg.Members == 0 {
		cfg.Members = 3
	}
	if cfg.Tick == 0 {
		cfg.Tick = tick
	}
	if cfg.SyncLimit == 0 {
		cfg.SyncLimit = 10
	}
	const each = 4                         // for clients, its AdminServer, the others, elections
	ports := make([]int, each*cfg.Members) // of each member
	for i := range ports {
		port, err := freePort()
		check(t, err)
		ports[i] = port
	}
	e := &Ensemble{wires: make(map[[2]int][]*Wire)}
	for from := range cfg.Members {
		for to := range cfg.Members {
			for k := 2; from != to && k < each; k++ {
				e.wires[[2]int{from, to}] = append(e.wires[[2]int{from, to}], StartWire(t, loopback(ports[each*to+k])))
			}
		}
	}
	for i := range cfg.Members {
		member := e.start(t, cfg, i, ports[each*i:])
		e.Members = append(e.Members, member)
		e.Clients = append(e.Clients, StartWire(t, member.Addr))
	}
	for _, zk := range e.Members { // none serves until most have started
		check(t, zk.proc.awaitReady(func() error { return portIsOf(zk.dir, zk.Addr) }))
		check(t, zk.proc.awaitReady(func() error { return adminIsOf(zk.dir, zk.Admin) }))
	}
	return e
}

// start starts one member, which knows the others by the near ends of its wires to them.
func (e *Ensemble) start(t testing.TB, cfg EnsembleConfig, i int, ports []int) *ZooKeeper {
	t.Helper()
	var lines strings.Builder
	fmt.Fprintf(&lines, "initLimit=%d\nsyncLimit=%d\n", 2*cfg.SyncLimit, cfg.SyncLimit)
	for to := range cfg.Members {
		if to == i {
			fmt.Fprintf(&lines, "server.%d=127.0.0.1:%d:%d\n", to+1, ports[2], ports[3])
			continue
		}
		wires := e.wires[[2]int{i, to}]
		_, quorum, _ := net.SplitHostPort(wires[0].Addr())
		_, election, _ := net.SplitHostPort(wires[1].Addr())
		fmt.Fprintf(&lines, "server.%d=127.0.0.1:%s:%s\n", to+1, quorum, election)
	}
	if cfg.Tick != tick { // the last of two lines counts
		fmt.Fprintf(&lines, "tickTime=%d\n", cfg.Tick.Milliseconds())
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	check(t, os.Mkdir(data, 0o700))
	check(t, os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(i+1)), 0o600))
	check(t, configure(dir, ports[0], ports[1], lines.String()))
	// By default, votes that a cut held back are sent again after up to 60 s, and members wait 5 s
	// for a silent one. Elections among members that hear each other would take as long.
	options := []string{"-Dzookeeper.fastleader.maxNotificationInterval=800", "-Dzookeeper.cnxTimeout=1000"}
	zk := realZooKeeper(dir, ports[0], ports[1], options...)
	proc, err := startJVM(dir, options...)
	check(t, err)
	zk.proc = proc
	t.Cleanup(zk.end)
	return zk
}

// Cut silently holds back the bytes from one member to another.
func (e *Ensemble) Cut(from, to int) {
	for _, w := range e.wires[[2]int{from, to}] {
		w.Stop(ToServer)
	}
	for _, w := range e.wires[[2]int{to, from}] {
		w.Stop(ToClient)
	}
}

// Isolate silently cuts a member off from all others, in both directions.
func (e *Ensemble) Isolate(member int) {
	for other := range e.Members {
		if other != member {
			e.Cut(member, other)
			e.Cut(other, member)
		}
	}
}

// Reset ends the connections between a member and the others with resets.
func (e *Ensemble) Reset(member int) {
	for pair, wires := range e.wires {
		if pair[0] == member || pair[1] == member {
			for _, w := range wires {
				w.Reset()
			}
		}
	}
}

// Heal mends all wires, and waits until one member leads, all others follow, and they commit.
//
// In ZooKeeper 3.8.0, a leader whose followers have left and joined again at the same time may
// never commit anything again, although all follow. A follower acknowledges a proposal that it got
// while joining before it acknowledges that it has joined. The leader confuses the two, and drops
// the second (ZOOKEEPER-4685, the race of 4394 and 4646). Heal restarts such a leader. It also
// restarts a leader that a member cannot follow because the member has accepted a newer epoch from
// itself, unheard by the others. Only another election helps there.
func (e *Ensemble) Heal(t testing.TB) {
	t.Helper()
	e.Mend()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		leader, whole := e.awaitWhole(wholeTimeout)
		if whole {
			err := e.commits(leader, commitTimeout)
			if err == nil {
				return
			}
			if now, whole := e.leads(); !whole || now != leader {
				continue // an election
			}
			t.Logf("servertest: restarting the leader of an ensemble that commits nothing: %v", err)
		}
		if leader >= 0 {
			e.Members[leader].Restart(t)
		}
	}
	t.Fatal("servertest: the ensemble is not whole, or commits nothing")
}

// wholeTimeout is how long members may take to follow an existing leader.
const wholeTimeout = 30 * time.Second

// awaitWhole waits until one member leads and all others follow. The leader is -1 when the limit
// passes without one.
func (e *Ensemble) awaitWhole(limit time.Duration) (leader int, whole bool) {
	for deadline := time.Now().Add(limit); ; time.Sleep(pollEvery) {
		if leader, whole = e.leads(); whole || time.Now().After(deadline) {
			return leader, whole
		}
	}
}

// commitTimeout is how long an ensemble that has a leader may take to commit.
const commitTimeout = 15 * time.Second

// commits waits until the ensemble has committed a session on a member.
func (e *Ensemble) commits(member int, limit time.Duration) error {
	conn, events, err := zk.Connect([]string{e.Members[member].Addr}, commitTimeout, zk.WithLogger(quiet{}))
	if err != nil {
		return err
	}
	defer func() {
		conn.Close()
		for range events { // closed when its goroutines have ended
		}
	}()
	late := time.After(limit)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return nil
			}
		case <-late:
			return fmt.Errorf("no session within %v", limit)
		}
	}
}

// quiet is a zk.Logger.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Mend mends all wires. Connections with held-back bytes end, since those bytes are outdated.
func (e *Ensemble) Mend() {
	for _, wires := range e.wires {
		for _, w := range wires {
			if w.stops() {
				w.Heal()
				w.Reset()
			}
		}
	}
	for _, w := range e.Clients {
		w.Heal()
	}
}

// LeaderNow returns the index of a member that reports itself as the leader; false if none does.
func (e *Ensemble) LeaderNow() (int, bool) {
	for i, zk := range e.Members {
		if mode(zk.Addr) == "leader" {
			return i, true
		}
	}
	return 0, false
}

// Leader waits until one member leads and all others follow, and returns its index.
func (e *Ensemble) Leader(t testing.TB) int {
	t.Helper()
	leader, whole := e.awaitWhole(startTimeout)
	if !whole {
		t.Fatal("servertest: the ensemble found no leader")
	}
	return leader
}

// Whole reports whether one member leads by its own report, and all others follow.
func (e *Ensemble) Whole() bool {
	_, whole := e.leads()
	return whole
}

// leads returns the index of the leading member, and whether all others follow.
func (e *Ensemble) leads() (leader int, whole bool) {
	leader, followers := -1, 0
	for i, zk := range e.Members {
		switch mode(zk.Addr) {
		case "leader":
			leader = i
		case "follower":
			followers++
		}
	}
	return leader, leader >= 0 && followers == len(e.Members)-1
}

// mode returns a server's mode by its own report; empty if it does not serve.
func mode(addr string) string { return after(query(addr, "srvr"), "Mode: ") }

// query returns a server's answer to a four-letter word; empty if no answer came.
func query(addr, word string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return ""
	}
	text, _ := io.ReadAll(conn)
	return string(text)
}

// after returns the rest of the line that follows a label.
func after(text, label string) string {
	_, rest, _ := strings.Cut(text, label)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
