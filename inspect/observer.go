package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// publishEvery is the shortest time between two snapshots: a screen shows no more than 60 a second.
const publishEvery = 16 * time.Millisecond

// Observer joins what several sources see into snapshots: it keeps every lock's newest version, joins the identity
// and watch tables, and remembers when it saw a contender being granted.
type Observer struct {
	sources []Source
	now     func() time.Time

	mu            sync.Mutex
	latest        *Snapshot
	subscriptions map[*Subscription]struct{}

	// Owned by the goroutine of Run.
	locks    table
	backends []*Backend // by source; nil until it told its state
	sessions map[string]map[int64]Session
	watched  map[string]bool // backends that were looked at in full once: what comes now is new
	changed  map[ID]struct{}
	dirty    bool
}

// NewObserver makes an observer of these sources; the snapshots' backends come in their order. now is the clock.
func NewObserver(now func() time.Time, sources ...Source) *Observer {
	return &Observer{
		sources:       sources,
		now:           now,
		latest:        &Snapshot{TakenAt: now()},
		subscriptions: make(map[*Subscription]struct{}),
		backends:      make([]*Backend, len(sources)),
		sessions:      make(map[string]map[int64]Session),
		watched:       make(map[string]bool),
		changed:       make(map[ID]struct{}),
	}
}

// sourceUpdate is an update and the source that it came from.
type sourceUpdate struct {
	source int
	Update
}

// Run runs the sources until ctx ends or, when all are made for one pass, until they are done; the last snapshot
// then holds all they saw. Its error joins theirs; the end of ctx is none.
func (o *Observer) Run(ctx context.Context) error {
	updates := make(chan sourceUpdate)
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range o.sources {
		g.Go(func() error {
			err := s.Run(ctx, func(u Update) {
				select {
				case updates <- sourceUpdate{i, u}:
				case <-ctx.Done():
				}
			})
			if errors.Is(err, context.Canceled) {
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
	o.join(updates)
	if err := <-done; err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	return nil
}

// join applies updates until the channel is closed and publishes: at once after a quiet time, then at most once
// every publishEvery.
func (o *Observer) join(updates <-chan sourceUpdate) {
	timer := time.NewTimer(0)
	<-timer.C
	armed := false
	var published time.Time
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				timer.Stop()
				o.publish()
				return
			}
			o.apply(u)
			if wait := publishEvery - time.Since(published); !armed && wait > 0 {
				timer.Reset(wait)
				armed = true
			} else if !armed {
				o.publish()
				published = time.Now()
			}
		case <-timer.C:
			armed = false
			o.publish()
			published = time.Now()
		}
	}
}

func (o *Observer) apply(u sourceUpdate) {
	if u.Backend != nil {
		o.backends[u.source] = u.Backend
		o.dirty = true
	}
	if b := o.backends[u.source]; u.Sessions != nil && b != nil {
		o.sessions[b.Name] = u.Sessions
		o.rejoin(b.Name)
		o.dirty = true
	}
	for _, l := range u.Put {
		o.put(l)
	}
	if u.Backend != nil && u.Backend.FirstPass && u.Backend.Mode != ModeOnce {
		o.watched[u.Backend.Name] = true // after the locks of the first pass, which were there before
	}
	for _, id := range u.Gone {
		o.locks = o.locks.without(id)
		o.changed[id] = struct{}{}
	}
	if u.Watches != nil {
		o.confirm(u.Watches)
	}
}

func (o *Observer) put(read *Lock) {
	l := clone(read)
	offset := o.clockOffset(l.ID.Backend)
	if was := o.locks.get(l.ID); was != nil {
		carry(was, l, offset)
	} else if o.watched[l.ID.Backend] {
		appeared(l, offset)
	}
	identify(l, o.sessions[l.ID.Backend])
	o.replace(l)
}

func (o *Observer) replace(l *Lock) {
	o.locks = o.locks.with(l)
	o.changed[l.ID] = struct{}{}
}

func (o *Observer) clockOffset(backend string) time.Duration {
	for _, b := range o.backends {
		if b != nil && b.Name == backend {
			return b.ClockOffset()
		}
	}
	return 0
}

// rejoin puts a new table of sessions into the locks of a backend that it says something new about.
func (o *Observer) rejoin(backend string) {
	for l := range o.locks.all() {
		if l.ID.Backend != backend {
			continue
		}
		joined := clone(l)
		if identify(joined, o.sessions[backend]) {
			o.replace(joined)
		}
	}
}

// confirm compares the waiters' expected watches with the server's table.
func (o *Observer) confirm(t *WatchTable) {
	for l := range o.locks.all() {
		if l.ID.Backend != t.Backend || t.Covers != nil && !slices.Contains(t.Covers, l.ID) {
			continue
		}
		confirmed := clone(l)
		if confirmWatches(confirmed, t) {
			o.replace(confirmed)
		}
	}
}

// publish makes a snapshot of what changed, when something did, and wakes the subscribers.
func (o *Observer) publish() {
	if !o.dirty && len(o.changed) == 0 {
		return
	}
	s := &Snapshot{TakenAt: o.now(), locks: o.locks, sessions: maps.Clone(o.sessions)}
	for _, b := range o.backends {
		if b != nil {
			s.Backends = append(s.Backends, b)
		}
	}
	o.mu.Lock()
	o.latest = s
	for sub := range o.subscriptions {
		sub.wake(o.changed)
	}
	o.mu.Unlock()
	o.dirty = false
	clear(o.changed)
}

// Snapshot is the newest snapshot.
func (o *Observer) Snapshot() *Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest
}

// Focus tells every source which locks somebody looks at.
func (o *Observer) Focus(ids ...ID) {
	for _, s := range o.sources {
		s.Focus(ids)
	}
}

// Subscription hands out snapshots to one reader, always the newest, each with the changes since the one before.
type Subscription struct {
	observer *Observer
	signal   chan struct{}
	changed  map[ID]struct{} // guarded by observer.mu
	first    bool
}

// Subscribe starts a subscription. Its first snapshot is there at once. Close it when done.
func (o *Observer) Subscribe() *Subscription {
	sub := &Subscription{observer: o, signal: make(chan struct{}, 1), changed: make(map[ID]struct{}), first: true}
	sub.signal <- struct{}{}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.subscriptions[sub] = struct{}{}
	return sub
}

// wake is called with the observer's lock held.
func (s *Subscription) wake(changed map[ID]struct{}) {
	for id := range changed {
		s.changed[id] = struct{}{}
	}
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// Next waits for a snapshot newer than the last one it returned, or for the end of ctx.
func (s *Subscription) Next(ctx context.Context) (*Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.signal:
	}
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	snapshot := *s.observer.latest
	if !s.first {
		snapshot.Changed = make([]ID, 0, len(s.changed))
		for id := range s.changed {
			snapshot.Changed = append(snapshot.Changed, id)
		}
	}
	s.first = false
	clear(s.changed)
	return &snapshot, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	delete(s.observer.subscriptions, s)
}
