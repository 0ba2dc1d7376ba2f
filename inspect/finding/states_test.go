package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// queuePrefix begins the names of [queue].
const queuePrefix = "_c_e3b0c44298fc1c149afbf4c8996fb924-"

// queue returns a ZooKeeper mutex with n contenders that came a second ago, each behind the
// previous one.
func queue(library string, n int) *inspect.Lock {
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/l"}, Kind: inspect.KindMutex, Recipe: library, Confidence: recipe.Certain,
		State: inspect.StateHeld, ReadAt: now,
	}
	for i := range n {
		c := inspect.Contender{
			Name:     inspect.Untrusted(fmt.Sprintf(queuePrefix+"lock-%010d", i)),
			Sequence: int32(i), Sequential: true, State: inspect.Holding, Count: 1, Owner: inspect.Owner{Session: int64(i + 1)},
			Since: now.Add(-time.Second), BlockedBelow: int32(n - i - 1), Czxid: int64(i + 1),
		}
		if i == 0 {
			l.Holders = append(l.Holders, c)
			continue
		}
		before := l.Holders[0].Name
		if i > 1 {
			before = l.Waiters[i-2].Name
		}
		c.State, c.Watches = inspect.Waiting, before
		l.Waiters, l.State = append(l.Waiters, c), inspect.StateContended
	}
	return l
}

// votes returns a key with one master per letter: a letter is its value, "-" absent, "!" no answer,
// "f" a foreign value. The values expire in a minute.
func votes(masters string) *inspect.Lock { return votesFor(masters, time.Minute) }

// votesFor is votes with another TTL.
func votesFor(masters string, ttl time.Duration) *inspect.Lock {
	list := make([]inspect.Vote, len(masters))
	for i, m := range masters {
		v := inspect.Vote{Addr: fmt.Sprintf("r%d", i+1), Up: true}
		switch m {
		case '!':
			v.Up, v.Error = false, "i/o timeout"
		case '-':
		case 'f':
			v.Present, v.Foreign, v.Value = true, true, "hash"
		default:
			v.Present, v.Value, v.ExpiresAt = true, inspect.Untrusted(m), now.Add(ttl)
		}
		list[i] = v
	}
	l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:a"}, list, now)
	l.Confidence = recipe.Likely
	return l
}

// history returns the history of a lock with many holds and waits of up to a second.
func history(changes ...func(*inspect.History)) *inspect.History {
	usual := inspect.Spans{Count: 100, P50: 100 * time.Millisecond, P99: time.Second, Max: 2 * time.Second}
	h := &inspect.History{Since: now.Add(-time.Minute), Grants: 100, Holds: usual, Waits: usual, LongestTTL: time.Minute}
	for _, change := range changes {
		change(h)
	}
	return h
}

// with changes a lock and returns it.
func with(l *inspect.Lock, changes ...func(*inspect.Lock)) *inspect.Lock {
	for _, change := range changes {
		change(l)
	}
	return l
}

// record returns a key as one master has it.
func record(key string, v inspect.Vote) *inspect.Lock {
	return inspect.KeyLock(inspect.ID{Backend: "redis", Path: key}, []inspect.Vote{v}, now)
}

func noWaiters(l *inspect.Lock) { l.Waiters, l.State = nil, inspect.StateHeld }

func asElection(l *inspect.Lock) { l.Kind = inspect.KindElection }

// holder and waiter change the first holder and the first waiter.
func holder(change func(*inspect.Contender)) func(*inspect.Lock) {
	return func(l *inspect.Lock) { change(&l.Holders[0]) }
}

// heldSince dates the first holder's grant.
func heldSince(d time.Duration) func(*inspect.Lock) {
	return holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-d) })
}

func waiter(change func(*inspect.Contender)) func(*inspect.Lock) {
	return func(l *inspect.Lock) { change(&l.Waiters[0]) }
}

// present returns a case as of now.
func present[T subject](about T, changes ...func(*inspect.Case)) inspect.Case {
	c := inspect.Case{Now: now}
	switch about := any(about).(type) {
	case *inspect.Lock:
		c.Lock = about
	case *inspect.Backend:
		c.Backend = about
	case inspect.Case:
		c = about
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// seen adds a history in which every contender has been in its state since the first read or its
// arrival.
func seen(h *inspect.History) func(*inspect.Case) {
	return func(c *inspect.Case) {
		c.History = h
		for one := range c.Lock.Contenders {
			one.Seen = slices.MaxFunc([]time.Time{h.Since, one.Since}, time.Time.Compare)
		}
	}
}
