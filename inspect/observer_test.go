package inspect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

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

func lockOf(t *testing.T, nodes ...Znode) *Lock {
	t.Helper()
	l := directoryLock(ID{"zk", "/l"}, nodes, now)
	if l == nil {
		t.Fatal("no lock")
	}
	return l
}

func TestObserverJoinsClientsAndWatches(t *testing.T) {
	o := applying(t)
	a, b, c := node(guid+"__lock__0000000000", 10), node(guid+"__lock__0000000001", 11), node(guid+"__lock__0000000002", 12)
	o.send(0, Update{Put: []*Lock{lockOf(t, a, b, c)}, Backend: &Backend{Name: "zk", Kind: ZooKeeper}})
	before := o.next(t)
	must.Same(t, before.Changed, []ID{{"zk", "/l"}})
	o.send(0, Update{
		Sessions: map[int64]Session{10: {ID: 10, Client: "127.0.0.1:35398", Server: "127.0.0.1:2181"}},
		Watches:  &WatchTable{Backend: "zk", ReadAt: now.Add(WatchSettle), Sessions: map[string][]int64{"/l/" + a.Name: {11}, "/l/" + b.Name: {77}}},
	})
	l := o.next(t).Lock(ID{"zk", "/l"})
	if o := l.Holders[0].Owner; o.Client != "127.0.0.1:35398" || o.Host != "127.0.0.1" || o.Server != "127.0.0.1:2181" {
		t.Errorf("holder's owner %+v", o)
	}
	must.Equal(t, l.Waiters[0].Owner.Client, "", "client of an unreported session")
	must.Equal(t, before.Lock(l.ID).Holders[0].Owner.Client, "", "client in the earlier snapshot")
	if l.Waiters[0].Watch != Confirmed || l.Waiters[1].Watch != Unconfirmed {
		t.Errorf("watches %v and %v, want confirmed and unconfirmed", l.Waiters[0].Watch, l.Waiters[1].Watch)
	}
	// The waiter was behind the same predecessor before and after the table, so its watch is
	// missing. The watch of a newer waiter is unknown.
	again := lockOf(t, a, b, c, node(guid+"__lock__0000000003", 13))
	again.ReadAt = now.Add(time.Second)
	o.send(0, Update{Put: []*Lock{again}, Watches: &WatchTable{Backend: "zk", ReadAt: now, Sessions: map[string][]int64{"/l/" + a.Name: {11}}}})
	l = o.next(t).Lock(ID{"zk", "/l"})
	if l.Holders[0].Owner.Client == "" || l.Waiters[0].Watch != Confirmed || l.Waiters[1].Watch != Missing || l.Waiters[2].Watch != Unconfirmed {
		t.Errorf("after a new read: %+v", l)
	}
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

func TestOneShotSnapshotIsComplete(t *testing.T) {
	s := ran(t, now, func(*Observer) {}, Update{Backend: &Backend{Name: "zk"}}, Update{Put: []*Lock{queueOf(t, "10")}})
	must.True(t, s.Len() == 1 && s.Backend("zk") != nil, s)
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
		if b := o.Snapshot().Backend("zk"); b == nil || b.State != Connected {
			t.Fatalf("the last snapshot has %+v", b)
		}
		sub.Close()
	}
}
