package soak

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var (
	lasts = flag.Duration("soak.d", 0, "how `LONG` the faults go on; 0 skips the soak")
	seed  = flag.Uint64("soak.seed", 0, "`SEED` of the schedule; 0 chooses a random one")
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // it logs every unreachable server
	servertest.Main(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestSoak(t *testing.T) {
	if *lasts == 0 {
		t.Skip("SKIPPED: slow; make soak-look runs it")
	}
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	t.Logf("seed %d: repeat with make soak-look SEED=%[1]d", *seed)
	w := start(t)
	plant(t, w)
	notes, happened, reports := newLedger(), &faults{}, &story{}
	path := program(t)
	eye := observe(t, w, reports)
	watch := startWatch(t, path, w.targets(), reports)
	all := startClients(t, w, notes, *seed)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	doctor := &cron{t: t, program: path, targets: w.targets(), faults: happened, notes: notes, dir: t.TempDir(), codes: map[int]int{}}
	judge := newJudge(notes, happened)
	var running sync.WaitGroup
	running.Go(func() { doctor.run(ctx, 4*time.Second) })
	running.Go(func() { happened.attend(ctx, w) })
	running.Go(func() { happened.poll(ctx, w) })
	running.Go(func() { happened.watchHost(ctx) })
	judged := make(chan int, 1)
	running.Go(func() { judged <- judgeOn(ctx, t, judge, reports) })

	n := &nemesis{
		t: t, w: w, clients: all, watch: watch, faults: happened, random: rand.New(rand.NewPCG(*seed, 2)), counts: map[string]int{},
		longest: min(40*time.Second, max(4*time.Second, *lasts/10)),
	}
	from := time.Now()
	n.agreed = from
	for time.Since(from) < *lasts {
		n.step()
		time.Sleep(between(n.random, 500, 4000)) // sometimes alone, sometimes close together
		if time.Since(from) > time.Minute && sum(n.counts)%25 == 0 {
			t.Logf("%s faults %d, operations %v, doctor %v", time.Now().Format("15:04:05"), sum(n.counts), notes.counts(), doctor.codes)
		}
	}
	to := time.Now()
	all.end(t)
	free := w.same(t, eye.Snapshot)
	quiet := time.Now() // the clients of pose record nothing
	end := pose(t, all)
	held := w.same(t, eye.Snapshot)
	must.True(t, len(held) >= 7, "want at least 7 locks to compare", held)
	t.Logf("at the end the servers held:%v\nand with posed clients:%v", free, held)
	must.Same(t, differences(listed(t, path, w.targets()), held), nil, "ls differs from the servers")
	noFindings(t, eye)
	load(t, eye)
	end()
	stop()
	running.Wait()
	doctor.verdict()
	events := reports.since(0, quiet)
	judgeRest(t, judge, events[min(<-judged, len(events)):])
	for _, by := range []string{observerName, watchName} {
		all, looked := missed(notes, happened, events, by, from, to)
		must.Same(t, all, nil, by, "never reported")
		t.Logf("%s could observe %d holds, and missed %d", by, looked, len(all))
		must.True(t, looked >= int(to.Sub(from)/(10*time.Second)), by, "could observe only", looked, "holds")
	}
	t.Logf("in %v: faults %v; operations %v; events %v; doctor's exit codes %v", to.Sub(from).Round(time.Second), n.counts, notes.counts(), judge.counts, doctor.codes)
	must.Equal(t, len(judge.said), 0, "wrong events", judge.said)
	controls(t, notes, happened, events, held)
	enough(t, to.Sub(from), sum(n.counts), notes.counts(), judge.counts, doctor.codes)
	eye.end()
	w.leftAlone(t)
}

// plant creates the root before any observer starts.
func plant(t *testing.T, w *world) {
	t.Helper()
	c, _, err := zk.Connect(zkAddrs(w.zk), 10*time.Second, zk.WithLogInfo(false))
	must.Succeed(t, err)
	defer c.Close()
	must.Have(c.Create("/soak", nil, 0, zk.WorldACL(zk.PermAll)))(t)
}

// hindsight is the time after which everything about a moment is recorded. By then, the clients'
// waits have ended, and the nemesis has checked whether the members of the ensemble agree.
const hindsight = 3 * time.Minute

// judgeOn judges events until ctx ends, each after hindsight, when the clients' records are complete.
// It returns how many it has judged.
func judgeOn(ctx context.Context, t *testing.T, j *judge, reports *story) int {
	n := 0
	for pause(ctx, 2*time.Second) {
		some := reports.since(n, time.Now().Add(-hindsight))
		judgeRest(t, j, some)
		n += len(some)
	}
	return n
}

func judgeRest(t *testing.T, j *judge, events []observed) {
	for _, e := range events {
		if what := j.event(e); what != "" {
			kind := strings.Join([]string{e.by, e.Event, about(e), backendOf(e.Lock)}, " ")
			if j.said[kind]++; j.said[kind] > mostSaid {
				t.Fail()
				continue // the soak reports the number at its end
			}
			t.Errorf("%s %s reported %s %s of %s %s %s: %s", e.At.Local().Format("15:04:05.000"), e.by, e.Event, e.Certainty, e.Lock, e.name(), about(e), what)
		}
	}
}

// mostSaid limits the printed events of one kind.
const mostSaid = 10

func about(e observed) string {
	if e.Finding != nil {
		return e.Finding.Rule
	}
	return ""
}

// noFindings checks that there are no findings above info at the end.
func noFindings(t *testing.T, e *eye) {
	s := e.Snapshot()
	for _, b := range s.Backends {
		for _, f := range b.Findings {
			must.Equal(t, f.Severity, "info", "at the end", b.Name, f.Rule, f.Message)
		}
	}
	for l := range s.Locks() {
		for _, f := range l.Findings {
			must.Equal(t, f.Severity, "info", "at the end", l.ID, f.Rule, f.Message)
		}
	}
}

// load checks that the observer's watches and goroutines stay few.
func load(t *testing.T, e *eye) {
	for _, b := range e.Snapshot().Backends {
		t.Logf("%s: %s, %d requests, %d watches, lost %d times", b.Name, b.State, b.Cost.Requests, b.Cost.Watches, b.Lost)
		must.True(t, b.Cost.Watches <= 20, b.Name, b.Cost.Watches, "watches on four directories")
		must.Equal(t, b.State, "connected", b.Name, b.Error)
	}
	n := runtime.NumGoroutine()
	t.Logf("%d goroutines", n)
	must.True(t, n <= 600, n, "goroutines")
}

// leftAlone checks that no connection of the observer remains.
func (w *world) leftAlone(t *testing.T) {
	for _, p := range slices.Concat(w.zkLook, w.look) {
		must.Become(t, "the observer's connections are closed", func() bool { return p.Open() <= 0 })
	}
}

// enough fails a run with too few events to prove anything.
func enough(t *testing.T, lasted time.Duration, faults int, operations, events map[string]int, doctor map[int]int) {
	t.Helper()
	least := func(what string, n int, every time.Duration) {
		must.True(t, n >= int(lasted/every), n, what, "in", lasted, "want one every", every)
	}
	least("faults", faults, 12*time.Second)
	least("acquisitions", operations["acquired"], time.Second)
	least("releases", operations["released"], time.Second)
	least("events of grants", events["acquired"]+events["handover"], time.Second)
	least("events of ends", events["released"], time.Second)
	least("runs of doctor", doctor[0]+doctor[1]+doctor[3], 15*time.Second)
}

func sum(counts map[string]int) (n int) {
	for _, one := range counts {
		n += one
	}
	return n
}
