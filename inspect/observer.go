package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect/internal/stall"
)

// publishEvery is the shortest time between two snapshots: a screen shows at most 60 a second. The
// timer and the wire add up to 1.2 ms to a change, and the total should stay below 17 ms.
const publishEvery = 15 * time.Millisecond

// Observer joins the updates of several sources into snapshots. It keeps every lock's newest
// version, joins the session and watch tables, and remembers when it saw grants. It has many fields
// since one goroutine owns them all. Parts that can be tested alone are separate types (table,
// track, cycling, suspicions).
type Observer struct {
	sources []Source
	now     func() time.Time
	// worked is the clock for pacing work. It follows the process, while now may be the time of a
	// recording.
	worked func() time.Time

	mu            sync.Mutex
	latest        *Snapshot
	subscriptions map[*Subscription]struct{}

	reports

	// Owned by the goroutine of Run.
	locks    table
	backends []*backendState // in the order of the sources
	byName   map[string]*backendState
	reported []*backendState // by source: the backend that it reported last
	hidden   map[ID]hiddenLock
	tracks   map[ID]*track
	former   []ID // locks that are gone, and may still have a track
	changed  map[ID]struct{}
	events   []Event
	cleared  map[findingKey]Event // ended findings that are not reported yet
	// clearing holds the debounced ends of findings, earliest first.
	clearing []clearing
	dirty    bool
	// passing is set while all backends are being read once. Then only the number of locks is published, so that locks
	// can be changed instead of copied. finish does the rest.
	passing bool

	rules        []Rule
	asked        Case // the case of the lock that the rules examine
	stuckAfter   time.Duration
	expectations []Expectation
	hosts        *Hosts
	reach        map[string]Reach
	lapped       ID // where the next beat continues
	beaten       int
	cycling
	suspicions suspicions
	// outliersStale is set if locks changed since the last search for outliers.
	outliersStale bool
}

// reports is what the operator and this program's own actions tell the observer. Guarded by mu.
type reports struct {
	mutes  []Mute
	remute bool // mutes has changed
	forced map[freed]time.Time
	ended  map[endedSession]time.Time
	passed map[ID]time.Time // see Forget
	led    map[ID][]Led     // see Remember
}

// cycling is the search for deadlocks and its results. Owned by the goroutine of Run.
type cycling struct {
	deadlocks   deadlockSearch
	cycles      []Cycle
	cycleOf     map[ID]*Cycle
	cyclesStale bool      // contended locks changed since the last search
	cyclesAgain time.Time // when to search again although nothing changes; zero if there is no need
	before      *Snapshot // see After
}

// NewObserver makes an observer of these sources. Snapshots list the backends in their order. now
// is the clock.
func NewObserver(now func() time.Time, sources ...Source) *Observer {
	return &Observer{
		sources:       sources,
		now:           now,
		worked:        time.Now,
		latest:        NewSnapshot(now(), nil, nil),
		subscriptions: make(map[*Subscription]struct{}),
		reports: reports{
			forced: make(map[freed]time.Time), ended: make(map[endedSession]time.Time),
			passed: make(map[ID]time.Time), led: make(map[ID][]Led),
		},
		byName:   make(map[string]*backendState),
		reported: make([]*backendState, len(sources)),
		hidden:   make(map[ID]hiddenLock),
		tracks:   make(map[ID]*track),
		changed:  make(map[ID]struct{}),
		cleared:  make(map[findingKey]Event),
	}
}

// sourceUpdate is an update and its source.
type sourceUpdate struct {
	source int
	Update
}

// Sources is the number of sources, whether or not a snapshot has their backends yet.
func (o *Observer) Sources() int { return len(o.sources) }

// Run runs the sources until ctx ends or, if all are made for one pass, until they are done. The
// last snapshot then holds all they saw. Run joins its own error with theirs; the end of ctx is
// not an error.
func (o *Observer) Run(ctx context.Context) error {
	updates := make(chan sourceUpdate)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range o.sources {
		g.Go(func() error {
			err := recovered(func() error {
				return s.Run(ctx, func(u Update) {
					if ctx.Err() != nil {
						return // we are ending: failures do not count
					}
					select {
					case updates <- sourceUpdate{i, u}:
					case <-ctx.Done():
					}
				})
			})
			if errors.Is(err, context.Canceled) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			return err
		})
	}
	done := make(chan error, 1)
	go func() {
		done <- g.Wait()
		close(updates)
	}()
	err := recovered(func() error {
		o.loop(updates)
		return nil
	})
	if err != nil {
		stop()
		for range updates { // until the sources have ended
		}
	}
	return errors.Join(err, <-done)
}

// After gives the observer an earlier look at the same sources. From a single look it then reports
// only deadlocks that were already there. Call it before Run.
func (o *Observer) After(earlier *Snapshot) { o.before = earlier }

// Cycles are sought faster than a person notices one; outliers grow slowly.
const (
	cyclesEvery   = 250 * time.Millisecond
	outliersEvery = 30 * time.Second
)

// loop applies updates until the channel is closed. It publishes immediately after a quiet time,
// then at most once every publishEvery.
func (o *Observer) loop(updates <-chan sourceUpdate) {
	publish := time.NewTimer(0)
	<-publish.C
	defer publish.Stop()
	armed := false
	var published time.Time
	due := func() {
		if !armed && o.pending() {
			armed = true
			publish.Reset(max(0, publishEvery-o.worked().Sub(published)))
		}
	}
	beats := time.NewTicker(beat)
	defer beats.Stop()
	var own pulse
	cycles := newSearch[[]Cycle](o.worked, cyclesEvery)
	outliers := newSearch[map[string][]Outlier](o.worked, outliersEvery)
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				cycles.wait()
				outliers.wait()
				o.finish(o.now())
				o.publish()
				return
			}
			o.apply(u)
			o.passing = !watched(o.backends)
			due()
		case <-publish.C:
			armed = false
			o.publish()
			published = o.worked()
		case <-beats.C:
			if !own.steady(o.worked().Round(0)) {
				continue
			}
			now := o.now()
			o.onBeat(now)
			if !o.passing && o.cyclesDue(now) && cycles.start(&o.locks,
				func(locks iter.Seq[*Lock]) []Cycle { return o.deadlocks.find(locks, now) }) {
				o.cyclesStale = false
			}
			if !o.passing && o.outliersStale && outliers.start(&o.locks, findOutliers) {
				o.outliersStale = false
			}
			due()
		case found := <-cycles.found:
			cycles.done()
			o.setCycles(o.settledCycles(found, o.now()), o.now())
			due()
		case found := <-outliers.found:
			outliers.done()
			o.setOutliers(found, o.now())
			due()
		}
	}
}

// watched reports whether a backend is watched, not only read once.
func watched(backends []*backendState) bool {
	return slices.ContainsFunc(backends, func(p *backendState) bool { return !p.once() })
}

// pulse notices that this process, or its observer, was paused.
type pulse struct{ beaten, rest time.Time }

// wakeUp is the time after a pause during which elapsed time causes no findings: the sources first
// report the gap.
const wakeUp = time.Second

// steady records a beat, by the wall clock, and reports whether elapsed time may cause findings.
func (p *pulse) steady(now time.Time) bool {
	if !p.beaten.IsZero() && now.Sub(p.beaten) > stall.Limit {
		p.rest = now.Add(wakeUp)
	}
	p.beaten = now
	return !now.Before(p.rest)
}

func (o *Observer) pending() bool { return o.dirty || len(o.changed) > 0 }

// publish makes a snapshot if something changed, and wakes the subscribers.
func (o *Observer) publish() { o.publishAsOf(o.now()) }

func (o *Observer) publishAsOf(now time.Time) {
	if !o.pending() {
		return
	}
	locks := table{count: o.locks.len()}
	if !o.passing {
		locks = o.locks.share()
	}
	s := &Snapshot{
		TakenAt: now, locks: locks, cycles: o.cycles, owners: &owners{}, hosts: o.hosts,
		sessions: make(map[string]map[int64]Session, len(o.backends)),
		watched:  make(map[string]time.Time, len(o.backends)),
	}
	for _, p := range o.backends {
		if p.shown != nil {
			s.Backends = append(s.Backends, p.shown.Backend)
			s.reported = append(s.reported, p.state)
		}
		s.sessions[p.name], s.watched[p.name] = p.sessions, p.since
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = s
	if o.passing {
		return
	}
	for sub := range o.subscriptions {
		sub.wake(o.changed, o.events)
	}
	o.dirty = false
	o.changed = make(map[ID]struct{}) // a cleared map would keep its size, and be slow to walk
	o.events = nil
}

// Snapshot returns the newest snapshot.
func (o *Observer) Snapshot() *Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest
}

// Focus tells every source which locks a viewer has open.
func (o *Observer) Focus(ids ...ID) {
	for _, s := range o.sources {
		s.Focus(ids)
	}
}

// search runs over all locks, concurrently with the observer's other work.
type search[T any] struct {
	now     func() time.Time
	every   time.Duration
	found   chan T
	running bool
	began   time.Time
	next    time.Time
}

func newSearch[T any](now func() time.Time, every time.Duration) *search[T] {
	return &search[T]{now: now, every: every, found: make(chan T, 1)}
}

// start begins a search unless one is running or the last was too recent.
func (s *search[T]) start(locks *table, find func(iter.Seq[*Lock]) T) bool {
	if s.running || s.now().Before(s.next) {
		return false
	}
	s.running, s.began = true, s.now()
	shared := locks.share()
	go func() { s.found <- find(shared.all()) }()
	return true
}

// done records that the result has been taken. The next search begins at least s.every after the
// start of this one. All searches together use at most a twentieth of a core.
func (s *search[T]) done() {
	s.running = false
	s.next = s.began.Add(max(s.every, 20*s.now().Sub(s.began)))
}

func (s *search[T]) wait() {
	if s.running {
		<-s.found
		s.running = false
	}
}

// PanicError is a panic of a source, a rule or the observer. It ends the observer, so that a screen can
// restore the terminal.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// recovered returns the panic of f as an error.
func recovered(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return f()
}
