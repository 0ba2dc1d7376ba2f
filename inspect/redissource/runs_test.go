package redissource

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// TestRuns plays the scripts in testdata/runs; its README explains them. Each section begins with
// the lines before the first section.
func TestRuns(t *testing.T) {
	paths := must.Have(filepath.Glob("testdata/runs/*.txt"))(t)
	must.True(t, len(paths) > 0, "no runs")
	for _, path := range paths {
		sections := strings.Split(string(must.Have(os.ReadFile(path))(t)), "\n== ")
		for _, section := range sections[1:] {
			title, script, _ := strings.Cut(section, "\n")
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+title, func(t *testing.T) {
				p := &played{t: t}
				p.play(sections[0])
				p.play(script)
			})
		}
	}
}

// played is a run on masters that never answer by themselves. A script moves its clock, and says
// what happens.
type played struct {
	*run
	t       *testing.T
	source  *Source
	clock   atomic.Int64 // nanoseconds since noon
	emitted []inspect.Update
	asks    []string // requests sent since the script last looked
}

func (p *played) now() time.Time { return noon.Add(time.Duration(p.clock.Load())) }

// play plays lines of a script.
func (p *played) play(script string) {
	p.t.Helper()
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		subject, want, check := strings.Cut(strings.TrimSpace(line)+" ", ": ")
		switch at, err := strconv.ParseFloat(words[0], 64); {
		case err == nil:
			p.pass(at, len(words) > 1 && words[1] == "paused")
			if len(words) > 1 {
				p.do(words[1], words[2:])
			}
			p.turn()
		case check:
			got := strings.TrimSpace(p.shown(strings.Fields(subject)))
			must.Equal(p.t, got, strings.TrimSpace(want), subject)
		default:
			p.start(words[0], words[1:])
		}
	}
}

// start makes the run of a number of masters, or of a cluster with the slots of its masters, and
// its replicas.
func (p *played) start(kind string, words []string) {
	p.t.Helper()
	cfg := Config{Backend: "redis", Now: p.now, Timeout: time.Hour}
	n := len(words)
	if kind == "masters" {
		n = numberOf(p.t, words[0])
		p.configure(&cfg, words[1:])
	}
	ended := make(chan struct{})
	silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		return nil, context.Canceled
	}
	for i := range n {
		cfg.Addrs = append(cfg.Addrs, fmt.Sprintf("m%d", i))
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{"m"}, Dialer: silent})
	}
	p.source = New(cfg)
	stopped, stop := context.WithCancel(p.t.Context())
	stop()
	p.source.stall.Start(stopped)() // only the script marks the time
	ctx, cancel := context.WithCancel(p.t.Context())
	p.run = p.source.newRun(ctx, func(u inspect.Update) { p.emitted = append(p.emitted, u) }, p.source.masters())
	keys := redis.NewClient(&redis.Options{Dialer: silent})
	if kind == "cluster" {
		for _, m := range p.masters {
			m.Join(keys, nil)
		}
		p.cluster, p.table.topology = &cluster{}, slotsOf(p.t, words)
		voting := len(p.table.topology.masters)
		p.masters, p.replicas = p.masters[:voting], p.masters[voting:]
	}
	p.t.Cleanup(func() {
		cancel()
		close(ended)
		keys.Close()
		for _, m := range slices.Concat(p.masters, p.replicas) {
			m.Close()
		}
		p.tasks.Wait()
	})
}

func (p *played) configure(cfg *Config, options []string) {
	for _, option := range options {
		switch name, value, _ := strings.Cut(option, "="); name {
		case "once":
			cfg.Once = true
		case "unlimited":
			cfg.Budget.Unlimited = true
		case "only":
			cfg.Only = value
		case "match":
			cfg.Match = strings.Split(value, ",")
		case "keys":
			cfg.Budget.Keys = numberOf(p.t, value)
		case "per-tick":
			cfg.Budget.KeysPerTick = numberOf(p.t, value)
		default:
			p.t.Fatalf("unknown option %q", option)
		}
	}
}

// slotsOf is a topology in which words such as m0=0-8191 name the owners of slots.
func slotsOf(t *testing.T, words []string) *topology {
	t.Helper()
	var said []redis.ClusterSlot
	for _, word := range words {
		addr, slots, owner := strings.Cut(word, "=")
		if !owner {
			continue // a replica
		}
		from, to, _ := strings.Cut(slots, "-")
		nodes := []redis.ClusterNode{{Addr: addr}}
		said = append(said, redis.ClusterSlot{Start: numberOf(t, from), End: numberOf(t, to), Nodes: nodes})
	}
	return newTopology(said, "")
}

// pass lets time pass until that second. The run turns when it would wake up. If the process is
// paused, nothing happens meanwhile.
func (p *played) pass(second float64, paused bool) {
	p.t.Helper()
	until := time.Duration(second * float64(time.Second)).Round(time.Microsecond)
	for turns := 0; !paused; turns++ {
		must.True(p.t, turns < 1000, p.t.Name(), "the run never sleeps")
		at := time.Duration(p.clock.Load())
		wake := min(until, at+p.nextWake(p.now()), at+time.Second)
		p.clock.Store(int64(wake))
		p.stall.Take()
		if wake == until {
			break
		}
		p.turn()
	}
	p.clock.Store(int64(until))
}

// turn is one turn of the loop.
func (p *played) turn() {
	now := p.attend()
	p.wake(now)
	p.flush(now)
	wanted := make([][]string, len(p.masters))
	busy := make([]bool, len(p.masters))
	for i, m := range p.masters {
		wanted[i], busy[i] = slices.Sorted(maps.Keys(m.wanted)), m.busy
	}
	p.requestReads(now)
	for i, m := range p.masters {
		if !m.busy || busy[i] {
			continue
		}
		keys := slices.DeleteFunc(wanted[i], func(key string) bool { return m.wanted[key] })
		p.asks = append(p.asks, strings.TrimSpace(fmt.Sprintf("%s m%d %s", second(now), i, strings.Join(keys, " "))))
	}
}

// do is what happens to the run or, for a word such as m0, to a master.
func (p *played) do(what string, words []string) {
	p.t.Helper()
	if i, err := strconv.Atoi(strings.TrimPrefix(what, "m")); err == nil {
		p.doMaster(i, slices.Concat(p.masters, p.replicas)[i], words[0], words[1:])
		return
	}
	switch what {
	case "paused":
	case "found":
		p.discover(words)
	case "tick":
		p.tick()
	case "focus":
		p.focus = map[string]bool{}
		for _, key := range words {
			p.focus[key] = true
		}
		p.tick()
	case "sweep":
		p.auditSweep()
	case "end":
		p.finish(p.now())
	case "topology":
		if t := slotsOf(p.t, words); p.adopt(t) {
			before := p.run
			p.run = p.source.newRun(before.ctx, before.emit, p.source.masters()[:len(t.masters)])
			p.cluster, p.table.topology = before.cluster, t
			p.inherit(before)
			p.t.Cleanup(p.tasks.Wait)
		}
	default:
		p.t.Fatalf("unknown event %q", what)
	}
}

// doMaster is what happens to a master.
func (p *played) doMaster(i int, m *masterState, what string, words []string) {
	p.t.Helper()
	facts, words := factsOf(words)
	var err error
	if text := strings.Join(words, " "); text != "" {
		err = refusal(text)
	}
	unseen := &inspect.Unseen{
		Where: m.Address(), Reason: "denied\n", Right: strings.ReplaceAll(facts["denied"], "_", " "),
	}
	switch what {
	case "reads":
		rep := report{
			master: i, asked: secondOr(p.t, facts["asked"], p.now()), answered: secondOr(p.t, facts["answered"], p.now()),
		}
		for _, word := range words {
			key, value, _ := strings.Cut(word, "=")
			rep.keys, rep.votes = append(rep.keys, key), append(rep.votes, voteOf(p.t, i, key, value))
		}
		p.report(rep)
	case "rereads":
		for n := range numberOf(p.t, words[1]) {
			p.doMaster(i, m, "pushed", words[:1])
			p.turn()
			p.doMaster(i, m, "reads", []string{fmt.Sprint(words[0], "=", n)})
		}
	case "fails":
		p.report(report{master: i, err: err})
	case "status":
		p.status(statusReport{master: i, status: statusOf(p.t, facts), err: err})
	case "met":
		p.status(statusReport{master: i, met: true, several: err != nil})
	case "pass":
		rep := passed{master: i, start: secondOr(p.t, facts["start"], p.now()), keys: -1, err: err}
		if n := facts["keys"]; n != "" {
			rep.keys = numberOf(p.t, n)
		}
		if unseen.Right != "" {
			unseen.Aspect, unseen.Read, rep.unsought = inspect.AspectLocks, "SCAN", unseen
		}
		p.run.pass(rep)
	case "pushes":
		p.push(pushState{master: i, armed: true})
	case "stops":
		p.push(pushState{master: i})
	case "refuses":
		unseen.Aspect, unseen.Read = inspect.AspectChanges, "CLIENT TRACKING"
		p.push(pushState{master: i, refused: unseen})
	case "pushed":
		m.inbox.add(words)
		p.read()
	case "pushed-many":
		for n := range numberOf(p.t, words[0]) {
			m.inbox.add([]string{fmt.Sprint("lock:", n)})
		}
	case "flushed":
		m.inbox.addAll()
		p.read()
	case "heard":
		m.inbox.hear(secondOr(p.t, words[0], noon))
		p.read()
	case "counted":
		p.counted(counted{
			master: i, asked: secondOr(p.t, facts["asked"], p.now()), err: err,
			gone: listOf(facts["gone"]), others: listOf(facts["others"]),
		})
	default:
		p.t.Fatalf("unknown event of a master %q", what)
	}
}
