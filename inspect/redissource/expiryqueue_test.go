package redissource

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestExpiryQueueKeepsTheEarliest(t *testing.T) {
	var a expiryQueue
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	a.set("a", at(3))
	a.set("b", at(2))
	a.set("a", at(1))
	a.set("b", at(9))
	if next, ok := a.next(); !ok || !next.Equal(at(1)) {
		t.Errorf("next: %v, %v", next, ok)
	}
	if got := a.due(at(0)); got != nil {
		t.Errorf("too early: %v", got)
	}
	must.Same(t, a.due(at(2)), []string{"a", "b"}, "due")
	if _, ok := a.next(); ok || len(a.heap) != 0 {
		t.Errorf("left %v", a.heap)
	}
}

// Many keys with a TTL of a year disappear. One stays, and its expiry keeps moving closer.
func TestGoneKeysDeadlinesAreForgotten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var q expiryQueue
	known := map[string]*entry{"stays": {}}
	for i := range 10_000 {
		q.set(fmt.Sprint(i), now.AddDate(1, 0, 0))
		q.set("stays", now.AddDate(1, 0, 0).Add(-time.Duration(i)*time.Second))
		q.trim(known)
	}
	if len(q.at) > 100 || len(q.heap) > 100 {
		t.Errorf("%d keys in %d deadlines are kept", len(q.at), len(q.heap))
	}
	last := now.AddDate(1, 0, 0).Add(-9999 * time.Second)
	if at, ok := q.next(); !ok || !at.Equal(last) {
		t.Errorf("the next is at %v, want %v", at, last)
	}
	if keys := q.due(last); len(keys) != 1 || keys[0] != "stays" {
		t.Errorf("due: %q", keys)
	}
}
