package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

var ann = person{"ann", 1}

var bob = person{"bob", 2}

var cat = person{"cat", 3}

var dan = person{"dan", 4}

var eve = person{"eve", 5}

var (
	fay = person{"fay", 6}
)

// observedOf is what an observer makes of updates: with sessions and cycles.
func observedOf(t testing.TB, updates ...inspect.Update) *inspect.Snapshot {
	t.Helper()
	o := inspect.NewObserver(func() time.Time { return noon }, told(updates))
	if err := o.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return o.Snapshot()
}

// person is a session of a small number; its label is its name.
type person struct {
	name    string
	session int64
}

// queueOf is a lock of these, the first of whom holds it for so long; each of the others came a second after the one before.
func queueOf(name string, held time.Duration, people ...person) *inspect.Lock {
	l := &inspect.Lock{
		ID: id("zk:" + name), Kind: inspect.KindMutex, Recipe: "kazoo", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: noon,
	}
	for i, p := range people {
		c := inspect.Contender{
			Name: inspect.Untrusted(fmt.Sprintf("%s__lock__%010d", p.name, i)), Sequence: int32(i), Sequential: true, Count: 1, Czxid: int64(i + 1),
			State: inspect.Waiting, Since: ago(held - time.Duration(i)*time.Second), BlockedBelow: len(people) - 1 - i,
			Owner: inspect.Owner{Label: inspect.Untrusted(p.name), Session: p.session},
		}
		if i == 0 {
			c.State, c.HeldSince = inspect.Holding, c.Since
			l.Holders = append(l.Holders, c)
			continue
		}
		c.Watches = inspect.Untrusted(fmt.Sprintf("%s__lock__%010d", people[i-1].name, i-1))
		l.Waiters = append(l.Waiters, c)
	}
	if len(people) == 1 {
		l.State = inspect.StateHeld
	}
	return l
}

func sessionTable(people ...person) map[int64]inspect.Session {
	m := make(map[int64]inspect.Session)
	for _, p := range people {
		m[p.session] = inspect.Session{
			ID: p.session, Client: fmt.Sprintf("10.2.0.%d:5312%d", p.session, p.session), Server: "10.1.0.2:2181", Timeout: 30 * time.Second,
			LastContact: ago(time.Duration(p.session) * time.Second), Established: ago(2 * time.Hour),
		}
	}
	return m
}

// tangled is a deadlock of ann and bob, behind which cat waits; dan holds up eve, who holds up fay; and a Redis lock of
// which nobody is known.
func tangled(t testing.TB) *inspect.Snapshot {
	t.Helper()
	token := inspect.KeyLock(id("redis:lock:report"), []inspect.Vote{vote(1, "f3a9c1", 20*time.Second)}, noon)
	token.Waiters, token.State = []inspect.Contender{{Name: "a77b01", State: inspect.Waiting, Count: 1}}, inspect.StateContended
	b := backends()
	return observedOf(t,
		inspect.Update{Backend: b[0], Sessions: sessionTable(ann, bob, dan, eve), Put: []*inspect.Lock{
			queueOf("/dl/a", 14*time.Minute, ann, bob, cat), queueOf("/dl/b", 13*time.Minute, bob, ann),
			queueOf("/jobs/ledger", 3*time.Hour, dan, eve), queueOf("/jobs/mail", 50*time.Minute, eve, fay), queueOf("/jobs/idle", time.Minute, dan),
		}},
		inspect.Update{Backend: b[1], Put: []*inspect.Lock{token}},
	)
}

// told is a source that tells what it was given and ends.
type told []inspect.Update

func (t told) Run(_ context.Context, emit func(inspect.Update)) error {
	for _, u := range t {
		emit(u)
	}
	return nil
}

func (told) Focus([]inspect.ID) {}
