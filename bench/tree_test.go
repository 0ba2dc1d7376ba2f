package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// tree is a cluster's worth of locks: a number of directories below /locks with a number of locks
// each. Every client has a contender in every lock.
type tree struct{ directories, locks int }

// large is 20,000 locks.
var large = tree{directories: 20, locks: 1000}

// plant makes the tree's locks as Curator writes them, a hundred nodes a request, with many requests in flight.
func (t tree) plant(b testing.TB, clients ...*zk.Conn) {
	b.Helper()
	acl := zk.WorldACL(zk.PermAll)
	dirs := []any{&zk.CreateRequest{Path: "/locks", Acl: acl}}
	var locks []any
	contenders := make([][]any, len(clients))
	for d := range t.directories {
		dir := fmt.Sprintf("/locks/team-%02d", d)
		dirs = append(dirs, &zk.CreateRequest{Path: dir, Acl: acl})
		for l := range t.locks {
			lock := t.path(d, l)
			locks = append(locks, &zk.CreateRequest{Path: lock, Acl: acl})
			for c := range clients {
				contenders[c] = append(contenders[c], &zk.CreateRequest{
					Path: t.name(d, l, c), Data: []byte("10.0.0.1"), Acl: acl, Flags: zk.FlagEphemeralSequential,
				})
			}
		}
	}
	inMultis(b, clients[0], dirs)
	inMultis(b, clients[0], locks)
	for c, client := range clients {
		inMultis(b, client, contenders[c])
	}
}

// name returns a client's contender path in a lock, without the number that the server adds.
func (t tree) name(directory, lock, client int) string {
	return fmt.Sprintf("%s/_c_%08x-0000-4000-8000-%012x-lock-", t.path(directory, lock), directory*t.locks+lock, client)
}

func (t tree) path(directory, lock int) string {
	return fmt.Sprintf("/locks/team-%02d/job-%04d", directory, lock)
}

// watch makes each contender but the first of a lock watch the one before it, as Curator does.
func (t tree) watch(b testing.TB, clients []*zk.Conn) {
	b.Helper()
	for c := 1; c < len(clients); c++ {
		paths := make([]string, 0, t.directories*t.locks)
		for d := range t.directories {
			for l := range t.locks {
				paths = append(paths, fmt.Sprintf("%s%010d", t.name(d, l, c-1), c-1))
			}
		}
		pipelined(b, 64, paths, func(_ int, path string) error {
			_, _, _, err := clients[c].GetW(path)
			return err
		})
	}
}

// inMultis sends changes, a hundred a request, several requests at a time.
func inMultis(b testing.TB, conn *zk.Conn, changes []any) {
	b.Helper()
	const most = 100
	batches := make([]string, (len(changes)+most-1)/most)
	pipelined(b, 4, batches, func(i int, _ string) error {
		_, err := conn.Multi(changes[i*most : min((i+1)*most, len(changes))]...)
		return err
	})
}

// startLarge starts a server with the large tree of five clients.
func startLarge(b *testing.B) (server *servertest.ZooKeeper, clients []*zk.Conn) {
	b.Helper()
	server = servertest.StartZooKeeper(b)
	for range 5 {
		clients = append(clients, connect(b, server.Addr))
	}
	large.plant(b, clients...)
	large.watch(b, clients)
	return server, clients
}

// observeLarge runs the observer of a screen until end is called.
func observeLarge(ctx context.Context, addr string) (observer *inspect.Observer, end func()) {
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{addr}, Roots: []string{"/locks"}})
	observer = inspect.NewObserver(time.Now, source)
	observer.Diagnose(finding.Rules(), 10*time.Minute)
	return observer, run(ctx, observer)
}

// run runs an observer until end is called.
func run(ctx context.Context, observer *inspect.Observer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		observer.Run(ctx)
		close(ended)
	}()
	return func() { cancel(); <-ended }
}

// BenchmarkLargeZooKeeper reads 20,000 locks of five contenders each in 20 directories, with the
// default budgets. It measures ls as its own program, and the observer of a screen.
func BenchmarkLargeZooKeeper(b *testing.B) {
	server, clients := startLarge(b)
	b.Run("ls-json", func(b *testing.B) { listAsJSON(b, server.Addr) })
	b.Run("screen", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(0, "ns/op")
			before := heap()
			w := watchLarge(b, server.Addr, len(clients))
			b.ReportMetric(w.first.Seconds()*1000, "first-ms")
			b.ReportMetric(w.listed.Seconds(), "listed-s")
			b.ReportMetric(w.complete.Seconds(), "complete-s")
			b.ReportMetric(float64(w.heap-before)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(w.watches), "watches")
			b.ReportMetric(w.requests, "requests-at-rest/s")
			b.ReportMetric(w.processor, "%processor-at-rest")
		}
	})
}

// buildProgram builds lockscope and returns its path.
func buildProgram(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "lockscope")
	if text, err := exec.Command("go", "build", "-C", "..", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	return program
}

// listAsJSON runs ls -o json, within its default budget, as its own program.
func listAsJSON(b *testing.B, addr string) {
	b.Helper()
	program := buildProgram(b)
	for b.Loop() {
		ls := exec.Command(program, "ls", "zk://"+addr+"/locks", "-o", "json")
		ls.Stderr = os.Stderr
		must.Succeed(b, ls.Run())
		used := ls.ProcessState.SysUsage().(*syscall.Rusage)
		b.ReportMetric((ls.ProcessState.UserTime() + ls.ProcessState.SystemTime()).Seconds(), "processor-s")
		b.ReportMetric(float64(used.Maxrss)/1024, "MiB")
	}
}

// largeWatch has the times until the first lock is listed, until all are listed with their queue
// lengths, and until all contenders are read. The other fields are the load from then on.
type largeWatch struct {
	first, listed, complete time.Duration
	heap                    uint64
	watches                 int
	requests, processor     float64
}

func watchLarge(b *testing.B, addr string, contenders int) (w largeWatch) {
	b.Helper()
	start := time.Now()
	observer, end := observeLarge(b.Context(), addr)
	defer end()
	sub := observer.Subscribe()
	defer sub.Close()
	lengths, read := map[inspect.ID]bool{}, map[inspect.ID]bool{}
	locks := large.directories * large.locks
	for w.complete == 0 {
		s := must.Have(sub.Next(b.Context()))(b)
		for _, id := range s.Changed {
			l := s.Lock(id)
			if l == nil || l.Contention() != contenders {
				continue
			}
			lengths[id] = true
			if l.Waiters[contenders-2].Owner.Session != 0 {
				read[id] = true
			}
		}
		now := time.Since(start)
		if w.first == 0 && s.Len() > 0 {
			w.first = now
		}
		if w.listed == 0 && len(lengths) == locks {
			w.listed = now
		}
		if len(read) == locks {
			w.complete = now
		}
	}
	time.Sleep(10 * time.Second) // for the rules, and for the work left over from the first pass
	w.heap = heap()
	debug.FreeOSMemory() // otherwise the runtime frees the look's memory during the measurement
	used, before := processTime(), zkPackets(b, addr)
	time.Sleep(atRest) // the measured span
	w.requests = (zkPackets(b, addr) - before) / atRest.Seconds()
	w.processor = 100 * (processTime() - used).Seconds() / atRest.Seconds()
	w.watches = observer.Snapshot().Backends[0].Cost.Watches
	return w
}

// heap returns the bytes in use after two collections: a sync.Pool survives the first.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
