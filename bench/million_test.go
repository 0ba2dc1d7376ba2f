package bench

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/zksource"
	zkwire "lockscope/internal/connect"
	"lockscope/internal/servertest"
)

var withMillion = flag.Bool("million", false, "run BenchmarkMillion, which takes minutes and 6 GB")

// million contenders in 100,000 locks, each waiter watching the one before it.
var (
	million        = tree{directories: 100, locks: 1000}
	millionClients = 10
)

// The environment of a process that hands locks over: see churn.
const churnAddr, churnTime = "LOCKSCOPE_BENCH_CHURN_ADDR", "LOCKSCOPE_BENCH_CHURN_TIME"

// changesPerSecond of that process: half of them end a holder, half make a contender.
const changesPerSecond = 10_000

// BenchmarkMillion watches 100,000 locks with a million contenders, with the rules: the time until all are read without a
// budget, beside bare multiReads of the same, memory, and the load at rest; ls -o json, by its default budget; then the same while another process makes
// 10,000 changes a second, at the end of which every lock must be as the server has it. by-default-budget is the first time
// by the screen's budget.
func BenchmarkMillion(b *testing.B) {
	if !*withMillion {
		b.Skip("SKIPPED: it takes minutes and 6 GB: go test -run xxx -bench Million -benchtime 1x . -million")
	}
	server := servertest.StartLargeZooKeeper(b, 5000)
	var clients []tapped
	var conns []*zk.Conn
	for range millionClients {
		clients = append(clients, tap(b, server.Addr))
		conns = append(conns, clients[len(clients)-1].Conn)
	}
	million.plant(b, conns...)
	million.watchAtOnce(b, clients)
	b.Run("bare-multiread", func(b *testing.B) {
		conn := tap(b, server.Addr)
		for b.Loop() {
			conn.bareReads(b, million.paths())
		}
	})
	b.Run("ls-json", func(b *testing.B) { listAsJSON(b, server.Addr) })
	b.Run("watched", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(0, "ns/op")
			w := watchMillion(b, server.Addr, zksource.Budget{Unlimited: true})
			w.atRest(b)
			w.end()
		}
	})
	b.Run("changing", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(0, "ns/op")
			w := watchMillion(b, server.Addr, zksource.Budget{Unlimited: true})
			w.underChanges(b)
			w.end()
		}
	})
	b.Run("by-default-budget", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(0, "ns/op")
			watchMillion(b, server.Addr, zksource.Budget{}).end()
		}
	})
}

func (t tree) paths() (paths []string) {
	for d := range t.directories {
		for l := range t.locks {
			paths = append(paths, t.path(d, l))
		}
	}
	return paths
}

// watchAtOnce has each contender but the first of a lock watch the one before it, a thousand in a request: that by which a
// client has its watches set anew on another server (SetWatches).
func (t tree) watchAtOnce(b testing.TB, clients []tapped) {
	b.Helper()
	const most, opSetWatches = 1000, 101
	for c := 1; c < len(clients); c++ {
		paths := t.paths()
		for i := range paths {
			paths[i] = fmt.Sprintf("%s%010d", t.name(i/t.locks, i%t.locks, c-1), c-1)
		}
		for len(paths) > 0 {
			n := min(most, len(paths))
			body := binary.BigEndian.AppendUint64(nil, 1<<62) // nothing changed since then
			body = zkwire.AppendInt(body, int32(n))
			for _, p := range paths[:n] {
				body = zkwire.AppendString(body, p)
			}
			body = zkwire.AppendInt(zkwire.AppendInt(body, 0), 0) // no watch for existence, none for children
			paths = paths[n:]
			answered := make(chan error, 1)
			clients[c].tap.Send(clients[c].SessionID(), func(_ int, r zkwire.Reply) { answered <- r.Err },
				zkwire.Request{Op: opSetWatches, Body: body})
			if err := <-answered; err != nil {
				b.Fatal(err)
			}
		}
	}
}

// millionWatch is an observer of all of them.
type millionWatch struct {
	addr     string
	observer *inspect.Observer
	sub      *inspect.Subscription
	end      func()
}

func watchMillion(b *testing.B, addr string, budget zksource.Budget) *millionWatch {
	b.Helper()
	before := heap()
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{addr}, Roots: []string{"/locks"}, Budget: budget})
	w := &millionWatch{addr: addr, observer: inspect.NewObserver(time.Now, source)}
	w.observer.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	start, used := time.Now(), processTime()
	go func() {
		w.observer.Run(ctx)
		close(ended)
	}()
	w.sub = w.observer.Subscribe()
	w.end = func() { w.sub.Close(); cancel(); <-ended }
	read := map[inspect.ID]bool{}
	for s := w.observer.Snapshot(); len(read) < million.directories*million.locks; {
		for _, id := range s.Changed {
			if l := s.Lock(id); l != nil && len(l.Waiters) == millionClients-1 && l.Waiters[millionClients-2].Owner.Session != 0 {
				if len(read) == 0 {
					b.ReportMetric(time.Since(start).Seconds()*1000, "first-ms")
				}
				read[id] = true
			}
		}
		next, err := w.sub.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		s = next
	}
	b.ReportMetric(time.Since(start).Seconds(), "complete-s")
	b.ReportMetric((processTime() - used).Seconds(), "processor-s")
	read = nil
	contenders := float64(million.directories * million.locks * millionClients)
	b.ReportMetric(float64(heap()-before)/contenders, "bytes/contender")
	return w
}

func (w *millionWatch) requests() uint64 { return w.observer.Snapshot().Backends[0].Cost.Requests }

func (w *millionWatch) atRest(b *testing.B) {
	time.Sleep(10 * time.Second) // what a first pass leaves to do is done
	used, before := processTime(), zkPackets(b, w.addr)
	// the span that is measured
	time.Sleep(atRest)
	b.ReportMetric((zkPackets(b, w.addr)-before)/atRest.Seconds(), "packets-at-rest/s") // with the ten clients' heartbeats
	b.ReportMetric(100*(processTime()-used).Seconds()/atRest.Seconds(), "%processor-at-rest")
}

// underChanges has another process change the locks, and demands that the picture is right afterwards.
func (w *millionWatch) underChanges(b *testing.B) {
	b.Helper()
	const d = 15 * time.Second
	before, used := w.requests(), processTime()
	changes, end := startChurn(b, w.addr, d)
	defer end()
	made := changes()
	over := time.Now()
	b.ReportMetric(float64(made)/d.Seconds(), "changes/s")
	b.ReportMetric(100*(processTime()-used).Seconds()/d.Seconds(), "%processor-changing")
	conn := tap(b, w.addr)
	paths := million.paths()
	for {
		now := time.Now()
		held := conn.queues(b, paths)
		wrong, s := 0, w.observer.Snapshot()
		for p, names := range held {
			if !slices.Equal(names, contendersOf(s.Lock(inspect.ID{Backend: "s", Path: p}))) {
				wrong++
			}
		}
		if wrong == 0 {
			b.ReportMetric(now.Sub(over).Seconds(), "right-after-s")
			break
		}
		if time.Since(over) > 2*time.Minute {
			b.Fatalf("%d locks are not shown as the server has them", wrong)
		}
		time.Sleep(time.Second) // a comparison takes the processor that is measured
	}
	b.ReportMetric(float64(w.requests()-before)/float64(made), "requests/change")
}

// contendersOf names the contenders that are shown of a lock, in the order of its queue.
func contendersOf(l *inspect.Lock) (names []string) {
	if l == nil {
		return nil
	}
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			names = append(names, list[i].Name.Raw())
		}
	}
	return names
}

// queues are the contenders of locks as the server has them, in order.
func (t tapped) queues(b testing.TB, dirs []string) map[string][]string {
	b.Helper()
	lists := make([]zkwire.Read, len(dirs))
	for i, dir := range dirs {
		lists[i] = zkwire.Read{Path: dir, Children: true}
	}
	all := make(map[string][]string, len(dirs))
	var mu sync.Mutex
	t.readAll(b, lists, func(at int, results []zkwire.ReadResult) {
		mu.Lock()
		defer mu.Unlock()
		for i, res := range results {
			slices.SortFunc(res.Names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
			all[lists[at+i].Path] = res.Names
		}
	})
	return all
}

// startChurn has another process change locks for so long. changes awaits its end and returns how many changes it made; the
// contenders that it made stay until end.
func startChurn(b *testing.B, addr string, d time.Duration) (changes func() int, end func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), churnAddr+"="+addr, churnTime+"="+d.String())
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	changes = func() (n int) {
		if _, err := fmt.Fscan(out, &n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	return changes, func() {
		hold.Close()
		cmd.Wait()
	}
}

// churn has the holders of locks leave and others join the ends of their queues, ten locks in a transaction, and prints the
// number of changes. What it made stays until its input ends.
func churn(addr string, d time.Duration) error {
	const each, workers = 10, 8
	paths := million.paths()
	start, done := time.Now(), make(chan error, workers)
	var mu sync.Mutex
	total := 0
	for w := range workers {
		conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogInfo(false))
		if err != nil {
			return err
		}
		defer conn.Close()
		go func() {
			for range events { // until Close
			}
		}()
		go func() {
			queues := make(map[int][]string) // of locks that were changed, their present contenders
			beat := time.NewTicker(time.Second * 2 * each * workers / changesPerSecond)
			defer beat.Stop()
			n := 0
			for i := w; time.Since(start) < d; <-beat.C {
				var transaction []any
				var locks []int
				for range each {
					i = (i + workers*37) % len(paths) // never another worker's
					if queues[i] == nil {
						for c := range millionClients {
							queues[i] = append(queues[i], fmt.Sprintf("%s%010d", million.name(i/million.locks, i%million.locks, c), c))
						}
					}
					locks = append(locks, i)
					transaction = append(transaction, &zk.DeleteRequest{Path: queues[i][0], Version: -1}, &zk.CreateRequest{
						Path: million.name(i/million.locks, i%million.locks, w), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeralSequential,
					})
				}
				results, err := conn.Multi(transaction...)
				if err != nil {
					done <- err
					return
				}
				for k, i := range locks {
					queues[i] = append(queues[i][1:], results[2*k+1].String)
				}
				n += len(transaction)
			}
			mu.Lock()
			total += n
			mu.Unlock()
			done <- nil
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			return err
		}
	}
	fmt.Println(total)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
