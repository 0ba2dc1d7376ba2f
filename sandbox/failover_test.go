package sandbox

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the master was told after the replica had last heard of it is lost: a second client is granted the lock while the first
// has not given it back. The old master, once it is back, has what the new one has.
func TestAFailoverLosesWhatWasNotReplicated(t *testing.T) {
	s, err := Start("split", 1) // for its life
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.startPair()
	if err != nil {
		t.Fatal(err)
	}
	s.run(p.replicate)
	ctx := t.Context()
	client := func() *redis.Client {
		t.Helper()
		c, err := p.client(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	acquire := func(value string) bool {
		t.Helper()
		ok, err := client().SetNX(ctx, payoutKey, value, time.Hour).Result()
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	// has waits for a value on a server: replication goes by the clock.
	has := func(r *redisServer, key, value string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if got, err := r.Get(key); err == nil && got == value {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s never had %s = %s", r.addr, key, value)
			}
		}
	}
	old, replica := p.master, p.replica
	if err := client().Set(ctx, "lock:other", "kept", 0).Err(); err != nil {
		t.Fatal(err)
	}
	has(replica, "lock:other", "kept")
	direct := plainClient(replica.addr)
	defer direct.Close()
	if err := direct.Set(ctx, "lock:x", "v", 0).Err(); err == nil {
		t.Error("a replica takes writes")
	}
	p.unlink()
	if !acquire("first") || acquire("second") {
		t.Fatal("the lock of the living master is not exclusive")
	}
	old.stop()
	p.promote()
	if !acquire("second") {
		t.Error("the promoted replica knows of a SET that it never heard of")
	}
	has(replica, "lock:other", "kept")
	if err := old.start(); err != nil {
		t.Fatal(err)
	}
	p.link()
	has(old, payoutKey, "second")
}
