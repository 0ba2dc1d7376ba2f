package tui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// play feeds a model from a real observer of one lock, by its own clock.
type play struct {
	*Model
	t       *testing.T
	mu      sync.Mutex
	now     time.Time
	updates supplied
	sub     *inspect.Subscription
	lock    *inspect.Lock
}

// supplied is a source that emits what it receives.
type supplied chan inspect.Update

// Run implements inspect.Source.
func (c supplied) Run(ctx context.Context, emit func(inspect.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u := <-c:
			emit(u)
		}
	}
}

// Focus implements inspect.Source.
func (c supplied) Focus([]inspect.ID) {}

// observing runs an observer of a source until the test ends.
func observing(t testing.TB, clock func() time.Time, source supplied) *inspect.Subscription {
	t.Helper()
	observer := inspect.NewObserver(clock, source)
	sub := observer.Subscribe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- observer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Be(t, <-done, nil)
		sub.Close()
	})
	return sub
}

func (p *play) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// playing starts a play two minutes before noon, with the lock as it is first seen.
func playing(t *testing.T, o Options, l *inspect.Lock, width, height int) *play {
	t.Helper()
	p := &play{t: t, now: fixture.Ago(2 * time.Minute), updates: make(supplied), lock: l}
	p.sub = observing(t, p.clock, p.updates)
	o.Now = p.clock
	p.Model = model(t, o, width, height, nil)
	backend := &inspect.Backend{
		Name: l.ID.Backend, Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true,
		Servers: []inspect.Server{{Addr: "10.1.0.1:2181", State: inspect.ServerUp, ClockKnown: true}},
	}
	p.publish(inspect.Update{Put: []*inspect.Lock{p.copy()}, Backend: backend})
	return p
}

func (p *play) copy() *inspect.Lock {
	l := *p.lock
	l.ReadAt = p.clock()
	l.Holders = append([]inspect.Contender(nil), l.Holders...)
	l.Waiters = append([]inspect.Contender(nil), l.Waiters...)
	l.State = inspect.StateFree
	switch {
	case len(l.Waiters) > 0:
		l.State = inspect.StateContended
	case len(l.Holders) > 0:
		l.State = inspect.StateHeld
	}
	return &l
}

// publish sends an update to the observer, and the resulting snapshot to the model.
func (p *play) publish(u inspect.Update) {
	p.t.Helper()
	p.updates <- u
	for {
		s := must.Have(p.sub.Next(p.t.Context()))(p.t)
		send(p.Model, snapshotArrivedMsg{snapshot: s})
		if l := s.Lock(p.lock.ID); l != nil && l.ReadAt.Equal(u.Put[0].ReadAt) {
			return
		}
	}
}

// at changes the lock at some time before noon, and shows the change.
func (p *play) at(before time.Duration, change func(l *inspect.Lock)) {
	p.t.Helper()
	p.until(before)
	change(p.lock)
	p.publish(inspect.Update{Put: []*inspect.Lock{p.copy()}})
}

// until advances the time.
func (p *play) until(before time.Duration) {
	p.mu.Lock()
	p.now = fixture.Ago(before)
	p.mu.Unlock()
	send(p.Model, tickedMsg{p.ticking})
}

// newcomer is a new contender.
func (p *play) newcomer(seq int32) inspect.Contender {
	c := fixture.Znode(seq, fmt.Sprintf("worker-%d", seq%5+1), 0, nil, 0)
	c.Since, c.State = p.clock(), inspect.Waiting
	return c
}

// come adds a contender at the end of the queue, as the holder if the lock is free.
func (p *play) come(before time.Duration, seq int32) {
	p.at(before, func(l *inspect.Lock) {
		c := p.newcomer(seq)
		if len(l.Holders) == 0 {
			c.State = inspect.Holding
			l.Holders = append(l.Holders, c)
			return
		}
		l.Waiters = append(l.Waiters, c)
	})
}

// pass hands the lock to the n-th waiter.
func (p *play) pass(before time.Duration, n int) {
	p.at(before, func(l *inspect.Lock) {
		next := l.Waiters[n]
		next.State, next.Watches = inspect.Holding, ""
		l.Holders = []inspect.Contender{next}
		l.Waiters = append(append([]inspect.Contender(nil), l.Waiters[:n]...), l.Waiters[n+1:]...)
	})
}

// unfairPlay is a lock that was held when watching began. One waiter is overtaken twice and one gives up.
func unfairPlay(t *testing.T, o Options, width, height int) *play {
	t.Helper()
	p := playing(t, o, startOfPlay(), width, height)
	p.come(110*time.Second, 102)
	p.come(104*time.Second, 103)
	p.pass(90*time.Second, 0) // to 101
	p.pass(70*time.Second, 1) // 103, before 102
	p.come(62*time.Second, 104)
	p.come(58*time.Second, 105)
	p.pass(48*time.Second, 1) // 104, before 102
	p.at(30*time.Second, func(l *inspect.Lock) { l.Waiters = l.Waiters[:1] })
	p.until(0)
	return p
}

// startOfPlay is a lock with a holder and one waiter.
func startOfPlay() *inspect.Lock {
	holder := fixture.Znode(100, "worker-1", 150*time.Second, nil, 0)
	first := fixture.Znode(101, "worker-2", 135*time.Second, &holder, inspect.Confirmed)
	return &inspect.Lock{
		ID: fixture.Id("zk:/locks/fair"), Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain,
		Holders: []inspect.Contender{holder}, Waiters: []inspect.Contender{first},
	}
}

// timeline opens the timeline of the lock.
func (p *play) timeline() *Model {
	goTo(p.Model, screen.Timeline, screen.Subject{Lock: p.lock.ID})
	return p.Model
}

// library is a lock with many readers and one waiting writer.
func library(readers int) *inspect.Lock {
	l := &inspect.Lock{
		ID: fixture.Id("zk:/locks/library"), Kind: inspect.KindRW, Recipe: "kazoo", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: fixture.Noon,
	}
	for i := range int32(readers) {
		c := fixture.Znode(10+i, "reader-"+string('a'+i), time.Duration(50-i)*time.Second, nil, 0)
		c.Mode, c.BlockedBelow = recipe.Shared, 1
		l.Holders = append(l.Holders, c)
	}
	w := fixture.Znode(30, "writer-1", 12*time.Second, &l.Holders[readers-1], inspect.Confirmed)
	w.BlockedBelow = 5
	l.Waiters = append(l.Waiters, w)
	for i := range int32(5) {
		c := fixture.Znode(31+i, "later-"+string('a'+i), time.Duration(11-i)*time.Second, &w, inspect.Confirmed)
		c.Mode = recipe.Shared
		l.Waiters = append(l.Waiters, c)
	}
	return l
}

// A row of Locks and the head of Chain plot the queue over the last few minutes.
func TestTrendsAreShown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ascii bool
		locks string
	}{{false, "▅▅▆▃     1"}, {true, "==+-     1"}} {
		p := unfairPlay(t, Options{Theme: theme.Options{ASCII: test.ascii}}, 120, 36)
		wantText(t, p.Model, "LAST 5M QUEUE", test.locks)
		goTo(p.Model, screen.Chain, screen.Subject{Lock: p.lock.ID})
		wantText(t, p.Model, "queue, last 15m", strings.TrimRight(test.locks, " 1"))
	}
}

// A cached trend equals a recomputed one, even after going back in time.
func TestCachedTrendMatchesRecomputed(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	same := func() {
		t.Helper()
		kept := p.Trend(p.lock.ID)
		clear(p.trends)
		fresh := p.Trend(p.lock.ID)
		must.Same(t, kept.Waiting, fresh.Waiting, "cached")
		must.Same(t, kept.Holding, fresh.Holding, "cached")
	}
	for i, before := range []int{110, 95, 61, 60, 31} {
		p.Trend(p.lock.ID)
		p.come(time.Duration(before)*time.Second, int32(102+i))
		same()
	}
	press(p.Model, "{")
	same()
	must.True(t, p.Trend(p.lock.ID).Waiting[screen.TrendCells-1] >= 0, "a minute ago is unknown")
}

// Backends plots our load and a server's latency over the last few minutes, once there is a past.
func TestBackendsDrawTheLastMinutes(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 200, 50)
	goTo(p.Model, screen.Backends, screen.Subject{})
	keysHide(t, p.Model, "j", "last 15m")
	for i := range 4 {
		p.until(time.Duration(90-30*i) * time.Second)
		p.publish(inspect.Update{Put: []*inspect.Lock{p.copy()}, Backend: &inspect.Backend{
			Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true,
			Cost:    inspect.Cost{PerSecond: float64(10 * (i + 1))},
			Servers: []inspect.Server{{Addr: "10.1.0.1:2181", State: inspect.ServerUp, Latency: time.Duration(i+1) * time.Millisecond}},
		}})
	}
	p.until(0)
	wantText(t, p.Model, "last 15m", "max 30/s, 30s average", "4.0 ms now", "max 3.0 ms, 30s average")
}

// The header's load adds up ZooKeeper and Redis: all requests, including each command of a pipeline,
// and the watches.
func TestHeaderShowsTotalLoad(t *testing.T) {
	b := fixture.Backends()
	b[0].Cost = inspect.Cost{Requests: 900, PerSecond: 30, Watches: 214}
	b[1].Cost = inspect.Cost{Requests: 20_000, PerSecond: 2_012}
	m := model(t, Options{}, 160, 40, fixture.ObservedOf(t, inspect.Update{Backend: b[0]}, inspect.Update{Backend: b[1]}))
	wantText(t, m, "our load 2042/s", "214 watches")
}
