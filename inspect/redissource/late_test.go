package redissource

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
)

func TestTheGraceStartsWithTheFirstMasterThatIsWaitedFor(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := New(Config{
		Backend: "redis", Timeout: 10 * time.Second, Masters: []*redis.UniversalOptions{{Addrs: []string{mute.Addr().String()}}},
	})
	r := s.newRun(ctx, func(inspect.Update) {}, s.masters())
	defer func() {
		cancel()
		r.masters[0].close()
		r.tasks.Wait()
		r.masters[0].close()
	}()
	p := r.masters[0]
	p.server.State, p.asked = inspect.ServerUp, true
	r.add([]string{"lock:a"}) // found between two ticks
	start := time.Now()
	r.ask(start)
	if r.asked["lock:a"] != 1 {
		t.Fatalf("asked %v", r.asked)
	}
	if wait := r.nextWake(start); wait > grace {
		t.Errorf("the loop sleeps for %v", wait)
	}
	r.wake(start.Add(grace))
	if len(r.asked) != 0 || !p.late {
		t.Error("news would wait for as long as the master likes")
	}
	p.busy = false // as if it had answered at last
	r.add([]string{"lock:b"})
	r.ask(start.Add(grace))
	if len(r.asked) != 0 {
		t.Error("news wait for a master that was late before")
	}
}

func TestAKeyIsDueAlthoughItsNewsAreHeldBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := New(Config{Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{"a"}}, {Addrs: []string{"b"}}}})
	r := s.newRun(ctx, func(inspect.Update) {}, s.masters())
	defer cancel()
	now := time.Now()
	r.table.add("lock:a", now)
	vote := inspect.Vote{Addr: "a", Up: true, Present: true, Value: "x", ExpiresAt: now.Add(time.Second)}
	r.report(report{master: 0, keys: []string{"lock:a"}, votes: []inspect.Vote{vote}})
	r.asked["lock:a"] = 1 // the other master takes its time
	r.flush(now)
	if at, ok := r.expiries.next(); !ok || at.After(vote.ExpiresAt.Add(afterExpiry)) {
		t.Errorf("due at %v, %v", at, ok)
	}
}

func TestAnExpiryIsLookedForAtTheInstantThatWasReadLast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := New(Config{Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{"a"}}}})
	r := s.newRun(ctx, func(inspect.Update) {}, s.masters())
	now := time.Now()
	r.table.add("lock:a", now)
	read := func(left time.Duration) {
		vote := inspect.Vote{Addr: "a", Up: true, Present: true, Value: "x", ExpiresAt: now.Add(left)}
		r.report(report{keys: []string{"lock:a"}, votes: []inspect.Vote{vote}})
	}
	read(10*time.Second + 40*time.Millisecond) // its answer took long
	read(10 * time.Second)
	if shown := r.table.entries["lock:a"].votes[0].ExpiresAt; !shown.Equal(now.Add(10*time.Second + 40*time.Millisecond)) {
		t.Errorf("what is shown jitters: %v", shown.Sub(now))
	}
	at, ok := r.expiries.next()
	if end := now.Add(10 * time.Second); !ok || at.Sub(end) != afterExpiry {
		t.Fatalf("due %v after it runs out", at.Sub(end))
	}
	r.wake(at)
	if !r.masters[0].wanted["lock:a"] {
		t.Error("it is due, and not read")
	}
}
