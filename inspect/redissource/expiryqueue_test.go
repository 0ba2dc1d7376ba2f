package redissource

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// Many keys with a TTL of a year disappear. One stays, and its expiry keeps moving closer.
func TestGoneKeysDeadlinesAreForgotten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var q expiryQueue
	known, later := map[string]*entry{"stays": {}}, []string{}
	for i := range 50 {
		later = append(later, fmt.Sprintf("later:%02d", i))
		known[later[i]] = new(entry)
		q.set(later[i], now.AddDate(2, 0, i))
	}
	for i := range 10_000 {
		q.set(fmt.Sprint(i), now.AddDate(1, 0, 0))
		q.set("stays", now.AddDate(1, 0, 0).Add(-time.Duration(i)*time.Second))
		q.trim(known)
	}
	if len(q.at) > 400 || len(q.heap) > 400 {
		t.Errorf("%d keys in %d deadlines are kept", len(q.at), len(q.heap))
	}
	last := now.AddDate(1, 0, 0).Add(-9999 * time.Second)
	if at, ok := q.next(); !ok || !at.Equal(last) {
		t.Errorf("the next is at %v, want %v", at, last)
	}
	if keys := q.due(last); len(keys) != 1 || keys[0] != "stays" {
		t.Errorf("due: %q", keys)
	}
	q.due(now.AddDate(1, 0, 0)) // those gone since the last trim
	must.Same(t, q.due(now.AddDate(3, 0, 0)), later, "due later, in order")
}
