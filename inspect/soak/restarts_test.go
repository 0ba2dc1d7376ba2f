package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"path"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	restartLocks   = 1000
	restartClients = 8
	restartRoot    = "/restarts"
	// restartsEvery is the time between two servers' restarts, in which the first is back.
	restartsEvery = 20 * time.Second
)

// TestRestarts watches 1,000 locks in which clients come and go all the time, on an ensemble of three servers
// that are started anew one after another, for -soak.d. At the end the picture of every lock is the servers'
// own, and no watch and no goroutine is there that was not at the start.
func TestRestarts(t *testing.T) {
	if *lasts == 0 {
		t.Skip("SKIPPED: it takes its time: make soak-restarts runs it")
	}
	e := servertest.StartEnsemble(t, servertest.EnsembleConfig{})
	e.Heal(t)
	addrs := zkAddrs(e.Members)
	first := restartClient(t, addrs)
	plantRestarts(t, first)
	var conns []*zk.Conn
	for range restartClients {
		conns = append(conns, restartClient(t, addrs))
	}
	alone := goroutines()

	source := zksource.New(zksource.Config{Backend: "zk", Servers: addrs, Roots: []string{restartRoot}})
	observer := inspect.NewObserver(time.Now, source)
	observer.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- observer.Run(ctx) }()
	await(t, "the first pass", func() bool {
		b := observer.Snapshot().Backends
		return len(b) == 1 && b[0].FirstPass
	})
	time.Sleep(5 * time.Second) // what is only there while it begins ends
	watches, running, began := watchesOf(t, addrs), goroutines(), stacks()

	changing, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	changes := make([]int, len(conns))
	for i, conn := range conns {
		clients.Go(func() { changes[i] = comeAndGo(changing, conn, i) })
	}
	restarts := 0
	for from := time.Now(); time.Since(from) < *lasts; restarts++ {
		pause(ctx, min(restartsEvery, *lasts))
		e.Members[restarts%len(e.Members)].Restart(t)
		e.Heal(t)
	}
	stop()
	clients.Wait()
	total := 0
	for _, n := range changes {
		total += n
	}
	t.Logf("%d changes, %d restarts; at the start %d watches on the servers and %d goroutines", total, restarts, watches, running)
	if total < int(lasts.Seconds()) {
		t.Errorf("only %d changes", total)
	}

	var held picture
	var lines []string
	same := func() bool {
		var err error
		if held, err = heldBy(addrs); err != nil {
			t.Log(err)
			return false
		}
		lines = differences(pictured(observer.Snapshot()), held)
		return len(lines) == 0
	}
	if !within(time.Minute, same) {
		t.Errorf("%d of %d locks are not shown as the servers hold them:\n%s", len(lines), len(held), strings.Join(lines, "\n"))
	}
	wrong := maps.Clone(held)
	for lock := range wrong {
		delete(wrong, lock)
		break
	}
	if len(held) == 0 || len(differences(wrong, held)) != 1 {
		t.Errorf("control: a lock that is not shown is not noticed, of %d", len(held))
	}
	t.Logf("%d locks that somebody holds or waits for are shown as the servers hold them", len(held))
	if !within(time.Minute, func() bool { return watchesOf(t, addrs) <= watches }) {
		t.Errorf("%d watches on the servers, %d at the start", watchesOf(t, addrs), watches)
	}
	if !within(time.Minute, func() bool { return goroutines() <= running }) {
		t.Errorf("%d goroutines, %d at the start:\n%s\nat the start:\n%s", goroutines(), running, stacks(), began)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !within(time.Minute, func() bool { return goroutines() <= alone }) {
		t.Errorf("%d goroutines after the observer's end, %d before it began:\n%s", goroutines(), alone, stacks())
	}
}

// stacks are those of all goroutines, equal ones together.
func stacks() string {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return err.Error()
	}
	return text.String()
}

// goroutines counts all but those of the test's own wires between the members, of which there are as many as
// connections: who leads after a restart decides how many that are.
func goroutines() int {
	total := 0
	for _, same := range strings.Split(stacks(), "\n\n") {
		if _, rest, ok := strings.Cut(same, "goroutine profile: total"); ok {
			_, same, _ = strings.Cut(rest, "\n")
		}
		n, _, ok := strings.Cut(same, " @ ")
		if count, err := strconv.Atoi(n); ok && err == nil && !strings.Contains(same, "servertest.(*Wire)") {
			total += count
		}
	}
	return total
}

// within awaits a condition for so long.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !within(time.Minute, ok) {
		t.Fatalf("%s did not come", what)
	}
}

func restartClient(t *testing.T, addrs []string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(addrs, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(quietZK{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	go func() {
		for range events { // until Close
		}
	}()
	if _, _, err := c.Exists("/"); err != nil { // it is connected, with all its goroutines
		t.Fatal(err)
	}
	return c
}

type quietZK struct{}

func (quietZK) Printf(string, ...any) {}

func restartLock(i int) string { return fmt.Sprintf("%s/lock-%03d", restartRoot, i) }

func plantRestarts(t *testing.T, c *zk.Conn) {
	t.Helper()
	acl := zk.WorldACL(zk.PermAll)
	nodes := []any{&zk.CreateRequest{Path: restartRoot, Acl: acl}}
	for i := range restartLocks {
		nodes = append(nodes, &zk.CreateRequest{Path: restartLock(i), Acl: acl})
	}
	for chunk := range slices.Chunk(nodes, 200) {
		if _, err := c.Multi(chunk...); err != nil {
			t.Fatal(err)
		}
	}
}

// comeAndGo has a client enter and leave locks, some 60 times a second, until ctx ends, and returns how often
// it did. It keeps the places that it has then.
func comeAndGo(ctx context.Context, c *zk.Conn, client int) (changes int) {
	random := rand.New(rand.NewPCG(*seed, uint64(client)))
	mine := map[string]string{} // its node by lock
	session := c.SessionID()
	for pause(ctx, between(random, 10, 22)) {
		if now := c.SessionID(); now != session {
			session = now
			clear(mine)
		}
		lock := restartLock(random.IntN(restartLocks))
		var err error
		if node, there := mine[lock]; there {
			if err = c.Delete(node, -1); err == nil || errors.Is(err, zk.ErrNoNode) {
				delete(mine, lock)
			}
		} else {
			name := fmt.Sprintf("%s/_c_%08x-0000-4000-8000-%012x-lock-", lock, client, changes)
			var made string
			if made, err = c.Create(name, []byte("10.0.0.1"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)); err == nil {
				mine[lock] = made
			} // else it may have been made all the same, and stays
		}
		if err == nil {
			changes++
		}
	}
	return changes
}

// heldBy reads what the servers hold, on a connection of its own and behind a sync.
func heldBy(addrs []string) (picture, error) {
	c, events, err := zk.Connect(addrs, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(quietZK{}))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	go func() {
		for range events { // until Close
		}
	}()
	if _, err := c.Sync(restartRoot); err != nil {
		return nil, err
	}
	p := picture{}
	for i := range restartLocks {
		names, _, err := c.Children(restartLock(i))
		if err != nil {
			return nil, err
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
		if len(names) > 0 {
			p["zk:"+path.Clean(restartLock(i))] = names[0] + " | " + strings.Join(names[1:], " ")
		}
	}
	return p, nil
}

// watchesOf counts the watches on all servers.
func watchesOf(t *testing.T, addrs []string) (n int) {
	t.Helper()
	for _, addr := range addrs {
		text, err := fourLetters(addr, "mntr")
		if err != nil {
			t.Log(err)
			return 1 << 30
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == "zk_watch_count" {
				watches, err := strconv.Atoi(value)
				if err != nil {
					t.Fatal(err)
				}
				n += watches
			}
		}
	}
	return n
}

func fourLetters(addr, word string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
