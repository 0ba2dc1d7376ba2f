package bench

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// These variables make the test binary run as another program (see neighbour) or as a screen (see
// startScreen).
const (
	neighbourAddr = "LOCKSCOPE_BENCH_NEIGHBOUR_ADDR"
	screenAddr    = "LOCKSCOPE_BENCH_SCREEN_ADDR"
)

var yieldBy = flag.String("yield", "nice -n 19",
	"the command that lowers the priority of observers in BenchmarkNeighbour")

// BenchmarkNeighbour measures how lockscope slows another program that reads from a ZooKeeper 500
// times a second. The server has 20,000 locks of five contenders. The program first runs alone,
// then while all locks are read once, then while a screen watches them. The benchmark also reports
// the server's processor time for a look, without the other program's share. Observers run at a
// lower priority (-yield), as if on another machine.
func BenchmarkNeighbour(b *testing.B) {
	server, _ := startLarge(b)
	program := buildProgram(b)
	for name, look := range map[string]func(b *testing.B) (end func()){ // nil: it does not watch
		"screen": func(b *testing.B) (end func()) { return startScreen(b, server.Addr) },
		"ls": func(b *testing.B) (end func()) {
			cmd := yielding(exec.Command(program, "ls", "zk://"+server.Addr+"/locks", "-o", "json"))
			must.Succeed(b, cmd.Run())
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			for b.Loop() {
				feel(b, server, func() (end func()) { return look(b) })
			}
		})
	}
}

// feel reports the effect of a look on another program, in rounds.
func feel(b *testing.B, server *servertest.ZooKeeper, look func() (end func())) {
	b.Helper()
	const rounds, d = 4, 5 * time.Second
	n := startNeighbour(b, server.Addr)
	var alone, looking, watching []span
	var took []time.Duration
	var spent, idle float64
	during := func(spans *[]span, what func()) (used float64) {
		began, before := time.Now(), server.ProcessorTime(b)
		what()
		*spans = append(*spans, span{began, time.Now()})
		return (server.ProcessorTime(b) - before).Seconds()
	}
	for range rounds {
		idle += during(&alone, func() { time.Sleep(d) }) // a measured span
		var end func()
		spent += during(&looking, func() { end = look() })
		took = append(took, looking[len(looking)-1].to.Sub(looking[len(looking)-1].from))
		if end != nil {
			time.Sleep(d) // for the rules, and for the work left over from the first pass
			// another measured span
			during(&watching, func() { time.Sleep(d) })
			end()
		}
	}
	samples := n.end(b)
	slices.Sort(took)
	total := 0.0
	for _, t := range took {
		total += t.Seconds()
	}
	b.ReportMetric(took[len(took)/2].Seconds(), "look-s")
	b.ReportMetric((spent-idle*total/(rounds*d.Seconds()))/rounds, "server-s/look")
	for _, when := range []struct {
		what  string
		spans []span
	}{{"alone", alone}, {"look", looking}, {"watched", watching}} {
		var times []time.Duration
		for _, s := range samples {
			if slices.ContainsFunc(when.spans, func(t span) bool { return !s.at.Before(t.from) && s.at.Before(t.to) }) {
				times = append(times, s.took)
			}
		}
		if len(when.spans) > 0 {
			report(b, when.what, times)
		}
	}
}

type span struct{ from, to time.Time }

// yielding makes a command yield to all others, as if it had its own machine.
func yielding(cmd *exec.Cmd) *exec.Cmd {
	cmd.Stderr = os.Stderr
	by := strings.Fields(*yieldBy)
	cmd.Args = append(append(by, cmd.Path), cmd.Args[1:]...)
	cmd.Path, cmd.Err = exec.LookPath(by[0])
	return cmd
}

// startScreen starts a process that watches all locks within the default budget and runs the rules.
// It returns once all have been read.
func startScreen(b *testing.B, addr string) (end func()) {
	b.Helper()
	cmd := yielding(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), screenAddr+"="+addr)
	hold := must.Have(cmd.StdinPipe())(b)
	out := must.Have(cmd.StdoutPipe())(b)
	must.Succeed(b, cmd.Start())
	must.Have(fmt.Fscanln(out))(b)
	return func() {
		hold.Close()
		must.Be(b, cmd.Wait(), nil)
	}
}

// beScreen is that process: it prints an empty line once everything has been read, and ends when
// its input does.
func beScreen(addr string) error {
	ctx, cancel := context.WithCancel(context.Background())
	observer, end := observeLarge(ctx, addr)
	defer end()
	defer cancel()
	sub := observer.Subscribe()
	defer sub.Close()
	printed := make(chan error, 1)
	go func() {
		for looked := false; ; {
			s, err := sub.Next(ctx)
			if err != nil {
				return
			}
			if !looked && len(s.Backends) > 0 && s.Backends[0].FirstPass {
				looked = true
				_, err := fmt.Println()
				printed <- err
			}
		}
	}()
	if err := <-printed; err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// sample is one read of another program.
type sample struct {
	at   time.Time
	took time.Duration
}

// neighbour is another program that reads from a server.
type neighbour struct {
	cmd  *exec.Cmd
	hold io.Closer
	out  io.Reader
}

func startNeighbour(b *testing.B, addr string) *neighbour {
	b.Helper()
	n := &neighbour{cmd: exec.Command(os.Args[0])}
	n.cmd.Env = append(os.Environ(), neighbourAddr+"="+addr)
	n.cmd.Stderr = os.Stderr
	n.hold, n.out = must.Have(n.cmd.StdinPipe())(b), must.Have(n.cmd.StdoutPipe())(b)
	must.Succeed(b, n.cmd.Start())
	return n
}

// end ends the program, and returns its reads.
func (n *neighbour) end(b *testing.B) (samples []sample) {
	b.Helper()
	n.hold.Close()
	for {
		var at, took int64
		if _, err := fmt.Fscanln(n.out, &at, &took); err == io.EOF {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		samples = append(samples, sample{time.Unix(0, at), time.Duration(took)})
	}
	must.Succeed(b, n.cmd.Wait())
	return samples
}

// beNeighbour is that program. When its input ends it prints the start of each read, in nanoseconds
// of Unix time, and how many nanoseconds it took.
func beNeighbour(addr string) error {
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
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	var samples []sample
	beat := time.NewTicker(2 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case err := <-ended:
			out := bufio.NewWriter(os.Stdout)
			for _, s := range samples {
				fmt.Fprintln(out, s.at.UnixNano(), s.took.Nanoseconds())
			}
			return errors.Join(err, out.Flush())
		case <-beat.C:
		}
		start := time.Now()
		if _, _, err := conn.Exists("/locks"); err != nil {
			return err
		}
		samples = append(samples, sample{start, time.Since(start)})
	}
}
