package redissource

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcekit"
)

// Source reads one Redis backend. It is an inspect.Source.
type Source struct {
	cfg     Config
	focused sourcekit.Focus
}

// New makes a Source. It does not connect.
func New(cfg Config) *Source {
	return &Source{cfg: cfg.withDefaults(), focused: sourcekit.NewFocus()}
}

// Focus implements inspect.Source.
func (s *Source) Focus(ids []inspect.ID) { s.focused.Set(s.cfg.Backend, ids) }

// Run implements inspect.Source. It returns nil.
func (s *Source) Run(ctx context.Context, emit func(inspect.Update)) error {
	ctx, cancel := context.WithCancel(ctx)
	r := s.newRun(ctx, emit)
	defer func() {
		cancel()
		for _, p := range r.masters {
			p.close() // what is under way ends at once
		}
		r.tasks.Wait()
		for _, p := range r.masters {
			p.close()
		}
	}()
	if s.cfg.Once {
		r.once()
	} else {
		r.watch()
	}
	return nil
}

func (s *Source) newRun(ctx context.Context, emit func(inspect.Update)) *run {
	r := &run{
		cfg: s.cfg, ctx: ctx, emit: emit, board: newBoard(s.cfg), focused: s.focused, dirty: map[string]bool{}, pending: map[int]bool{},
		reports: make(chan report), found: make(chan []string), passed: make(chan passed), statuses: make(chan statusReport),
	}
	for i, options := range s.cfg.Masters {
		r.masters = append(r.masters, &peer{master: newMaster(s.cfg.addr(i), *options, s.cfg.Timeout), index: i})
	}
	return r
}

// run is one call of Run. Its fields belong to the goroutine of that call; the tasks send what they learn.
type run struct {
	cfg     Config
	ctx     context.Context
	emit    func(inspect.Update)
	board   *board
	masters []*peer
	tasks   sync.WaitGroup

	focused  sourcekit.Focus
	reports  chan report
	found    chan []string
	passed   chan passed
	statuses chan statusReport

	focus   map[string]bool
	pending map[int]bool    // masters that news wait for
	late    *time.Timer     // until when, since pending was empty
	dirty   map[string]bool // keys with news
	backend sourcekit.Teller
}

// peer is a master and what is known of it.
type peer struct {
	*master
	index   int
	busy    bool // a reading is under way
	late    bool // the last tick went on without it
	retryAt time.Time
	passed  bool // its keys were looked at once, or could not be
	scanErr error
	err     error // why it does not answer; nil when it does
	server  inspect.Server
	denied  []string
}

// report is a master's answer about keys.
type report struct {
	master int
	keys   []string
	votes  []inspect.Vote
	took   time.Duration
	err    error
}

type passed struct {
	master int
	err    error
}

type statusReport struct {
	master int
	status status
	err    error
}

// send hands over to the run's goroutine; false when the run has ended.
func send[T any](ctx context.Context, to chan<- T, value T) bool {
	select {
	case to <- value:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch reads until the context ends.
func (r *run) watch() {
	for _, p := range r.masters {
		r.tasks.Go(func() { r.scan(p) })
		r.tasks.Go(func() { r.askStatus(p) })
	}
	tick := time.NewTicker(r.cfg.Tick)
	defer tick.Stop()
	r.late = time.NewTimer(time.Hour)
	defer r.late.Stop()
	r.tick()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
			r.tick()
		case rep := <-r.reports:
			r.report(rep)
		case <-r.late.C:
			for i := range r.pending {
				r.masters[i].late = true
			}
			clear(r.pending)
		case keys := <-r.found:
			r.add(keys)
		case p := <-r.passed:
			r.masters[p.master].passed, r.masters[p.master].scanErr = true, p.err
		case st := <-r.statuses:
			r.status(st)
		case r.focus = <-r.focused:
			r.tick()
		}
		r.flush()
	}
}

// add makes keys known and, when all are at rest, reads the new ones at once.
func (r *run) add(keys []string) {
	now := time.Now()
	var fresh []string
	for _, key := range keys {
		if r.board.add(key, now) {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) > 0 {
		r.read(fresh[:min(len(fresh), r.cfg.Budget.KeysPerTick)]) // the rest with the next ticks
	}
}

// tick starts a reading on every master that is not still busy with the one before.
func (r *run) tick() {
	r.read(r.board.choose(r.cfg.Budget.KeysPerTick, r.focus, time.Now()))
}

// read asks the masters for keys. News wait for those that are usually quick, but no longer than the grace that
// starts with the first of them.
func (r *run) read(keys []string) {
	now := time.Now()
	waiting := len(r.pending) > 0
	for _, p := range r.masters {
		if p.busy || now.Before(p.retryAt) {
			continue
		}
		if len(keys) == 0 && p.server.State == inspect.ServerUp {
			continue // nothing to ask: the status will tell when it goes away
		}
		p.busy = true
		if p.server.State == inspect.ServerUp && !p.late {
			r.pending[p.index] = true
		}
		r.tasks.Go(func() {
			start := time.Now()
			votes, err := p.readVotes(r.ctx, keys)
			send(r.ctx, r.reports, report{p.index, keys, votes, time.Since(start), err})
		})
	}
	if !waiting && len(r.pending) > 0 {
		r.late.Reset(grace)
	}
}

// report takes in a master's answer.
func (r *run) report(rep report) {
	p := r.masters[rep.master]
	p.busy, p.late = false, false
	delete(r.pending, rep.master)
	if rep.err != nil {
		r.down(p, rep.err)
		return
	}
	p.answered(rep.took)
	for i, key := range rep.keys {
		r.board.vote(rep.master, key, rep.votes[i])
		r.dirty[key] = true
	}
}

// down records that a master does not answer.
func (r *run) down(p *peer, err error) {
	p.retryAt = time.Now().Add(retryEvery)
	if r.ctx.Err() != nil {
		return
	}
	p.failed(err)
	r.board.silence(p.index, err)
	for key := range r.board.entries {
		r.dirty[key] = true
	}
}

// status takes in what a master says of itself.
func (r *run) status(rep statusReport) {
	p := r.masters[rep.master]
	if rep.err != nil {
		if p.server.State != inspect.ServerDown {
			r.down(p, rep.err)
		}
		return
	}
	p.setStatus(rep.status)
}

// failed notes that the master does not answer, and why.
func (p *peer) failed(err error) {
	p.server.State, p.server.Error, p.server.Latency = inspect.ServerDown, inspect.Escape(err.Error()), -1
	p.err = err
}

// answered notes that the master answers.
func (p *peer) answered(latency time.Duration) {
	p.server.State, p.server.Error, p.server.Latency = inspect.ServerUp, "", latency
	p.err = nil
}

// setStatus keeps old instants that only jittered.
func (p *peer) setStatus(st status) {
	s := &p.server
	s.Role, p.denied = st.role, st.denied
	if (st.offset-s.ClockOffset).Abs() > 5*time.Millisecond || !s.ClockKnown {
		s.ClockOffset, s.ClockKnown = st.offset, st.offsetKnown
	}
	if st.startedAt.Sub(s.StartedAt).Abs() > 2*time.Second {
		s.StartedAt = st.startedAt
	}
	if s.State != inspect.ServerUp {
		p.answered(st.latency)
	}
}

// flush emits what changed, unless the tick under way still waits for a master.
func (r *run) flush() {
	if len(r.pending) > 0 {
		return
	}
	var u inspect.Update
	now := time.Now()
	for _, key := range slices.Sorted(maps.Keys(r.dirty)) {
		lock, gone := r.board.judge(key, now)
		if lock != nil {
			u.Put = append(u.Put, lock)
		}
		if gone {
			u.Gone = append(u.Gone, inspect.ID{Backend: r.cfg.Backend, Path: key})
		}
	}
	clear(r.dirty)
	u.Backend = r.changedBackend(now)
	if u.Put != nil || u.Gone != nil || u.Backend != nil {
		r.emit(u)
	}
}

// scan goes over one master's keys again and again.
func (r *run) scan(p *peer) {
	if r.cfg.Only != "" {
		send(r.ctx, r.passed, passed{p.index, nil})
		return
	}
	s := newScanner(p.master, r.cfg)
	for {
		start := time.Now()
		err := s.pass(r.ctx, func(keys []string) { send(r.ctx, r.found, keys) })
		if !send(r.ctx, r.passed, passed{p.index, err}) {
			return
		}
		rest := max(r.cfg.Budget.ScanEvery-time.Since(start), r.cfg.Budget.ScanEvery/4)
		if err != nil {
			rest = max(rest, retryEvery)
		}
		if sleep(r.ctx, rest) != nil {
			return
		}
	}
}

// askStatus asks one master about itself, at a slow beat; sooner while it does not answer.
func (r *run) askStatus(p *peer) {
	for {
		st, err := p.readStatus(r.ctx)
		if !send(r.ctx, r.statuses, statusReport{p.index, st, err}) {
			return
		}
		rest := statusEvery
		if err != nil {
			rest = 2 * retryEvery
		}
		if sleep(r.ctx, rest) != nil {
			return
		}
	}
}
