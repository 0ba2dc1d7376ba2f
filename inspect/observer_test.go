package inspect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a Source that emits the test's updates.
type script struct{ updates chan Update }

func (s script) Run(ctx context.Context, emit func(Update)) error {
	for {
		select {
		case u, ok := <-s.updates:
			if !ok {
				return nil
			}
			emit(u)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (script) Focus([]ID) {}

// running is an observer that runs, of updates that the test sends.
type running struct {
	*Observer
	send chan<- Update
	sub  *Subscription
	done chan error
}

// runs runs an observer with one source, whose updates the test sends.
func runs(t *testing.T, clock func() time.Time, rules ...Rule) *running {
	src := script{make(chan Update)}
	r := &running{NewObserver(clock, src), src.updates, nil, make(chan error, 1)}
	r.Diagnose(rules, time.Minute)
	r.sub = r.Subscribe()
	t.Cleanup(r.sub.Close)
	go func() { r.done <- r.Run(t.Context()) }()
	return r
}

// await waits for a snapshot.
func (r *running) await(t *testing.T, is func(*Snapshot) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is(must.Have(r.sub.Next(ctx))(t)) {
	}
}

// end ends the script and waits until the observer has ended.
func (r *running) end(t *testing.T) {
	close(r.send)
	must.Be(t, <-r.done, nil)
}

// ran runs an observer of these updates to their end.
func ran(t *testing.T, at time.Time, prepare func(*Observer), updates ...Update) *Snapshot {
	t.Helper()
	src := script{make(chan Update, len(updates))}
	for _, u := range updates {
		src.updates <- u
	}
	close(src.updates)
	o := NewObserver(func() time.Time { return at }, src)
	prepare(o)
	must.Succeed(t, o.Run(t.Context()))
	return o.Snapshot()
}

func TestObserverJoinsClientsAndWatches(t *testing.T) {
	o := applying(t)
	const queue, holder, waiter = "10 11 12", "/l/" + guid + "__lock__0000000010", "/l/" + guid + "__lock__0000000011"
	o.send(0, Update{Put: []*Lock{queueOf(t, queue)}, Backend: &Backend{Name: "zk", Kind: ZooKeeper}})
	before := o.next(t)
	must.Same(t, before.Changed, []ID{{"zk", "/l"}})
	o.send(0, Update{
		Sessions: map[int64]Session{10: {ID: 10, Client: "127.0.0.1:35398", Server: "127.0.0.1:2181"}},
		Watches:  &WatchTable{Backend: "zk", ReadAt: now.Add(WatchSettle), Sessions: map[string][]int64{holder: {11}, waiter: {77}}},
	})
	l := o.next(t).Lock(ID{"zk", "/l"})
	owner := Owner{Session: 10, Client: "127.0.0.1:35398", Server: "127.0.0.1:2181", Process: Process{Host: "127.0.0.1"}}
	must.Equal(t, l.Holders[0].Owner, owner, "holder")
	must.Equal(t, before.Lock(l.ID).Holders[0].Owner.Client, "", "client in the earlier snapshot")
	must.Equal(t, l.Waiters[0].Owner, Owner{Session: 11}, "of an unreported session")
	must.Same(t, watchesOf(l), []Confirmation{Confirmed, Unconfirmed}, "watches")
	// The waiter was behind the same predecessor before and after the table, so its watch is
	// missing. The watch of a newer waiter is unknown.
	table := &WatchTable{Backend: "zk", ReadAt: now, Sessions: map[string][]int64{holder: {11}}}
	o.send(0, Update{Put: []*Lock{at(queueOf(t, queue+" 13"), 1)}, Watches: table})
	l = o.next(t).Lock(ID{"zk", "/l"})
	must.Equal(t, l.Holders[0].Owner, owner, "holder after a new read")
	must.Same(t, watchesOf(l), []Confirmation{Confirmed, Missing, Unconfirmed}, "watches after a new read")
}

// watchesOf is what is known of each waiter's watch.
func watchesOf(l *Lock) []Confirmation {
	return each.Of(l.Waiters, func(w Contender) Confirmation { return w.Watch })
}

// A watch table is void once clients may have reset their watches.
func TestATableOfWatchesGrowsOld(t *testing.T) {
	for name, tt := range map[string]struct {
		readAgo, disturbedAgo time.Duration
		change                func(*backendState)
		want                  TableAge
	}{
		"just now":                        {time.Second, time.Hour, nil, TableOfNow},
		"a while ago":                     {tablesLast + time.Second, time.Hour, nil, TableOld},
		"before a server started serving": {10 * time.Second, 5 * time.Second, nil, TableVoid},
		"before a gap":                    {10 * time.Second, time.Hour, func(p *backendState) { p.blindUntil = now.Add(-time.Second) }, TableVoid},
		"of a single read":                {time.Hour, time.Second, func(p *backendState) { p.state.Mode = ModeOnce }, TableOfNow},
	} {
		a := applying(t)
		b := *zkUp
		b.DisturbedAt = now.Add(-tt.disturbedAgo)
		l := queueOf(t, "11 12")
		a.send(0, Update{Put: []*Lock{l}, Backend: &b, Watches: &WatchTable{Backend: "zk", ReadAt: now.Add(-tt.readAgo), Covers: []ID{l.ID}}})
		p := a.byName["zk"]
		if tt.change != nil {
			tt.change(p)
		}
		must.Equal(t, a.caseOf(p, l, now).WatchesAre, tt.want, name)
	}
}

// dying is a source that reports its backend down while it ends, as if its servers had failed.
type dying struct{}

func (dying) Run(ctx context.Context, emit func(Update)) error {
	emit(Update{Backend: zkUp, Put: []*Lock{FreeDirectory(ID{"zk", "/l"}, nil, now)}})
	<-ctx.Done()
	down := *zkUp
	down.State = Down
	emit(Update{Backend: &down})
	return fmt.Errorf("read: %w", ctx.Err())
}

func (dying) Focus([]ID) {}

// Failures during a shutdown appear neither in the last snapshot nor as errors.
func TestCancellationIsNotAFailure(t *testing.T) {
	for range 50 {
		o := NewObserver(func() time.Time { return now }, dying{})
		sub := o.Subscribe()
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		ended := make(chan error)
		go func() { ended <- o.Run(ctx) }()
		for s, err := sub.Next(t.Context()); err == nil && s.Len() == 0; s, err = sub.Next(t.Context()) {
		}
		stop()
		must.Succeed(t, <-ended)
		must.Equal(t, o.Snapshot().Backend("zk").State, Connected, "in the last snapshot")
		sub.Close()
	}
}
