package redissource

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// newTestRun is a run whose updates are dropped.
func newTestRun(ctx context.Context, cfg Config) *run {
	s := New(cfg)
	return s.newRun(ctx, func(inspect.Update) {}, s.masters())
}

func TestGraceStartsWithFirstAwaitedMaster(t *testing.T) {
	mute := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t) // accepts connections and never answers
	defer mute.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := testConfig(1)
	cfg.Timeout, cfg.Masters[0].Addrs = 10*time.Second, []string{mute.Addr().String()}
	r := newTestRun(ctx, cfg)
	defer func() {
		cancel()
		r.masters[0].Close()
		r.tasks.Wait()
		r.masters[0].Close()
	}()
	p := r.masters[0]
	p.server.State, p.asked = inspect.ServerUp, true
	r.add([]string{"lock:a"}) // found between two ticks
	start := time.Now()
	r.requestReads(start)
	must.Equal(t, r.asked["lock:a"], 1, "asked masters")
	if wait := r.nextWake(start); wait > grace {
		t.Errorf("the loop sleeps for %v", wait)
	}
	r.wake(start.Add(grace))
	if len(r.asked) != 0 || !p.late {
		t.Error("updates still wait for the slow master")
	}
	p.busy = false // as if it had answered
	r.add([]string{"lock:b"})
	r.requestReads(start.Add(grace))
	must.Equal(t, len(r.asked), 0, "updates wait for a master that was late before")
}

func TestWithheldKeyStillComesDue(t *testing.T) {
	r := newTestRun(t.Context(), testConfig(2))
	now := time.Now()
	r.table.add("lock:a", now)
	vote := held(0, "x", time.Second, now)
	r.report(report{master: 0, keys: []string{"lock:a"}, votes: []inspect.Vote{vote}, answered: now})
	r.asked["lock:a"] = 1 // the other master has not answered
	r.flush(now)
	if at, ok := r.expiries.next(); !ok || at.After(vote.ExpiresAt.Add(afterExpiry)) {
		t.Errorf("due at %v, %v", at, ok)
	}
}

func TestLatestReadingSchedulesExpiry(t *testing.T) {
	clock := noon
	cfg := testConfig(1)
	cfg.Now = func() time.Time { return clock }
	r := newTestRun(t.Context(), cfg)
	r.table.add("lock:a", noon)
	read := func(end time.Duration) {
		r.report(report{keys: []string{"lock:a"}, votes: []inspect.Vote{held(0, "x", end, noon)}, answered: clock})
	}
	due := func(want time.Duration) {
		t.Helper()
		at, ok := r.expiries.next()
		if !ok || at.Sub(noon) != want {
			t.Fatalf("due %v from noon, want %v", at.Sub(noon), want)
		}
		clear(r.masters[0].wanted)
		clock = at
		r.wake(at)
		must.True(t, r.masters[0].wanted["lock:a"], "due", want, "from noon, but not read")
	}
	read(10*time.Second + 40*time.Millisecond) // a slow answer
	read(10 * time.Second)
	if shown := r.table.entries["lock:a"].votes[0].ExpiresAt; !shown.Equal(noon.Add(10*time.Second + 40*time.Millisecond)) {
		t.Errorf("the shown expiry jitters: %v", shown.Sub(noon))
	}
	due(10*time.Second - beforeExpiry)
	read(10 * time.Second)
	r.wake(noon.Add(10*time.Second + 40*time.Millisecond - beforeExpiry)) // read a moment ago
	if at, _ := r.expiries.next(); at.Sub(noon) > 10*time.Second+afterExpiry {
		t.Errorf("due %v from noon", at.Sub(noon))
	}
	due(10*time.Second + afterExpiry)
}

// A key gone at its expiry may have been renewed and released while the server or this process was
// paused. Only a read shortly before rules that out.
func TestUnwatchedExpiryIsUncertain(t *testing.T) {
	for name, tt := range map[string]struct {
		seen time.Duration // after noon; the key expires 10 s after noon
		at   time.Duration
		want bool
	}{
		"seen a moment before":   {9900 * time.Millisecond, 10002 * time.Millisecond, false},
		"seen long before":       {time.Second, 10002 * time.Millisecond, true},
		"gone before its expiry": {time.Second, 5 * time.Second, false},
		"late, but seen before":  {9900 * time.Millisecond, 15 * time.Second, false},
	} {
		b := testTable(1)
		if b.read("k", noon.Add(tt.seen), held(0, "a", 10*time.Second, noon)) == nil {
			t.Fatal("no lock")
		}
		l := b.read("k", noon.Add(tt.at), absent(0))
		if l == nil || l.UnseenSince.IsZero() == tt.want || tt.want && !l.UnseenSince.Equal(noon.Add(tt.seen)) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
