package zksource

import (
	"context"
	"sync"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcekit"
	"lockscope/inspect/internal/stall"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zkadmin"
	"lockscope/inspect/zksource/ensemble"
	"lockscope/internal/connect"
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
	ctx, cancel := sourcekit.OwnEnd(ctx)
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
	reach := zkadmin.Config{Dial: cfg.Dial, TLS: cfg.TLS, AdminTLS: cfg.AdminTLS, Username: cfg.AdminUser, Password: cfg.AdminPassword}
	return &run{
		cfg: s.cfg, beats: s.beats, ctx: ctx, emit: emit, focused: s.focused,
		stall: stall.New(s.cfg.Now), inbox: newInbox(), results: make(chan result, inFlight), reports: make(chan *ensemble.Report, 1),
		shortest: 2 * s.beats.identity, dirs: map[string]*dir{}, queue: newQueue(s.cfg), due: map[*dir]bool{}, expiring: map[*dir]time.Time{},
		puts: map[string]*inspect.Lock{}, gone: map[string]bool{}, progress: s.cfg.Now(),
		ensemble: ensemble.New(cfg.Servers, cfg.Admin, reach), refused: map[string]refusal{}, sealed: map[string]refusal{}, spentOn: map[string]uint64{}, lacks: map[string]lacking{}, crowds: map[string]*dir{},
	}
}

// run is one call of Run. Its fields belong to the goroutine of that call; requests run on others and send results.
type run struct {
	cfg   Config
	beats beats
	ctx   context.Context
	emit  func(inspect.Update)
	tasks sync.WaitGroup

	// The connection. ready: there is a session, and login if one is needed.
	link       *link
	ready      bool
	readyAt    time.Time
	inbox      *inbox
	retryAt    time.Time
	failures   int
	linkErr    string // why there is none
	slow       bool   // a server did not answer in time
	reasons    map[string]string
	spent      uint64            // requests on links that are gone
	spentOn    map[string]uint64 // the same by server
	heartbeats uint64            // on links that are gone
	lostLinks  int
	lies       int // links that ended because of what a server said

	// What the servers are able to, see ability.go.
	manyReads            bool               // and one watch that reports all below a root
	lacks                map[string]lacking // by server
	below                []string           // roots with a watch of all below
	heat                 heat
	paused               pause
	toSweep              []*dir
	sweepAt              time.Time
	sweepEvery           time.Duration
	itemsRead, bytesRead uint64

	// What is to be asked, and what comes back.
	queue    queue
	flying   int
	batches  int      // requests for many reads on their way
	spare    []*batch // done with, for their memory
	size     connect.ReadSize
	results  chan result
	progress time.Time
	throttle time.Duration // until the budget has a token again; zero: nothing waits for it

	// The tree.
	dirs      map[string]*dir
	due       map[*dir]bool // directories that wait for their own budget
	expiring  map[*dir]time.Time
	firstPass bool
	scanned   int
	refused   map[string]refusal // nodes that could not be read or listed, by path
	sealed    map[string]refusal // directories and nodes that are locks whose own data could not be read, by path
	crowds    map[string]*dir    // by path
	tooDeep   string             // the first directory that is not walked into; empty: none
	names     int                // of children, in all directories
	tooMany   bool               // some were left out
	noChroot  bool               // it does not exist
	doubtAt   time.Time          // when something refused was asked for again
	walkedAt  time.Time          // when poll looked at all directories
	empty     inspect.EmptyDirs
	emptyAt   time.Time // when they were counted
	focused   sourcekit.Focus
	focus     map[string]bool

	// Identities of the sessions.
	ensemble   *ensemble.Ensemble
	reports    chan *ensemble.Report
	asking     bool
	afterPass  bool      // it was started after the first pass, and asks for what that found
	askAt      time.Time // when to ask next
	askedAt    time.Time
	watchesAt  time.Time                 // when the watch tables were asked for
	inquiries  int                       // that have ended
	identified bool                      // an inquiry has ended that was started after the first pass
	sessions   map[int64]inspect.Session // of the newest answers
	shortest   time.Duration             // timeout of the sessions that have something in a lock

	// What happened to the servers, and to us.
	heardAt   time.Time // all that had happened by then has been heard: see connect.Tap.Ordered
	lateUntil time.Time // when news came late, the last time
	stall     *stall.Watch
	stood     inspect.Interval // the stall since which there was no connection; zero once there was

	// What is to be emitted.
	puts    map[string]*inspect.Lock
	gone    map[string]bool // true: withdrawn
	extra   inspect.Update  // identity tables
	backend backendState
	done    bool
}

// loop runs until the context ends or the one pass is done.
func (r *run) loop() {
	beat := time.NewTicker(r.beats.poll)
	defer beat.Stop()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for _, root := range r.cfg.Roots {
		r.root(root)
	}
	if r.cfg.Only != "" && r.cfg.Only != "/" {
		r.root(recipe.KazooQueuePath(r.cfg.Only))
	}
	for r.ctx.Err() == nil {
		now := r.attend()
		r.connect(now)
		r.wakeDue(now)
		r.expire(now)
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
			r.attend() // else the end of a connection during a stall of ours would be the server's
			for _, e := range events {
				r.event(e)
			}
		case res := <-r.results:
			r.attend()
			r.receive(res)
			for range len(r.results) {
				r.receive(<-r.results)
			}
		case who := <-r.reports:
			r.attend()
			r.identify(who)
		case focus := <-r.focused:
			r.refocus(focus)
		case <-beat.C:
			r.poll(r.cfg.Now())
			r.measureHeat(r.cfg.Now())
		case <-wake.C:
		}
	}
}

// untilNext returns the time until the next deadline of the loop, if no event comes before.
func (r *run) untilNext(now time.Time) time.Duration {
	next := time.Minute
	sooner := func(d time.Duration) { next = min(next, max(d, 0)) }
	if r.link == nil {
		sooner(r.retryAt.Sub(now))
	}
	if r.ready && r.throttle > 0 {
		sooner(r.throttle)
	}
	for d := range r.due {
		sooner(d.due.Sub(now))
	}
	for _, at := range r.expiring {
		sooner(at.Sub(now))
	}
	return next
}

// event takes in an event of a link.
func (r *run) event(e linkEvent) {
	r.cameLate()
	if e.kind == linkAnswered {
		r.answered(e.link, e.batch, e.at)
		return
	}
	if e.link != r.link {
		return
	}
	switch e.kind {
	case linkNoWatch:
		r.notWatched(e.err, e.at)
	case linkUp:
		r.link.quickest = r.link.tap.Latency() // nothing was read yet that could have taken the server's time
		r.login()
	case linkLost, linkFailed:
		r.lost(e)
	case linkFired:
		if p, ok := r.cfg.shown(e.path); ok && r.covered(p) {
			r.changedBelow(p, e.what, e.at)
		}
	}
}

// receive takes in what came of a request, after the events that came before it.
func (r *run) receive(res result) {
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	r.cameLate()
	r.result(res)
}

// deliver hands a result to the run's goroutine, unless that has ended: logins come on top of the requests that results
// has room for.
func (r *run) deliver(res result) {
	select {
	case r.results <- res:
	case <-r.ctx.Done():
	}
}

// started reads everything that is known again, what is on the screen first, and then walks on.
func (r *run) started() {
	r.ready, r.failures, r.linkErr, r.reasons = true, 0, "", nil
	r.readyAt = r.cfg.Now()
	r.looksAgain(r.readyAt)
	r.manyReads = r.able(r.readyAt)
	r.watchBelow()
	if r.lostLinks > 0 {
		r.ensemble.Disturb(r.readyAt) // others may have lost it, too
	}
	if r.backend.stale = true; r.lostLinks == 0 { // one that is lost again and again is no progress
		r.progress = r.readyAt
	}
	for _, d := range r.dirs {
		switch {
		case d.phase == leaf && d.dataWanted:
			r.requestData(d)
		case d.phase == leaf:
		case d.phase == unasked || d.phase == crowded || d.phase == absent:
			r.push(&r.queue.walk, job{kind: r.firstLook(d), dir: d})
		case r.inFocus(d):
			r.push(&r.queue.urgent, job{kind: jobList, dir: d})
		case d.reported != nil:
			r.push(&r.queue.reads, job{kind: jobList, dir: d})
		default:
			r.push(&r.queue.walk, job{kind: jobList, dir: d})
		}
	}
}

// push queues a request about a directory as a whole, unless one is under way.
func (r *run) push(list *[]job, j job) {
	if j.dir.busy {
		j.dir.again = true
		return
	}
	j.dir.busy = true
	*list = append(*list, j)
}

// dispatch sends as many requests as the budgets allow.
func (r *run) dispatch(now time.Time) {
	r.throttle = max(0, r.paused.until.Sub(now))
	if r.throttle > 0 {
		return
	}
	if r.ready && r.manyReads {
		r.dispatchMany(now)
		return
	}
	for r.ready && r.flying < inFlight && !r.queue.empty() {
		j, wait, ok := r.queue.next(now)
		if !ok {
			r.throttle = wait
			return
		}
		if !r.wanted(j) {
			continue
		}
		r.sendAlone(j)
	}
}

// wanted reports whether what a job asks for was not gone meanwhile.
func (r *run) wanted(j job) bool {
	return r.dirs[j.dir.path] == j.dir && (j.kind != jobGet || j.dir.awaits(j.name))
}

// finishPass notes when everything was looked at once.
func (r *run) finishPass(now time.Time) {
	waiting := !r.firstPass || r.identified // and not for an inquiry, which has a limit of its own
	if r.cfg.Once && waiting && now.Sub(r.progress) > r.cfg.Timeout {
		if r.paused.last > 0 {
			r.linkErr = connect.ErrThrottled.Error()
		} else if r.linkErr == "" {
			r.linkErr = "no answer within " + r.cfg.Timeout.String()
		}
		r.ready, r.done = false, true
		return
	}
	if r.cfg.Once && !r.ready && r.failures >= 2 && !r.slow && r.inquiries > 0 && !r.asking { // every server refused, twice
		r.done = true
		return
	}
	if !r.ready || r.link.broken || r.flying > 0 || r.batches > 0 || !r.queue.empty() {
		return
	}
	if !r.firstPass {
		r.firstPass, r.backend.stale = true, true
		r.askAt = now
	} else if r.cfg.Once && r.identified { // and what was to be listed again after the table of watches is
		r.done = true
	}
}

// refocus takes in what is on the screen: long queues there are read in full.
func (r *run) refocus(focus map[string]bool) {
	before := r.focus
	r.focus = focus
	fresh := false
	for p := range before {
		if d := r.dirs[p]; d != nil && !r.looksClosely(p) {
			d.access = nil
		}
	}
	for p := range focus {
		if d := r.dirs[p]; d != nil && !before[p] {
			fresh = true
			r.readWanted(d, &r.queue.urgent, nil)
			for _, part := range d.parts {
				r.readWanted(part, &r.queue.urgent, nil)
			}
		}
		if d := r.dirs[p]; d != nil && d.reported != nil && d.access == nil && r.looksClosely(p) {
			r.judge(d) // which asks for its access lists
		}
	}
	if now := r.cfg.Now(); fresh && now.Sub(r.watchesAt) >= r.beats.identity {
		r.askAt = now // a chain was opened: its watches are worth asking for
	}
}

// flush emits what changed.
func (r *run) flush(now time.Time) {
	u := r.extra
	r.extra = inspect.Update{}
	for _, l := range r.puts {
		u.Put = append(u.Put, l)
		r.shorten(l)
	}
	for p, withdrawn := range r.gone {
		id := inspect.ID{Backend: r.cfg.Backend, Path: p}
		if u.Gone = append(u.Gone, id); withdrawn {
			u.Withdrawn = append(u.Withdrawn, id)
		}
	}
	clear(r.puts)
	clear(r.gone)
	u.Backend = r.changedBackend(now)
	if u.Put != nil || u.Gone != nil || u.Sessions != nil || u.Watches != nil || u.Backend != nil {
		u.At = now
		r.emit(u)
	}
}
