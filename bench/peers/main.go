// Command peers compares lockscope with its peers in one table. It runs the benchmarks in the
// parent directory, where all take turns on the same servers:
//
//	make bench-peers
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
)

// measure is a row: two figures of one benchmark, and our goal for their ratio.
type measure struct {
	name       string
	benchmark  string
	unit       string
	ours, peer string // the names of the figures, without the unit
	goal       goal
}

// goal for the ratio of our figure to the peer's, or for our figure alone; zero means no goal.
type goal struct {
	atMost, atLeast, oursAtLeast float64
}

const (
	microseconds = "p50-µs"
	grants       = "changes/s"
)

var measures = []measure{
	{"ZooKeeper mutex alone", "ZKLockAlone/0s", microseconds, "lockscope", "floor", goal{atMost: 1.15}},
	{"ZooKeeper mutex alone", "ZKLockAlone/0s", microseconds, "lockscope", "go-zookeeper", goal{}},
	{"ZooKeeper mutex, 8 clients", "ZKLockContended/0s/8", grants, "lockscope", "go-zookeeper", goal{atLeast: 1.05}},
	{"ZooKeeper mutex, 64 clients", "ZKLockContended/0s/64", grants, "lockscope", "go-zookeeper", goal{atLeast: 1.05}},
	{"Redis mutex alone", "RedisLockAlone", microseconds, "lockops", "redislock", goal{atMost: 1.05}},
	{"Redis mutex, 8 clients", "RedisLockContended/8", grants, "lockops", "rueidislock", goal{atLeast: 1.2}},
	{"Redis mutex, 64 clients", "RedisLockContended/64", grants, "lockops", "rueidislock", goal{atLeast: 1.2}},
	{"Redis fair mutex, 8 clients", "RedisLockContended/8", grants, "lockops-fair", "bare-hand-off", goal{atLeast: 0.6}},
	{"Redis fair mutex, 64 clients", "RedisLockContended/64", grants, "lockops-fair", "bare-hand-off", goal{atLeast: 0.6}},
	{"Redlock of five alone", "RedlockAlone", microseconds, "lockops", "floor", goal{atMost: 1.4}},
	{"Redlock of five alone", "RedlockAlone", microseconds, "lockops", "redsync", goal{}},
	{"Redlock of five, 8 clients", "RedlockContended/8", grants, "lockops", "redsync", goal{oursAtLeast: 500}},
	{"Redlock of five, 64 clients", "RedlockContended/64", grants, "lockops", "redsync", goal{oursAtLeast: 1000}},
	{"Redis discovery, 3 masters", "RedisDiscovery", "ms", "lockscope", "scan", goal{atMost: 1.05}},
}

// modules are the peers' modules; peers without one send bare requests.
var modules = map[string]string{
	"go-zookeeper": "github.com/go-zookeeper/zk", "redislock": "github.com/bsm/redislock",
	"rueidislock": "github.com/redis/rueidis", "redsync": "github.com/go-redsync/redsync/v4",
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	versions, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var out bytes.Buffer
	bench := exec.Command("go", "test", "-run", "^$", "-benchtime", "1x", "-timeout", "10m", "-bench",
		`^BenchmarkZKLock(Alone|Contended)$/^0s$|^Benchmark(Redis|Red)[lL]ock(Alone|Contended)$|^BenchmarkRedisDiscovery$`, ".")
	bench.Stdout, bench.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := bench.Run(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return table(os.Stdout, figures(&out), strings.Fields(string(versions)))
}

// figures parses go test's output into figures by benchmark and unit.
func figures(r io.Reader) map[string]map[string]float64 {
	all := make(map[string]map[string]float64)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 { // the number of processors
			name = name[:at]
		}
		all[name] = make(map[string]float64)
		for i := 2; i+1 < len(words); i += 2 {
			if v, err := strconv.ParseFloat(words[i], 64); err == nil {
				all[name][words[i+1]] = v
			}
		}
	}
	return all
}

// table prints the measures; it is an error if one of them is missing.
func table(w io.Writer, figures map[string]map[string]float64, versions []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "measure\tunit\tours\tpeer\t\tratio\tour goal\tmet")
	for _, m := range measures {
		of := figures[m.benchmark]
		ours, peer := of[m.ours+"-"+m.unit], of[m.peer+"-"+m.unit]
		if ours == 0 || peer == 0 {
			return fmt.Errorf("%s: no figure for %s or %s", m.benchmark, m.ours, m.peer)
		}
		text, met := m.goal.judge(ours, peer)
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%s\t%.2f\t%s\t%s\n",
			m.name, m.unit, ours, peer, versioned(m.peer, versions), ours/peer, text, met)
	}
	return t.Flush()
}

func (g goal) judge(ours, peer float64) (text, met string) {
	is := false
	switch {
	case g.atMost > 0:
		text, is = fmt.Sprintf("≤ %v ×", g.atMost), ours/peer <= g.atMost
	case g.atLeast > 0:
		text, is = fmt.Sprintf("≥ %v ×", g.atLeast), ours/peer >= g.atLeast
	case g.oursAtLeast > 0:
		text, is = fmt.Sprintf("≥ %v", g.oursAtLeast), ours >= g.oursAtLeast
	default:
		return "none", ""
	}
	if is {
		return text, "yes"
	}
	return text, "no"
}

// versioned returns a peer with its version, which follows its module's path in the list.
func versioned(peer string, versions []string) string {
	for i, path := range versions[:max(0, len(versions)-1)] {
		if path == modules[peer] {
			return peer + " " + versions[i+1]
		}
	}
	return peer + " (bare requests)"
}
