package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

const (
	hotFor  = 5 * time.Second
	hotLock = "/hot"
	// watchEnv has this program watch the server that it names, in place of the benchmarks.
	watchEnv = "LOCKSCOPE_BENCH_WATCH"
)

// BenchmarkHotLock hands a lock over as fast as the server can for five seconds and reports the cost of watching it, with
// the budget of the terminal UI, in a process of its own: requests, and processor time by the kernel's account. The end
// state must be right.
func BenchmarkHotLock(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	handOver := hotQueue(b, connect(b, server.Addr))
	w := startWatcher(b, server.Addr)
	for w.newest().Holder == "" {
		time.Sleep(time.Millisecond) // the watcher is another process
	}
	for b.Loop() {
		before := w.newest()
		n, last, start := 0, "", time.Now()
		for ; time.Since(start) < hotFor; n++ {
			last = handOver()
		}
		took, after := time.Since(start), w.newest()
		b.ReportMetric(float64(w.settle(last).Milliseconds()), "settled-ms")
		b.ReportMetric(float64(n)/took.Seconds(), "handovers/s")
		b.ReportMetric(float64(after.Requests-before.Requests)/took.Seconds(), "requests/s")
		b.ReportMetric(100*(after.CPU-before.CPU).Seconds()/took.Seconds(), "core-%")
	}
}

// hotQueue returns a function that has the head of a queue leave and another join its end, in one transaction, and
// returns the name of the next one.
func hotQueue(b *testing.B, conn *zk.Conn) func() string {
	acl := zk.WorldACL(zk.PermAll)
	if _, err := conn.Create(hotLock, nil, 0, acl); err != nil {
		b.Fatal(err)
	}
	joins := 0
	join := func() *zk.CreateRequest {
		joins++
		return &zk.CreateRequest{
			Path: fmt.Sprintf("%s/%032x__lock__", hotLock, joins), Acl: acl, Flags: zk.FlagEphemeralSequential,
		}
	}
	first, err := conn.Multi(join(), join(), join())
	if err != nil {
		b.Fatal(err)
	}
	queue := []string{first[0].String, first[1].String, first[2].String}
	return func() string {
		done, err := conn.Multi(&zk.DeleteRequest{Path: queue[0], Version: -1}, join())
		if err != nil {
			b.Fatal(err)
		}
		queue = append(queue[1:], done[1].String)
		return strings.TrimPrefix(queue[0], hotLock+"/")
	}
}

// observation is the lock as the watching process sees it, with the cost so far.
type observation struct {
	Holder   string
	Requests uint64
	CPU      time.Duration
}

// watchHotLock watches as the terminal UI does, and prints an observation for each line of its input, until that ends.
func watchHotLock(addr string) {
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{addr}, Roots: []string{hotLock}})
	observer := inspect.NewObserver(time.Now, source)
	observer.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		observer.Run(ctx)
		close(ended)
	}()
	go func() {
		sub := observer.Subscribe()
		defer sub.Close()
		for _, err := sub.Next(ctx); err == nil; {
			_, err = sub.Next(ctx)
		}
	}()
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		s := observer.Snapshot()
		saw := observation{CPU: processTime()}
		if len(s.Backends) > 0 {
			saw.Requests = s.Backends[0].Cost.Requests
		}
		if l := s.Lock(inspect.ID{Backend: "s", Path: hotLock}); l != nil && len(l.Holders) == 1 {
			saw.Holder = l.Holders[0].Name.Raw()
		}
		if answers.Encode(saw) != nil {
			break
		}
	}
	cancel()
	<-ended
}

// watcher is that process, from the benchmark's side.
type watcher struct {
	b       *testing.B
	ask     io.Writer
	answers *json.Decoder
}

func startWatcher(b *testing.B, addr string) *watcher {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), watchEnv+"="+addr)
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ask.Close()
		cmd.Wait()
	})
	return &watcher{b, ask, json.NewDecoder(answers)}
}

func (w *watcher) newest() (s observation) {
	if _, err := fmt.Fprintln(w.ask); err != nil {
		w.b.Fatal(err)
	}
	if err := w.answers.Decode(&s); err != nil {
		w.b.Fatal(err)
	}
	return s
}

// settle measures the time until the last holder is seen.
func (w *watcher) settle(last string) time.Duration {
	start := time.Now()
	for ; ; time.Sleep(time.Millisecond) {
		s := w.newest()
		if s.Holder == last {
			return time.Since(start)
		}
		if time.Since(start) > 10*time.Second {
			w.b.Fatalf("the end state is wrong: %s holds it, want %s", s.Holder, last)
		}
	}
}
