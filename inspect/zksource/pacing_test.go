package zksource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkwire"
)

const guid = "0123456789abcdef0123456789abcdef"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testRun is a run without a connection. The test supplies the results.
func testRun(t *testing.T, cfg Config) *run {
	cfg.Backend = "zk"
	if cfg.Servers == nil {
		cfg.Servers = []string{"127.0.0.1:1"}
	}
	r := New(cfg).newRun(t.Context(), func(inspect.Update) {})
	r.tree.AddRoots()
	return r
}

// contenders returns n names of contenders.
func contenders(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s__lock__%010d", guid, i))
	}
	return names
}

// wantContenders queues reads of these contenders of /locks.
func wantContenders(r *run, names ...string) {
	r.tree.Start(tree.Server{Many: true})
	r.tree.Queue = tree.Queue{}
	r.tree.Apply(&tree.Reply{Job: tree.Job{Kind: tree.JobList, Dir: r.tree.Dir("/locks")}, Names: names})
}

// With a budget, the first pass sends short requests. At most two wait at the server, plus those
// that the budget allows during a network round trip. Later changes, and passes without a budget,
// use long requests.
func TestFirstPassSendsShortRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		cfg        Config
		quickest   time.Duration
		found      bool // the reads follow a change and not a discovery
		slow       bool
		bytes      uint64 // average answer to one read
		items, fly int
	}{
		{name: "before the first answer", items: 50, fly: 2},
		{name: "a server nearby", quickest: time.Millisecond, items: 50, fly: 2},
		{name: "a server far away", quickest: 25 * time.Millisecond, items: 50, fly: 22},
		{name: "a server very far away", quickest: 2 * time.Second, items: 50, fly: 64},
		{name: "a server that has become slow", quickest: 25 * time.Millisecond, slow: true, items: 50, fly: 2},
		{name: "long answers", quickest: 250 * time.Millisecond, bytes: 4 << 10, items: 50, fly: 7},
		{name: "short answers", quickest: 25 * time.Millisecond, bytes: 80, items: 50, fly: 22},
		{name: "a tenth of the budget", cfg: Config{Budget: Budget{Items: 4000}}, quickest: 25 * time.Millisecond, items: 50, fly: 4},
		{name: "a change", quickest: 25 * time.Millisecond, found: true, items: 200, fly: 4},
		{name: "a command", cfg: Config{Once: true}, quickest: 25 * time.Millisecond, items: 50, fly: 52},
		{name: "no budget", cfg: Config{Budget: Budget{Unlimited: true}}, quickest: 25 * time.Millisecond, items: 200, fly: 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Roots = []string{"/locks"}
			r := testRun(t, tt.cfg)
			r.conn.link = &link{distance: distance{quickest: tt.quickest, spare: mostInFlight}}
			p := &r.pacing
			p.pace.Slow, p.itemsRead, p.bytesRead = tt.slow, 2, 2*tt.bytes
			for range 10 {
				p.size.Answered(p.size.Items(), p.size.Items()) // it has learnt to expect short answers
			}
			wantContenders(r, contenders(2*zkwire.MostItems)...)
			q := &r.tree.Queue
			if tt.found {
				q.Urgent, q.Reads = q.Reads, nil
			}
			must.Equal(t, p.mayFly(q, &r.conn.link.distance), tt.fly, "requests in flight")
			must.Equal(t, r.gather().items, tt.items, "reads in a request")
		})
	}
}

// Reads share a request while they fit. A read with a very long path gets its own request.
func TestLongPathIsReadAlone(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/locks"}})
	r.conn.link = &link{}
	short := contenders(2)
	length := func(name string) int {
		read := shared(&tree.Job{Kind: tree.JobGet, Dir: r.tree.Dir("/locks"), Name: name}, r.cfg)
		return read.Length()
	}
	fits := strings.Repeat("x", requestGoal-multiReadFrame-length(short[1])) + short[1]
	fitsWithShort := fits[length(short[0]):]
	for _, tt := range []struct {
		what          string
		names         []string
		shared, alone int
	}{
		{"a longer path between two", []string{short[0], "x" + fits, short[1]}, 2, 1},
		{"a path that fills a request", []string{fits}, 1, 0},
		{"a path that is longer", []string{"x" + fits}, 0, 1},
		{"two that fill a request", []string{short[0], fitsWithShort}, 2, 0},
		{"two that are longer", []string{short[0], "x" + fitsWithShort}, 1, 0},
	} {
		wantContenders(r, tt.names...)
		b := r.gather()
		must.Equal(t, len(b.jobs), tt.shared, "reads that share a request:", tt.what)
		must.Equal(t, len(r.tree.Queue.Alone), tt.alone, "reads of their own:", tt.what)
		must.Equal(t, b.length, 8+len(zkwire.MultiRead(b.reads, nil).Body), "bytes of the request:", tt.what)
	}
	wantContenders(r, "x"+fits)
	r.sendMany(r.gather(), noon)
	must.Equal(t, r.pacing.batches, 0, "shared requests without a read")
}

func TestLongListEndsARequest(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{Roots: []string{"/a", "/b"}})
	lists := []tree.Job{{Kind: tree.JobList, Dir: r.tree.Dir("/a")}, {Kind: tree.JobList, Dir: r.tree.Dir("/b")}}
	for names, want := range map[int32]int{listGoal/nameBytes - 1: 2, listGoal / nameBytes: 1} {
		r.tree.Apply(&tree.Reply{Job: lists[0], Stat: tree.Stat{Czxid: 1, NumChildren: names}})
		r.tree.Queue = tree.Queue{Urgent: slices.Clone(lists)}
		must.Equal(t, len(r.gather().jobs), want, "lists in a request, after", names, "names")
	}
}

// At once, a tenth of a second's budget is allowed, or a whole second's for changes. It is at least one
// request.
func TestBudgetsAllowShortBursts(t *testing.T) {
	t.Parallel()
	p := newPacing(Config{Budget: Budget{Discovering: 200, Steady: 30, Requests: 400, Items: 500, Bytes: 600}})
	least := newPacing(Config{Budget: Budget{Discovering: 1, Steady: 0.5, Requests: 1, Items: 5, Bytes: 100}})
	for discovers, want := range map[bool]int{true: 40, false: 30} {
		taken := 0
		for p.takeMany(discovers, noon) == 0 {
			taken++
		}
		must.Equal(t, taken, want, "requests at once, discovers", discovers)
		must.Equal(t, least.takeMany(discovers, noon), 0, "wait before the first request, discovers", discovers)
		must.True(t, least.takeMany(discovers, noon) > 0, "no wait before the second one, discovers", discovers)
	}
	for b, want := range map[*sourcekit.Bucket]int{
		p.items: 50, p.bytes: 60, least.discovering: 1, least.items: 1,
	} {
		taken := 0
		for b.Take(noon) == 0 {
			taken++
		}
		must.Equal(t, taken, want, "at once from", b)
	}
	free := newPacing(Config{Budget: Budget{Unlimited: true, Discovering: 1, Steady: 1, Requests: 1, Items: 1, Bytes: 1}})
	for _, b := range []*sourcekit.Bucket{free.discovering, free.steady, free.requests, free.items, free.bytes} {
		b.Spend(1000)
		must.Equal(t, b.Take(noon), 0, "wait without a budget")
	}
}

// Budgets allow 20 new nodes and 30 changes at once.
func TestSingleReadsHaveTheirBudgets(t *testing.T) {
	t.Parallel()
	jobs := make([]tree.Job, 99)
	const ofNew, ofChanges = 5 * time.Millisecond, 33 * time.Millisecond // until the next
	for name, tt := range map[string]struct {
		queue           tree.Queue
		many, firstPass bool
		slow            bool // the server has become slow
		atOnce          int
		wait            time.Duration
	}{
		"nothing":              {},
		"changes":              {queue: tree.Queue{Urgent: jobs}, atOnce: 30, wait: ofChanges},
		"new nodes":            {queue: tree.Queue{Reads: jobs}, atOnce: 20, wait: ofNew},
		"polls":                {queue: tree.Queue{Polls: jobs}, atOnce: 30, wait: ofChanges},
		"all of them":          {queue: tree.Queue{Urgent: jobs, Reads: jobs, Polls: jobs}, atOnce: 50, wait: ofNew},
		"on a newer server":    {queue: tree.Queue{Urgent: jobs, Alone: jobs}, many: true, atOnce: 20, wait: ofNew},
		"after the first pass": {queue: tree.Queue{Alone: jobs}, many: true, firstPass: true, atOnce: 30, wait: ofChanges},
		"new nodes, slowly":    {queue: tree.Queue{Reads: jobs}, slow: true, atOnce: 20, wait: 2 * ofNew},
		"changes, slowly":      {queue: tree.Queue{Urgent: jobs}, slow: true, atOnce: 30, wait: 2 * ofChanges},
	} {
		p, sent := newPacing(Config{Budget: Budget{Discovering: 200, Steady: 30}}), 0
		if tt.slow {
			p.answers(2*time.Millisecond, 20*time.Millisecond)
		}
		_, wait, ok := p.next(&tt.queue, tt.many, tt.firstPass, noon)
		for ; ok; sent++ {
			_, wait, ok = p.next(&tt.queue, tt.many, tt.firstPass, noon)
		}
		must.Equal(t, sent, tt.atOnce, "reads at once:", name)
		must.Equal(t, wait.Truncate(time.Millisecond), tt.wait, "until the next read:", name)
	}
}

// A pass starts with two requests in flight, and sends more only while that does not delay answers.
// A distant server soon gets as many as the budget allows, but a slow one does not.
func TestPassDistinguishesFarFromSlow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		took              func(flying int) time.Duration
		apart             time.Duration // between two answers
		most, last, after int           // in flight: at most, in the end, and the answers after which last is reached
	}{
		"far away":                         {func(int) time.Duration { return 250 * time.Millisecond }, time.Millisecond, 64, 64, 8},
		"far away, answers come in bursts": {func(int) time.Duration { return 250 * time.Millisecond }, 0, 64, 64, 8},
		"slow":                             {func(flying int) time.Duration { return time.Duration(flying) * 250 * time.Millisecond }, 250 * time.Millisecond, 3, 2, 1},
		"slow, and answers come in pairs":  {func(flying int) time.Duration { return time.Duration(flying) * 250 * time.Millisecond }, 0, 10, 2, 20},
		"far, and slow": {func(flying int) time.Duration {
			return 250*time.Millisecond + time.Duration(flying)*10*time.Millisecond
		}, 10 * time.Millisecond, 16, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := newPacing(Config{}.withDefaults()), distance{quickest: 250 * time.Millisecond}
			q := &tree.Queue{Reads: make([]tree.Job, 1)}
			mayFly := func() int { return p.mayFly(q, &d) }
			must.Equal(t, mayFly(), gentleInFlight, "requests in flight at the start")
			most := 0
			for i := range 200 {
				must.True(t, i != tt.after || mayFly() >= tt.last, mayFly(), "in flight after", i, "answers, want", tt.last)
				most = max(most, mayFly())
				d.learn(tt.took(mayFly()), tt.apart)
			}
			must.True(t, most <= tt.most, most, "requests in flight, want at most", tt.most)
			must.True(t, mayFly() >= tt.last, mayFly(), "requests in flight at the end, want", tt.last)
		})
	}
	d := distance{spare: 40}
	for range 5 {
		d.learn(time.Second, time.Second)
		d.learn(3*time.Second, time.Second)
	}
	must.True(t, d.spare <= 5, "a server that has become slow has", d.spare, "spare requests")
}

// answers takes 64 answers of each time.
func (p *pacing) answers(took ...time.Duration) {
	for i := range 64 * len(took) {
		p.answered(took[i/64])
	}
}

func TestQuickestRequestsAreReported(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{})
	r.pacing.answers(5*time.Millisecond, 7*time.Millisecond)
	cost := r.describe().Cost
	must.Equal(t, cost.Quickest, 7*time.Millisecond, "quickest")
	must.Equal(t, cost.StartQuickest, 5*time.Millisecond, "at the start")
	twenty := batch{sent: noon, items: 20}
	must.Equal(t, twenty.pace(noon.Add(time.Second)), time.Second/2, "of one read, if twenty take a second")
}

func TestLateLoginBlocksNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := New(Config{Backend: "zk", Servers: []string{"127.0.0.1:1"}}).newRun(ctx, func(inspect.Update) {})
	for range cap(r.results) + 1 { // more results than the channel holds
		r.tasks.Go(func() { r.deliver(result{}) })
	}
	cancel()
	r.tasks.Wait() // as Run does
}
