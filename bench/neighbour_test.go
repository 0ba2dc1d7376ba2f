package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// The environment of a process that is another program: see neighbour.
const neighbourAddr, neighbourTime = "LOCKSCOPE_BENCH_NEIGHBOUR_ADDR", "LOCKSCOPE_BENCH_NEIGHBOUR_TIME"

// BenchmarkNeighbour has another program read from a ZooKeeper of 20,000 locks of five contenders, 500 times a second,
// while nobody, the screen, ls, or a walk with bare reads one by one, looks at these again and again. It reports the other
// program's times, and the server's processor time for a look, the other program's share taken off.
func BenchmarkNeighbour(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	var clients []*zk.Conn
	for range 5 {
		clients = append(clients, connect(b, server.Addr))
	}
	large.plant(b, clients...)
	large.watch(b, clients)
	walker := connect(b, server.Addr)
	var idle float64 // processor time of the server a second, with the other program alone
	for _, who := range []struct {
		name string
		look func(ctx context.Context) // once
	}{
		{"nobody", nil},
		{"screen", func(ctx context.Context) { lookOnce(ctx, b, server.Addr, false) }},
		{"ls", func(ctx context.Context) { lookOnce(ctx, b, server.Addr, true) }},
		{"walk", func(ctx context.Context) { walk(ctx, b, walker) }},
	} {
		b.Run(who.name, func(b *testing.B) {
			for b.Loop() {
				const d = 15 * time.Second
				ctx, cancel := context.WithTimeout(b.Context(), d)
				answer := make(chan neighboured, 1)
				go func() { answer <- neighbour(server.Addr, d) }()
				looks, start, used := 0.0, time.Now(), server.ProcessorTime(b)
				took, spent := d, time.Duration(0) // of the looks that were finished
				for who.look != nil && ctx.Err() == nil {
					if who.look(ctx); ctx.Err() == nil {
						looks, took, spent = looks+1, time.Since(start), server.ProcessorTime(b)-used
					}
				}
				felt := <-answer
				cancel()
				if felt.err != nil {
					b.Fatal(felt.err)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(felt.p50, "p50-us")
				b.ReportMetric(felt.p99, "p99-us")
				if who.look == nil {
					idle = (server.ProcessorTime(b) - used).Seconds() / took.Seconds()
				} else if looks > 0 {
					b.ReportMetric(looks, "looks")
					b.ReportMetric((spent.Seconds()-idle*took.Seconds())/looks, "server-s/look")
				}
			}
		})
	}
}

// lookOnce reads all locks: as a screen does, until its first pass is done, or as a command does.
func lookOnce(ctx context.Context, b *testing.B, addr string, command bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{addr}, Roots: []string{"/locks"}, Once: command})
	err := source.Run(ctx, func(u inspect.Update) {
		if u.Backend != nil && u.Backend.FirstPass {
			cancel()
		}
	})
	if err != nil {
		b.Error(err)
	}
}

// walk reads all locks with 64 requests on their way, as programs do that know no request for many reads.
func walk(ctx context.Context, b *testing.B, conn *zk.Conn) {
	paths := []string{"/locks"}
	for level := 0; level < 3 && ctx.Err() == nil; level++ {
		below := make([][]string, len(paths))
		pipelined(b, 64, paths, func(i int, p string) error {
			if ctx.Err() != nil {
				return nil
			}
			names, _, err := conn.Children(p)
			for _, name := range names {
				below[i] = append(below[i], p+"/"+name)
			}
			return err
		})
		paths = slices.Concat(below...)
	}
	pipelined(b, 64, paths, func(_ int, p string) error {
		if ctx.Err() != nil {
			return nil
		}
		_, _, err := conn.Get(p)
		return err
	})
}

// neighboured holds how many microseconds half and 99 of 100 answers to another program took at most.
type neighboured struct {
	p50, p99 float64
	err      error
}

// neighbour has another program read from a server for so long.
func neighbour(addr string, d time.Duration) (n neighboured) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), neighbourAddr+"="+addr, neighbourTime+"="+d.String())
	out, err := cmd.Output()
	if err != nil {
		return neighboured{err: err}
	}
	_, n.err = fmt.Sscan(string(out), &n.p50, &n.p99)
	return n
}

// beNeighbour is the other program; it prints what neighbour returns.
func beNeighbour(addr string, d time.Duration) error {
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		for range events { // until Close
		}
	}()
	if _, _, err := conn.Exists("/"); err != nil {
		return err
	}
	var took []time.Duration
	beat := time.NewTicker(2 * time.Millisecond)
	defer beat.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-beat.C {
		start := time.Now()
		if _, _, err := conn.Exists("/locks"); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	fmt.Println(took[len(took)/2].Microseconds(), took[len(took)*99/100].Microseconds())
	return nil
}
