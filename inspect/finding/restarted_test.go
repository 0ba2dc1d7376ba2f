package finding

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// onlooker watches an ensemble, and notes what it reports.
type onlooker struct {
	observer *inspect.Observer
	mu       sync.Mutex
	events   []inspect.Event
	away     awayLooks
}

func lookOn(t *testing.T, cfg zksource.Config) *onlooker {
	o := &onlooker{observer: inspect.NewObserver(time.Now, zksource.New(cfg))}
	o.observer.Diagnose(append(Rules(), o.away.rule()), time.Hour)
	news := o.observer.Subscribe()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = o.observer.Run(ctx) })
	running.Go(func() {
		for {
			s, err := news.Next(ctx)
			if err != nil {
				return
			}
			o.mu.Lock()
			o.events = append(o.events, s.Events...)
			o.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		news.Close()
	})
	return o
}

func (o *onlooker) backend() *inspect.Backend {
	if b := o.observer.Snapshot().Backends; len(b) == 1 {
		return b[0]
	}
	return &inspect.Backend{}
}

// taken gives the events so far and forgets them.
func (o *onlooker) taken() []inspect.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	events := o.events
	o.events = nil
	return events
}

func awaitTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) { // no event tells of all of it
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// awayLooks notes the looks at a lock after an instant that found all servers' sessions, and the holder's not among them.
type awayLooks struct {
	mu          sync.Mutex
	since       time.Time
	first, last time.Time
}

func (a *awayLooks) rule() inspect.Rule {
	return inspect.Rule{Name: "away", Lock: func(c *inspect.Case) []inspect.Finding {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.since.IsZero() || !c.AllSessions || c.SessionsAt.Before(a.since) || len(c.Lock.Holders) == 0 {
			return nil
		}
		if _, connected := c.Sessions[c.Lock.Holders[0].Owner.Session]; !connected {
			if a.first.IsZero() {
				a.first = c.SessionsAt
			}
			a.last = c.SessionsAt
		}
		return nil
	}}
}

func (a *awayLooks) from(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = at
}

// stood reports whether two looks lie so far apart that what both found is no passing state.
func (a *awayLooks) stood() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.Sub(a.first) > inspect.SettleFor
}

// comeback is an ensemble, clients of kazoo that hold and wait in it, and onlookers: the second polls.
type comeback struct {
	ensemble  *servertest.Ensemble
	cfg       zksource.Config
	clients   *servertest.Peer
	paths     []string
	onlookers []*onlooker
	since     time.Time // of the last restart
}

func startComeback(t *testing.T) *comeback {
	b := &comeback{ensemble: servertest.StartEnsemble(t, servertest.EnsembleConfig{}), paths: []string{"/locks/a", "/locks/b"}}
	b.cfg.Backend = "zk"
	for _, m := range b.ensemble.Members {
		b.cfg.Servers, b.cfg.Admin = append(b.cfg.Servers, m.Addr), append(b.cfg.Admin, m.Admin)
	}
	b.clients = servertest.StartKazooLocks(t, strings.Join(b.cfg.Servers, ",")) // Curator's waiters give up when the connection is lost
	b.clients.Send(t, "timeout", "30")
	for _, path := range b.paths {
		b.clients.Send(t, "lock", "holder"+path, path)
		b.clients.Expect(t, "acquired lock holder"+path)
		b.clients.Send(t, "lock", "waiter"+path, path)
	}
	b.onlookers = []*onlooker{lookOn(t, b.cfg)}
	for _, o := range b.onlookers { // watches are asked for of what is on the screen
		o.observer.Focus(inspect.ID{Backend: "zk", Path: b.paths[0]}, inspect.ID{Backend: "zk", Path: b.paths[1]})
	}
	b.awaitEach(t, "all is seen", b.whole)
	for _, o := range b.onlookers {
		o.taken()
	}
	return b
}

// whole reports whether an onlooker sees who holds, who waits, their clients and what is watched.
func (b *comeback) whole(o *onlooker) bool {
	if k := o.backend(); k.State != inspect.Connected || !k.FirstPass || k.HeardAt.Before(b.since) {
		return false
	}
	for _, path := range b.paths {
		l := o.observer.Snapshot().Lock(inspect.ID{Backend: "zk", Path: path})
		if l == nil || len(l.Holders) != 1 || len(l.Waiters) != 1 || l.Holders[0].Owner.Client == "" || l.Waiters[0].Watch != inspect.Confirmed {
			return false
		}
	}
	return true
}

func (b *comeback) awaitEach(t *testing.T, what string, is func(*onlooker) bool) {
	t.Helper()
	awaitTrue(t, what, func() bool {
		return !slices.ContainsFunc(b.onlookers, func(o *onlooker) bool { return !is(o) })
	})
}

// restart kills these members and starts them again.
func (b *comeback) restart(t *testing.T, members ...*servertest.ZooKeeper) {
	for _, m := range members {
		m.Kill(t)
	}
	if len(members) == len(b.ensemble.Members) {
		b.awaitEach(t, "it is noticed", func(o *onlooker) bool { return o.backend().State == inspect.Down })
	}
	b.since = time.Now()
	var starting sync.WaitGroup
	for _, m := range members {
		starting.Go(func() { m.Restart(t) })
	}
	starting.Wait()
	b.ensemble.Heal(t)
}

// All servers of an ensemble are killed and started again while clients of kazoo hold and wait, and the clients take their time to come
// back: until their sessions run out nobody ends, is a ghost or waits for nothing, for those who go on watching and for one look.
// Then one server after the other is. It is told of what time nothing was seen.
func TestClientsComeBackToARestartedEnsemble(t *testing.T) {
	t.Parallel()
	b := startComeback(t)
	b.clients.Pause(t)
	for _, o := range b.onlookers {
		o.away.from(time.Now())
	}
	b.restart(t, b.ensemble.Members...)
	b.awaitEach(t, "all servers report that the clients are not back", func(o *onlooker) bool { return o.away.stood() })
	cfg := b.cfg
	cfg.Once = true
	for path, found := range diagnosis(t, zksource.New(cfg), time.Hour) {
		for _, rule := range found {
			if rule == "ghost-owner" || rule == "missing-watch" || rule == "lost-wakeup" {
				t.Errorf("one look at %s: %s", path, rule)
			}
		}
	}
	b.clients.Resume(t)
	b.awaitEach(t, "all is seen again", b.whole)
	for i, o := range b.onlookers {
		uneventful(t, i, o, true)
	}
	for _, m := range b.ensemble.Members {
		b.restart(t, m)
	}
	b.since = time.Time{} // who watched a server that stayed had no need to read again
	b.awaitEach(t, "all is seen after each was restarted", b.whole)
	for i, o := range b.onlookers {
		uneventful(t, i, o, false)
	}
}

// uneventful looks for what did not happen among what an onlooker reported.
func uneventful(t *testing.T, i int, o *onlooker, blind bool) {
	t.Helper()
	seen := false
	for _, e := range o.taken() {
		switch {
		case e.Kind == inspect.EventBlind:
			if seen = true; e.Between.From.IsZero() || !e.Between.To.After(e.Between.From) {
				t.Errorf("onlooker %d: blind without bounds: %+v", i, e)
			}
		case e.Contender != nil:
			t.Errorf("onlooker %d: %s of %s in %s: nobody came or went", i, e.Kind, e.Contender.Name, e.Lock)
		case e.Finding != nil && (e.Finding.Severity == inspect.Critical || e.Finding.Rule == "ghost-owner" || e.Finding.Rule == "missing-watch" || e.Finding.Rule == "lost-wakeup"):
			t.Errorf("onlooker %d: %s: %s, %s", i, e.Lock, e.Finding.Rule, e.Finding.Message)
		}
	}
	if blind && !seen {
		t.Errorf("onlooker %d: nothing said of what time nothing was seen", i)
	}
}
