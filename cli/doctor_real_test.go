package cli

import (
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// brokenServer is a real ZooKeeper server with sessions that act like broken clients.
type brokenServer struct {
	t     *testing.T
	addr  string
	conns []*zk.Conn
	made  int
	// endGhost ends the session of a client whose connection was cut.
	endGhost func()
}

func (w *brokenServer) session() *zk.Conn {
	w.t.Helper()
	conn, _, err := zk.Connect([]string{w.addr}, 30*time.Second, zk.WithLogInfo(false))
	must.Succeed(w.t, err)
	w.conns = append(w.conns, conn)
	w.t.Cleanup(conn.Close)
	return conn
}

func (w *brokenServer) sessions(n int) []*zk.Conn {
	w.t.Helper()
	conns := make([]*zk.Conn, n)
	for i := range conns {
		conns[i] = w.session()
	}
	return conns
}

func (w *brokenServer) create(conn *zk.Conn, path, data string, flags int32) string {
	w.t.Helper()
	made, err := conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	return made
}

func (w *brokenServer) watch(conn *zk.Conn, path string) {
	w.t.Helper()
	if _, _, _, err := conn.GetW(path); err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
}

// kazoo returns a contender's name as kazoo's Lock makes it; the server adds the number.
func (w *brokenServer) kazoo() string {
	w.made++
	return fmt.Sprintf("%032x__lock__", w.made)
}

// queue makes sessions contend in this order as kazoo does, each watching the previous one.
func (w *brokenServer) queue(path string, sessions ...*zk.Conn) []string {
	w.t.Helper()
	nodes := make([]string, len(sessions))
	for i, s := range sessions {
		nodes[i] = w.create(s, path+"/"+w.kazoo(), "client", zk.FlagEphemeral|zk.FlagSequence)
		if i > 0 {
			w.watch(s, nodes[i-1])
		}
	}
	return nodes
}

// breakZooKeeper breaks locks below root and returns the expected rules for each.
func (w *brokenServer) breakZooKeeper(root string) map[string][]string {
	kept := w.session()
	lock := func(name string) string { return w.create(kept, root+"/"+name, "", 0) }
	w.hear(kept, w.create(kept, root, "", 0)) // a client that queues just after the server's start may be reconnecting

	for _, healthy := range []string{"healthy", "healthy-too"} {
		w.queue(lock(healthy), w.sessions(3)...)
	}
	alien := lock("alien")
	w.queue(alien, w.sessions(2)...)
	w.create(kept, alien+"/README", "", 0)
	persistent := lock("persistent")
	w.watch(w.session(), w.create(kept, persistent+"/"+w.kazoo(), "old", zk.FlagSequence))
	mixed := lock("mixed")
	w.queue(mixed, w.session())
	w.create(w.session(), mixed+"/_c_"+strings.Repeat("ab", 16)+"-lock-", "", zk.FlagEphemeral|zk.FlagSequence)
	unwatched := lock("unwatched")
	w.queue(unwatched, w.session())
	w.queue(unwatched, w.session())
	many := w.sessions(12)
	nodes := w.queue(lock("herd"), many...)
	for _, s := range many[1:] {
		w.watch(s, nodes[0])
	}
	a, b := w.session(), w.session()
	left, right := lock("left"), lock("right")
	l, r := w.queue(left, a), w.queue(right, b)
	w.create(b, left+"/"+w.kazoo(), "client", zk.FlagEphemeral|zk.FlagSequence)
	w.watch(b, l[0])
	w.create(a, right+"/"+w.kazoo(), "client", zk.FlagEphemeral|zk.FlagSequence)
	w.watch(a, r[0])
	c := w.session()
	w.queue(lock("self"), c, c)
	w.create(c, lock("wrap")+"/"+w.kazoo()+"2147483600", "", zk.FlagEphemeral)
	semaphore := w.create(kept, root+"/semaphore", "2", 0)
	w.queue(w.create(kept, root+"/semaphore-__lock__", "", 0), w.session())
	for i, s := range w.sessions(3) {
		w.create(s, fmt.Sprintf("%s/0c4f1b2e9d8a4f6fb1f0a7c3d5e6%04x", semaphore, i), "client", zk.FlagEphemeral)
	}
	return map[string][]string{
		"alien": {"alien-child"}, "persistent": {"persistent-contender"}, "mixed": {"missing-watch", "mixed-recipes"},
		"unwatched": {"missing-watch"}, "herd": {"herd"}, "left": {"deadlock"}, "right": {"deadlock"},
		"self": {"self-wait"}, "wrap": {"sequence-wrap"}, "semaphore": {"semaphore-overcommit"},
	}
}

// diagnosis is the result of doctor: its rules, by lock or backend, and its output.
type diagnosis struct {
	code  int
	rules map[string][]string
	all   []reportedFinding
}

type reportedFinding struct {
	on                    string
	Rule, Message, Advice string
	Severity, Confidence  string
	Evidence              map[string]any
	Steps                 []inspect.Step
	Muted                 *inspect.Muted
}

func doctor(t *testing.T, args ...string) diagnosis {
	t.Helper()
	got := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
	d := diagnosis{code: got.code, rules: map[string][]string{}}
	s := parse(t, got.stdout)
	add := func(on string, findings []reportedFinding) {
		for _, f := range findings {
			if !slices.Contains(d.rules[on], f.Rule) {
				d.rules[on] = append(d.rules[on], f.Rule)
			}
			f.on = on
			d.all = append(d.all, f)
			if f.Message == "" || f.Advice == "" || len(f.Evidence) == 0 {
				t.Errorf("%s: %s has no message, evidence or advice: %+v", on, f.Rule, f)
			}
		}
		slices.Sort(d.rules[on])
	}
	for _, b := range s.Backends {
		add("backend "+b.Name, b.Findings)
	}
	for _, l := range s.Locks {
		add(l.ID, l.Findings)
	}
	maps.DeleteFunc(d.rules, func(_ string, rules []string) bool { return len(rules) == 0 })
	return d
}

func (d diagnosis) want(t *testing.T, code int, prefix string, want map[string][]string) {
	t.Helper()
	prefixed := map[string][]string{}
	for name, rules := range want {
		if !strings.HasPrefix(name, "backend ") {
			name = prefix + name
		}
		prefixed[name] = rules
	}
	if diff := cmp.Diff(prefixed, d.rules); diff != "" || d.code != code {
		t.Errorf("exit code %d, want %d; findings (-want +got):\n%s", d.code, code, diff)
	}
}

func TestDoctorFindsZooKeeperFaults(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	killed := servertest.StartKazoo(t, server.Addr, "/dead/orders", "worker")
	killed.Expect(t, "acquired")
	w := &brokenServer{t: t, addr: server.Addr}
	want := w.breakZooKeeper("/ward")
	target := "zk://" + server.Addr + "/ward"
	open := target + "?admin=" + server.Admin
	doctor(t, open).want(t, 1, "zk:/ward/", want)

	t.Run("stuck", func(t *testing.T) {
		only := "zk://" + server.Addr + "/ward/healthy?admin=" + server.Admin
		doctor(t, only, "--stuck-after", "1h").want(t, 0, "zk:/ward/", nil)
		doctor(t, only, "--stuck-after", "1ms").want(t, 1, "zk:/ward/", map[string][]string{"healthy": {"stuck-holder"}})
		below := doctor(t, only, "--stuck-after", "1ms", "--fail-on", "critical")
		must.Equal(t, below.code, 0, "a warning below the threshold: exit code")
	})
	t.Run("closed", func(t *testing.T) {
		closed := &brokenServer{t: t, addr: server.Addr}
		door := closedDoor(t, server.Addr)
		root := closed.create(closed.session(), "/closed", "", 0)
		unwatched := closed.create(closed.conns[0], root+"/unwatched", "", 0)
		closed.queue(unwatched, closed.conns[0])
		closed.queue(unwatched, closed.session())
		d := doctor(t, "zk://"+door+root)
		rules := d.rules["zk:/closed/unwatched"]
		if !slices.Equal(rules, []string{"blind"}) || d.code != 0 {
			t.Errorf("exit code %d, %v; want blind only", d.code, d.rules)
		}
	})
	t.Run("dead", func(t *testing.T) {
		target := "zk://" + server.Addr + "/dead?admin=" + server.Admin
		must.Become(t, "a contender is of some age", func() bool {
			age := parse(t, run(t, "ls", "-o", "json", target).stdout).lock(t, "zk:/dead/orders").Holders[0].Age
			return age != nil && *age > 5500
		})
		killed.Kill()
		d := doctor(t, target)
		for end := time.Now().Add(time.Minute); len(d.rules) == 0 && time.Now().Before(end); { // until the server notices the lost client
			d = doctor(t, target)
		}
		d.want(t, 1, "zk:/dead/", map[string][]string{"orders": {"ghost-owner"}})
		if advice := "wait for the session to time out"; len(d.all) != 1 || !strings.Contains(d.all[0].Advice, advice) {
			t.Fatalf("no advice %q: %+v", advice, d.all)
		}
		must.Become(t, "the finding is gone", func() bool {
			d = doctor(t, target)
			return len(d.rules) <= 0
		})
	})
}

// closedDoor is a proxy to a server that refuses every four-letter word.
func closedDoor(t *testing.T, addr string) string {
	t.Helper()
	return doorTo(t, func(client net.Conn) { pass(client, addr) })
}

// doorTo accepts clients until the test ends and passes each to enter.
func doorTo(t *testing.T, enter func(client net.Conn)) string {
	t.Helper()
	door := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := door.Accept()
			if err != nil {
				return
			}
			open.Go(func() { enter(client) })
		}
	})
	t.Cleanup(func() {
		door.Close()
		open.Wait()
	})
	return door.Addr().String()
}

func pass(client net.Conn, addr string) {
	defer client.Close()
	word := make([]byte, 4)
	if _, err := io.ReadFull(client, word); err != nil {
		return
	}
	if word[0] >= 'a' { // the first byte of a length is 0
		fmt.Fprintf(client, "%s is not executed because it is not in the whitelist.\n", word)
		return
	}
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(client, server)
		client.Close()
	}()
	if _, err := server.Write(word); err == nil {
		io.Copy(server, client)
	}
	server.Close()
	<-done
}

// timeReply matches Redis' reply to TIME: seconds and microseconds.
var timeReply = regexp.MustCompile(`\*2\r\n\$10\r\n(\d{10})\r\n\$\d\r\n`)

// clockAhead is a proxy to a Redis server that shows its clock a minute fast.
func clockAhead(t *testing.T, addr string) string {
	t.Helper()
	return doorTo(t, func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			io.Copy(server, client)
			server.Close()
		}()
		for answer := make([]byte, 64<<10); ; {
			n, err := server.Read(answer)
			for _, at := range timeReply.FindAllSubmatchIndex(answer[:n], -1) {
				seconds, _ := strconv.Atoi(string(answer[at[2]:at[3]])) // ten digits
				copy(answer[at[2]:], strconv.Itoa(seconds+60))
			}
			if _, writeErr := client.Write(answer[:n]); err != nil || writeErr != nil {
				break
			}
		}
		client.Close()
		server.Close()
		<-done
	})
}

// fairQueue is a Redisson fair lock whose first waiter is dead: its time has run out, and no client
// listens on its channel.
func fairQueue(t *testing.T, masters []*redis.Client) {
	t.Helper()
	holder, dead := "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:1", "1d4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60719:7"
	for _, m := range masters {
		ctx := t.Context()
		for _, err := range []error{
			m.HSet(ctx, "lock:fair", holder, 1).Err(), m.PExpire(ctx, "lock:fair", time.Minute).Err(),
			m.RPush(ctx, "redisson_lock_queue:{lock:fair}", dead).Err(),
			m.ZAdd(ctx, "redisson_lock_timeout:{lock:fair}", redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: dead}).Err(),
		} {
			must.Succeed(t, err)
		}
	}
}

func awaitUptime(t *testing.T, masters []*redis.Client, least time.Duration) {
	t.Helper()
	for _, m := range masters {
		for {
			info := must.Have(m.Info(t.Context(), "server").Result())(t)
			_, rest, _ := strings.Cut(info, "uptime_in_seconds:")
			text, _, _ := strings.Cut(rest, "\r")
			seconds := must.Have(strconv.Atoi(text))(t)
			if time.Duration(seconds)*time.Second >= least {
				break
			}
			time.Sleep(100 * time.Millisecond) // no event marks the server's clock
		}
	}
}
