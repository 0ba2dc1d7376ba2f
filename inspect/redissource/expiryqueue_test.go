package redissource

import (
	"fmt"
	"testing"
	"time"
)

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
