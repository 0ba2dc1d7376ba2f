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

// watched observes a scripted source. It returns functions to send an update and to await a
// snapshot.
func watched(t *testing.T) (send func(Update), next func() *Snapshot) {
	t.Helper()
	s := script{make(chan Update)}
	o := NewObserver(func() time.Time { return now }, s)
	sub := o.Subscribe()
	done := make(chan error)
	go func() { done <- o.Run(t.Context()) }()
	t.Cleanup(func() {
		close(s.updates)
		must.Be(t, <-done, nil)
		sub.Close()
	})
	next = func() *Snapshot {
		return must.Have(sub.Next(t.Context()))(t)
	}
	next() // the initial, empty snapshot
	return func(u Update) { s.updates <- u }, next
}

func lockOf(t *testing.T, nodes ...Znode) *Lock {
	t.Helper()
	l := directoryLock(ID{"zk", "/l"}, nodes, now)
	if l == nil {
		t.Fatal("no lock")
	}
	return l
}

func TestObserverDatesGrants(t *testing.T) {
	send, next := watched(t)
	a, b := node(guid+"__lock__0000000000", 10), node(guid+"__lock__0000000001", 11)
	send(Update{Put: []*Lock{lockOf(t, a, b)}, Backend: &Backend{Name: "zk", Kind: ZooKeeper}})
	l := next().Lock(ID{"zk", "/l"})
	must.True(t, l.Holders[0].HeldSince.IsZero(), "a hold older than the first read has a date")
	granted := lockOf(t, b)
	granted.ReadAt = now.Add(5 * time.Second)
	send(Update{Put: []*Lock{granted}})
	s := next()
	if got := s.Lock(ID{"zk", "/l"}).Holders[0].HeldSince; !got.Equal(granted.ReadAt) {
		t.Errorf("granted at %v, want %v", got, granted.ReadAt)
	}
	if len(s.Changed) != 1 || s.Changed[0] != (ID{"zk", "/l"}) {
		t.Errorf("changed %v", s.Changed)
	}
	later := lockOf(t, b, node(guid+"__lock__0000000002", 12))
	later.ReadAt = now.Add(9 * time.Second)
	send(Update{Put: []*Lock{later}})
	if got := next().Lock(ID{"zk", "/l"}).Holders[0].HeldSince; !got.Equal(granted.ReadAt) {
		t.Errorf("the grant moved to %v", got)
	}
	send(Update{Gone: []ID{{"zk", "/l"}}})
	must.Equal(t, next().Len(), 0, "locks after the only one is gone")
}

func TestObserverJoinsClientsAndWatches(t *testing.T) {
	send, next := watched(t)
	a, b, c := node(guid+"__lock__0000000000", 10), node(guid+"__lock__0000000001", 11), node(guid+"__lock__0000000002", 12)
	send(Update{Put: []*Lock{lockOf(t, a, b, c)}, Backend: &Backend{Name: "zk", Kind: ZooKeeper}})
	next()
	send(Update{
		Sessions: map[int64]Session{10: {ID: 10, Client: "127.0.0.1:35398", Server: "127.0.0.1:2181"}},
		Watches:  &WatchTable{Backend: "zk", ReadAt: now.Add(WatchSettle), Sessions: map[string][]int64{"/l/" + a.Name: {11}, "/l/" + b.Name: {77}}},
	})
	l := next().Lock(ID{"zk", "/l"})
	if o := l.Holders[0].Owner; o.Client != "127.0.0.1:35398" || o.Host != "127.0.0.1" || o.Server != "127.0.0.1:2181" {
		t.Errorf("holder's owner %+v", o)
	}
	must.Equal(t, l.Waiters[0].Owner.Client, "", "client of an unreported session")
	if l.Waiters[0].Watch != Confirmed || l.Waiters[1].Watch != Unconfirmed {
		t.Errorf("watches %v and %v, want confirmed and unconfirmed", l.Waiters[0].Watch, l.Waiters[1].Watch)
	}
	// The waiter was behind the same predecessor before and after the table, so its watch is
	// missing. The watch of a newer waiter is unknown.
	again := lockOf(t, a, b, c, node(guid+"__lock__0000000003", 13))
	again.ReadAt = now.Add(time.Second)
	send(Update{Put: []*Lock{again}, Watches: &WatchTable{Backend: "zk", ReadAt: now, Sessions: map[string][]int64{"/l/" + a.Name: {11}}}})
	l = next().Lock(ID{"zk", "/l"})
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

// Grants during the servers' silence are not reported as new.
func TestGrantsDuringSilenceAreNotNew(t *testing.T) {
	send, next := watched(t)
	id := ID{"redis", "k"}
	at := func(votes string, seconds int) Update {
		return Update{Put: []*Lock{KeyLock(id, ballots(votes), now.Add(time.Duration(seconds)*time.Second))}}
	}
	u := at("x x x", 0)
	u.Backend = &Backend{Name: "redis", Kind: Redis, Mode: ModePoll, FirstPass: true}
	send(u)
	next()
	for i, votes := range []string{"x ! !", "x x x"} {
		send(at(votes, i+1))
		if l := next().Lock(id); len(l.Holders) > 0 && !l.Holders[0].HeldSince.IsZero() {
			t.Errorf("a hold older than the first read and the silence is dated %v", l.Holders[0].HeldSince)
		}
	}
	fresh := lockOf(t, node(guid+"__lock__0000000000", 10))
	fresh.ID = ID{"redis", "/new"}
	send(Update{Put: []*Lock{fresh}})
	if got := next().Lock(fresh.ID).Holders[0].HeldSince; !got.Equal(now) {
		t.Errorf("a new lock is held since %v, want its creation", got)
	}
}

func TestOneShotSnapshotIsComplete(t *testing.T) {
	s := script{make(chan Update, 2)}
	s.updates <- Update{Backend: &Backend{Name: "zk"}}
	s.updates <- Update{Put: []*Lock{lockOf(t, node(guid+"__lock__0000000000", 10))}}
	close(s.updates)
	o := NewObserver(func() time.Time { return now }, s)
	must.Succeed(t, o.Run(t.Context()))
	if o.Snapshot().Len() != 1 || o.Snapshot().Backend("zk") == nil {
		t.Errorf("snapshot %+v", o.Snapshot())
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
		if b := o.Snapshot().Backend("zk"); b == nil || b.State != Connected {
			t.Fatalf("the last snapshot has %+v", b)
		}
		sub.Close()
	}
}
