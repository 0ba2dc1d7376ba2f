package redissource

import (
	"context"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/internal/stall"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// Source reads one Redis backend. It is an inspect.Source.
type Source struct {
	cfg     Config
	focused sourcekit.Focus
	stall   *stall.Watch
}

// New makes a Source. It does not connect.
func New(cfg Config) *Source {
	cfg = cfg.withDefaults()
	return &Source{cfg: cfg, focused: sourcekit.NewFocus(), stall: stall.New(cfg.Now)}
}

// Focus implements inspect.Source.
func (s *Source) Focus(ids []inspect.ID) { s.focused.Set(s.cfg.Backend, ids) }

// Run implements inspect.Source. It returns nil.
func (s *Source) Run(ctx context.Context, emit func(inspect.Update)) error {
	ctx, cancel := sourcekit.WithoutDeadline(ctx)
	wait := s.stall.Start(ctx)
	defer func() {
		cancel()
		wait()
	}()
	if o := s.cfg.Masters; len(o) == 1 && node.IsCluster(o[0]) {
		s.runCluster(ctx, emit)
		return nil
	}
	s.newRun(ctx, emit, s.masters()).run()
	return nil
}

func (s *Source) masters() []*node.Master {
	list := make([]*node.Master, len(s.cfg.Masters))
	for i, options := range s.cfg.Masters {
		list[i] = node.New(s.cfg.addr(i), *options, s.settings())
	}
	return list
}

// run reads until the context ends or the pass is done, and waits for its goroutines.
func (r *run) run() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.ctx = ctx
	defer func() {
		cancel()
		for _, p := range r.masters {
			p.Close() // running requests end at once
		}
		r.tasks.Wait()
		for _, p := range r.masters {
			p.Close()
		}
	}()
	r.loop()
}

func (s *Source) newRun(ctx context.Context, emit func(inspect.Update), masters []*node.Master) *run {
	r := &run{
		cfg: s.cfg, ctx: ctx, stall: s.stall, emit: emit,
		table: newKeyTable(s.cfg, masters), inputs: newInputs(s.focused), limits: newLimits(s.cfg),
		news: news{dirty: map[string]bool{}, asked: map[string]int{}, held: map[string]time.Time{}},
	}
	for i, m := range masters {
		r.masters = append(r.masters, newMasterState(m, i))
	}
	return r
}

// run is one call of Run or, for a cluster, the period between two changes of its nodes. Its
// fields belong to one goroutine; tasks send it their results.
type run struct {
	cfg      Config
	ctx      context.Context
	stall    *stall.Watch
	emit     func(inspect.Update)
	table    *keyTable
	masters  []*masterState
	tasks    sync.WaitGroup
	focus    map[string]bool
	expiries expiryQueue // when a vote expires, or a free lock is no longer listed
	backend  sourcekit.Reporter

	inputs
	limits
	news

	refusedAt time.Time // when refused keys were last tried
	readable  bool      // one has been readable since

	// Cluster only. replaced is the new topology if the nodes have changed.
	cluster  *cluster
	replaced *topology
	replicas []*masterState // only asked for their status
}

// inputs are the channels that the loop reads.
type inputs struct {
	focused    sourcekit.Focus
	reports    chan report
	found      chan []string
	passed     chan passed
	statuses   chan statusReport
	pushes     chan pushState
	inboxes    chan struct{} // an inbox is not empty
	counts     chan counted
	topologies chan *topology
}

func newInputs(focused sourcekit.Focus) inputs {
	return inputs{
		focused: focused, reports: make(chan report), found: make(chan []string), passed: make(chan passed),
		statuses: make(chan statusReport), pushes: make(chan pushState), inboxes: make(chan struct{}, 1),
		counts: make(chan counted), topologies: make(chan *topology),
	}
}

// limits are the rate limits for one key, for one master's pipelines, and for polling one
// master's known keys.
type limits struct{ perKey, perMaster, polls node.Limit }

func newLimits(cfg Config) limits {
	b := cfg.Budget
	l := limits{
		perKey:    perSecond(b.ReadsPerKey, b.ReadsPerKey),
		perMaster: perSecond(b.Reads, burstSeconds*b.Reads),
		polls:     perSecond(b.Polls, b.Polls),
	}
	if cfg.Once {
		l.perKey = node.Limit{} // each is read once
	}
	return l
}

func perSecond(n, burst int) node.Limit {
	return node.Limit{Every: time.Second / time.Duration(n), Burst: burst}
}

// news holds the keys with something to emit.
type news struct {
	dirty map[string]bool
	asked map[string]int       // the number of masters that a key's news waits for
	held  map[string]time.Time // when a key's news may be emitted
}

// report is a master's answer about keys.
type report struct {
	master   int
	keys     []string
	votes    []inspect.Vote
	asked    time.Time
	answered time.Time
	err      error
}

// passed reports the end of a pass over a master's keys. err is set if the master did not answer,
// unsought if it refused.
type passed struct {
	master   int
	start    time.Time
	unsought *inspect.Unseen
	keys     int // -1 if the server filtered them
	err      error
}

// statusReport is the status of a master or, for higher indexes, of a cluster replica. If met is
// set, it only says whether several servers answer at the address.
type statusReport struct {
	master       int
	status       node.Status
	err          error
	met, several bool
}

// send sends a value to the run's goroutine; false if the run has ended.
func send[T any](ctx context.Context, to chan<- T, value T) bool {
	select {
	case to <- value:
		return true
	case <-ctx.Done():
		return false
	}
}

// loop reads until the context ends or, for one pass, until everything was read once.
func (r *run) loop() {
	r.start()
	tick := time.NewTicker(r.cfg.Tick)
	defer tick.Stop()
	slow := time.NewTicker(sweepEvery)
	defer slow.Stop()
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	r.tick()
	for {
		now := r.attend()
		r.wake(now)
		r.flush(now)
		r.requestReads(now)
		if r.cfg.Once && r.done() {
			r.finish(now)
			return
		}
		alarm.Reset(r.nextWake(now))
		select {
		case <-r.ctx.Done():
			return
		case <-alarm.C:
		case <-r.stall.Woken():
		case <-tick.C:
			r.tick()
		case <-slow.C:
			r.auditSweep()
		case rep := <-r.reports:
			r.report(rep)
		case keys := <-r.found:
			r.discover(keys)
		case p := <-r.passed:
			r.pass(p)
		case st := <-r.statuses:
			r.status(st)
		case p := <-r.pushes:
			r.push(p)
		case <-r.inboxes:
			r.read()
		case t := <-r.topologies:
			if r.adopt(t) {
				return
			}
		case c := <-r.counts:
			r.counted(c)
		case r.focus = <-r.focused:
			r.tick()
		}
	}
}

// start starts the tasks that run alongside the loop.
func (r *run) start() {
	for _, p := range r.masters {
		r.tasks.Go(func() { r.scan(p) })
		r.tasks.Go(func() { r.requestStatus(p) })
		if !r.cfg.Once {
			r.tasks.Go(func() { r.track(p) })
		}
	}
	for _, p := range r.replicas {
		r.tasks.Go(func() { r.requestStatus(p) })
	}
	if r.cfg.Only != "" {
		r.add([]string{r.cfg.Only})
	}
	if r.cluster != nil && !r.cfg.Once {
		r.tasks.Go(r.watchTopology)
	}
}

// requestStatus asks a master for its status periodically, and when the master returns.
func (r *run) requestStatus(p *masterState) {
	for {
		asked := r.cfg.Now()
		st, err := p.ReadStatus(r.ctx)
		if r.stall.Since(asked) && r.ctx.Err() == nil {
			continue // the pause would distort its clock
		}
		if !send(r.ctx, r.statuses, statusReport{master: p.index, status: st, err: err}) {
			return
		}
		if err == nil {
			several := p.SeveralServers(r.ctx, st.RunID)
			send(r.ctx, r.statuses, statusReport{master: p.index, met: true, several: several})
		}
		if r.cfg.Once {
			return
		}
		rest := statusEvery
		if err != nil {
			rest = 2 * node.RetryEvery
		}
		select {
		case <-time.After(rest):
		case <-p.restart:
		case <-r.ctx.Done():
			return
		}
	}
}

// scan passes over one master's keys, once or repeatedly. It is gentler while the master pushes.
func (r *run) scan(p *masterState) {
	if r.cfg.Only != "" {
		send(r.ctx, r.passed, passed{master: p.index, start: r.cfg.Now()})
		return
	}
	s := node.NewScanner(p.Master, r.cfg.patterns(), r.cfg.matcher(), r.cfg.scanLimits(), p.resting.Load)
	for {
		start := r.cfg.Now()
		unsought, err := s.Pass(r.ctx, func(keys []string) { send(r.ctx, r.found, keys) })
		keys := s.Keys()
		if err != nil && r.stall.Since(start) && r.ctx.Err() == nil {
			continue // the pause is not the server's fault
		}
		if !send(r.ctx, r.passed, passed{p.index, start, unsought, keys, err}) || r.cfg.Once {
			return
		}
		every := r.cfg.Budget.ScanEvery
		rest := max(every-r.cfg.Now().Sub(start), every/4)
		if err != nil || unsought != nil {
			rest = max(rest, node.RetryEvery)
		}
		for rest > 0 {
			if sourcekit.Sleep(r.ctx, rest) != nil {
				return
			}
			rest = min(r.scanEvery(p)-r.cfg.Now().Sub(start), time.Second) // the master may stop pushing
		}
	}
}

// scanEvery is the minimum time between the starts of two passes.
func (r *run) scanEvery(p *masterState) time.Duration {
	if p.resting.Load() {
		return max(r.cfg.Budget.ScanEvery, restingScanEvery)
	}
	return r.cfg.Budget.ScanEvery
}

// track makes one master push its changes.
func (r *run) track(p *masterState) {
	signal := func() {
		select {
		case r.inboxes <- struct{}{}:
		default:
		}
	}
	pusher := &node.Pusher{
		Heard:  func(asked time.Time) { p.inbox.hear(asked); signal() },
		Late:   p.requestStatusNow,
		Master: p.Master, Prefixes: node.Prefixes(r.trackedPatterns()), Wanted: r.wanted(),
		Rate:    perSecond(r.cfg.Budget.Pushes, 2*r.cfg.Budget.Pushes),
		News:    func(keys []string) { p.inbox.add(keys); signal() },
		Flushed: func() { p.inbox.addAll(); signal() },
	}
	pusher.Run(r.ctx, func(armed bool, refused *inspect.Unseen) {
		send(r.ctx, r.pushes, pushState{p.index, armed, refused})
	})
}
