package zksource

import (
	"testing"
	"time"

	"lockscope/inspect"
)

func TestALockIsReportedWhenAnythingButItsAgeChanges(t *testing.T) {
	t.Parallel()
	lock := func(change func(*inspect.Lock)) *inspect.Lock {
		l := &inspect.Lock{
			Kind: inspect.KindMutex, Recipe: "kazoo", State: inspect.StateContended, Aliens: []inspect.Untrusted{"x"},
			Holders: []inspect.Contender{{Name: "a", Count: 1, Since: noon}}, Waiters: []inspect.Contender{{Name: "b"}, {Name: "c"}},
			Unseen: []inspect.Unseen{{Aspect: inspect.AspectOwner, Read: "getData /a"}}, ReadAt: noon,
		}
		change(l)
		return l
	}
	d := &dir{}
	if !d.report(lock(func(*inspect.Lock) {})) {
		t.Error("a new lock is not reported")
	}
	if d.report(lock(func(l *inspect.Lock) { l.ReadAt = l.ReadAt.Add(time.Hour) })) {
		t.Error("the same lock is reported again")
	}
	for what, change := range map[string]func(*inspect.Lock){
		"kind": func(l *inspect.Lock) { l.Kind = inspect.KindRW }, "recipe": func(l *inspect.Lock) { l.Recipe = "curator" },
		"confidence": func(l *inspect.Lock) { l.Confidence = "likely" }, "state": func(l *inspect.Lock) { l.State = inspect.StateHeld },
		"limit": func(l *inspect.Lock) { l.Limit = 2 }, "holder": func(l *inspect.Lock) { l.Holders[0].Owner.Label = "z" },
		"holder since": func(l *inspect.Lock) { l.Holders[0].Since = noon.Add(time.Second) },
		"waiter":       func(l *inspect.Lock) { l.Waiters[1].Watches = "a" }, "fewer": func(l *inspect.Lock) { l.Waiters = l.Waiters[:1] },
		"order":     func(l *inspect.Lock) { l.Waiters[0], l.Waiters[1] = l.Waiters[1], l.Waiters[0] },
		"who holds": func(l *inspect.Lock) { l.Holders, l.Waiters = append(l.Holders, l.Waiters[0]), l.Waiters[1:] },
		"aliens":    func(l *inspect.Lock) { l.Aliens = nil }, "unseen": func(l *inspect.Lock) { l.Unseen[0].Read = "getData /b" },
		"all is seen": func(l *inspect.Lock) { l.Unseen = nil },
	} {
		d.report(lock(func(*inspect.Lock) {}))
		if !d.report(lock(change)) {
			t.Errorf("%s: a change is not reported", what)
		}
	}
}
