package zksource

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/internal/stall"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/inspect/zksource/ensemble"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// Source watches one ensemble. It is an inspect.Source.
type Source struct {
	cfg     Config
	beats   beats
	focused sourcekit.Focus
}

// New makes a Source. It does not connect.
func New(cfg Config) *Source {
	return &Source{cfg: cfg.withDefaults(), beats: usualBeats(), focused: sourcekit.NewFocus()}
}

// Focus implements inspect.Source.
func (s *Source) Focus(ids []inspect.ID) { s.focused.Set(s.cfg.Backend, ids) }

// Run implements inspect.Source. It returns nil.
func (s *Source) Run(ctx context.Context, emit func(inspect.Update)) error {
	ctx, cancel := sourcekit.WithoutDeadline(ctx)
	r := s.newRun(ctx, emit)
	wait := r.stall.Start(ctx)
	defer func() {
		cancel()
		wait()
		r.dropLink()
		r.tasks.Wait()
		r.ensemble.Close()
	}()
	r.loop()
	return nil
}

func (s *Source) newRun(ctx context.Context, emit func(inspect.Update)) *run {
	cfg := s.cfg
	reach := zkadmin.Config{
		Dial: cfg.Dial, TLS: cfg.TLS, AdminTLS: cfg.AdminTLS, Username: cfg.AdminUser, Password: cfg.AdminPassword,
	}
	return &run{
		cfg: cfg, beats: s.beats, ctx: ctx, emit: emit, focused: s.focused, stall: stall.New(cfg.Now),
		tree: tree.New(cfg.tree(s.beats)), ensemble: ensemble.New(cfg.Servers, cfg.Admin, reach),
		inbox: newInbox(), results: make(chan result, inFlight), pacing: newPacing(cfg), progress: cfg.Now(),
		conn: connection{spent: map[string]uint64{}, auth: cfg.Auth}, lacks: map[string]lacking{},
		inquiries: newInquiries(s.beats.identity),
	}
}

// run is one call of Run. Its fields belong to that call's goroutine; requests run on others and
// send results.
type run struct {
	cfg     Config
	beats   beats
	ctx     context.Context
	emit    func(inspect.Update)
	tasks   sync.WaitGroup
	focused sourcekit.Focus
	stall   *stall.Watch
	stalled inspect.Interval // the last stall, until we have reconnected; otherwise zero

	conn      connection
	inbox     *inbox
	results   chan result
	pacing    pacing
	progress  time.Time          // when the newest answer arrived
	lacks     map[string]lacking // by server, see features.go
	tree      *tree.Tree
	ensemble  *ensemble.Ensemble
	inquiries inquiries
	heardAt   time.Time // everything up to then has been reported, see zkwire.Tap.Ordered

	extra   inspect.Update // identity tables to emit
	backend backendState
	done    bool
}

// loop runs until the context ends or a single pass is done.
func (r *run) loop() {
	beat := time.Tick(r.beats.poll)
	wake := time.NewTimer(0)
	r.tree.AddRoots()
	for r.ctx.Err() == nil {
		now := r.attend()
		r.connect(now)
		r.tree.Wake(now)
		r.tree.Build(now)
		r.dispatch(now)
		r.finishPass(now)
		r.startInquiry(now)
		r.flush(now)
		if r.done {
			return
		}
		wake.Reset(r.untilNext(now))
		select {
		case <-r.ctx.Done():
		case <-r.stall.Woken():
		case <-r.inbox.ready:
			events := r.inbox.take()
			r.attend() // first, so that a loss during our own stall is not blamed on the server
			for _, e := range events {
				r.event(e)
			}
		case res := <-r.results:
			r.attend()
			r.receive(res)
			for range len(r.results) {
				r.receive(<-r.results)
			}
		case report := <-r.inquiries.reports:
			r.attend()
			r.identify(report)
		case focus := <-r.focused:
			r.refocus(focus)
		case <-beat:
			now := r.cfg.Now()
			if r.conn.ready && !r.cfg.Once {
				r.tree.Poll(now)
			}
			r.renewAuth(now)
		case <-wake.C:
		}
	}
}

// untilNext returns the time until the next deadline of the loop.
func (r *run) untilNext(now time.Time) time.Duration {
	next := time.Minute
	sooner := func(d time.Duration) { next = min(next, max(d, 0)) }
	if r.conn.link == nil {
		sooner(r.conn.retryAt.Sub(now))
	}
	if r.conn.ready && r.pacing.throttle > 0 {
		sooner(r.pacing.throttle)
	}
	if at := r.tree.Next(); !at.IsZero() {
		sooner(at.Sub(now))
	}
	return next
}

// event handles an event of a link.
func (r *run) event(e linkEvent) {
	r.cameLate()
	if e.kind == linkAnswered {
		r.answered(e.link, e.batch, e.at)
		return
	}
	if e.link != r.conn.link {
		return
	}
	switch e.kind {
	case linkNoWatch:
		r.notWatched(e.err, e.at)
	case linkUp:
		e.link.distance.quickest = e.link.tap.Latency() // before any read that takes the server's time
		r.login()
	case linkLost, linkFailed:
		r.lost(e)
	case linkFired:
		r.fired(e)
	}
}

// fired handles the event of a watch.
func (r *run) fired(e linkEvent) {
	p, ok := tree.Chroot(r.cfg.Chroot).Shown(e.path)
	if !ok {
		return
	}
	switch e.what {
	case zk.EventNodeCreated:
		r.tree.HandleEvent(p, tree.Created, e.at)
	case zk.EventNodeDeleted:
		r.tree.HandleEvent(p, tree.Deleted, e.at)
	case zk.EventNodeDataChanged:
		r.tree.HandleEvent(p, tree.Changed, e.at)
	}
}

// receive handles the outcome of a request, after all earlier events.
func (r *run) receive(res result) {
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	r.cameLate()
	r.result(res)
}

// deliver hands a result to the run's goroutine, unless that has ended. It may block, since results
// has room for all reads in flight, but not for logins too.
func (r *run) deliver(res result) {
	select {
	case r.results <- res:
	case <-r.ctx.Done():
	}
}

// finishPass notes when everything has been read once.
func (r *run) finishPass(now time.Time) {
	if r.cfg.Once && r.endsEarly(now) {
		r.done = true
		return
	}
	quiet := r.pacing.flying == 0 && r.pacing.batches == 0 && r.tree.Queue.Empty()
	if !quiet || !r.conn.ready || r.conn.link.broken {
		return
	}
	if !r.tree.FirstPass {
		r.tree.FirstPass, r.backend.stale = true, true
		r.inquiries.askAt = now
	} else if r.cfg.Once && r.inquiries.identified { // the lists after the watch table are done too
		r.done = true
	}
}

// endsEarly reports whether a single pass ends incomplete, because there is no progress or every
// server has refused us twice.
func (r *run) endsEarly(now time.Time) bool {
	waiting := !r.tree.FirstPass || r.inquiries.identified // otherwise for an inquiry, which has its own limit
	if waiting && now.Sub(r.progress) > r.cfg.Timeout {
		if r.pacing.paused.last > 0 {
			r.conn.why = zkwire.ErrThrottled.Error()
		} else if r.conn.why == "" {
			r.conn.why = "no answer within " + r.cfg.Timeout.String()
		}
		r.conn.ready = false
		return true
	}
	refused := !r.conn.ready && r.conn.failures >= 2 && !r.conn.slow
	return refused && r.inquiries.ended > 0 && !r.inquiries.asking
}

// refocus handles a change of the locks on the screen.
func (r *run) refocus(focus map[string]bool) {
	fresh := r.tree.Focus(focus)
	if now := r.cfg.Now(); fresh && now.Sub(r.inquiries.watchesAt) >= r.beats.identity {
		r.inquiries.askAt = now // a newly opened lock needs its watches
	}
}

// flush emits what changed.
func (r *run) flush(now time.Time) {
	u := r.extra
	r.extra = inspect.Update{}
	changes := r.tree.Changes()
	for _, l := range changes.Put {
		u.Put = append(u.Put, l)
	}
	for p, withdrawn := range changes.Gone {
		id := inspect.ID{Backend: r.cfg.Backend, Path: p}
		u.Gone = append(u.Gone, id)
		if withdrawn {
			u.Withdrawn = append(u.Withdrawn, id)
		}
	}
	u.Backend = r.changedBackend(now)
	if u.Put != nil || u.Gone != nil || u.Sessions != nil || u.Watches != nil || u.Backend != nil {
		u.At = now
		r.emit(u)
	}
}
