package redissource

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/redissource/node"
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

// watchedRun is a run with a clock that the test moves. It has read lock:a from two masters.
type watchedRun struct {
	*run
	t       *testing.T
	clock   time.Time
	emitted []inspect.Update
}

func newWatchedRun(t *testing.T) *watchedRun {
	w := &watchedRun{t: t, clock: noon}
	cfg := testConfig(2)
	cfg.Now = func() time.Time { return w.clock }
	s := New(cfg)
	ended, stop := context.WithCancel(t.Context())
	stop()
	s.stall.Start(ended)() // stops at once, so that only attend marks the time
	w.run = s.newRun(t.Context(), func(u inspect.Update) { w.emitted = append(w.emitted, u) }, s.masters())
	w.table.add("lock:a", noon)
	w.answer("x", 0, 1)
	w.flush(w.attend())
	must.Equal(t, len(w.put().Holders), 1, "holders")
	w.emitted = nil
	return w
}

// answer reports lock:a with that value, or absent for "", as the current answer of some masters.
func (w *watchedRun) answer(value inspect.Untrusted, masters ...int) {
	w.answerTo(w.clock, value, masters...)
}

// answerTo is answer to requests of that time.
func (w *watchedRun) answerTo(asked time.Time, value inspect.Untrusted, masters ...int) {
	for _, i := range masters {
		vote := held(i, value, time.Hour, noon)
		if value == "" {
			vote = absent(i)
		}
		w.masters[i].busy = true
		votes := []inspect.Vote{vote}
		w.report(report{master: i, keys: []string{"lock:a"}, votes: votes, asked: asked, answered: w.clock})
	}
}

// put is the only lock in the newest update.
func (w *watchedRun) put() *inspect.Lock {
	w.t.Helper()
	if n := len(w.emitted); n == 0 || len(w.emitted[n-1].Put) != 1 {
		w.t.Fatalf("emitted %+v", w.emitted)
	}
	return w.emitted[len(w.emitted)-1].Put[0]
}

// appeared reads a key that all running masters hold, and checks its lower bound.
func (w *watchedRun) appeared(key string, since time.Time, when string) {
	w.t.Helper()
	for i, p := range w.masters {
		if !p.down() {
			w.table.vote(i, key, held(i, "a", time.Hour, w.clock), w.clock)
		}
	}
	if l, _ := w.table.judge(key, w.clock); l == nil || !l.UnseenSince.Equal(since) {
		w.t.Errorf("%s: want a change after %v: %+v", when, since, l)
	}
}

func TestVotesBeforeStallAreNotCurrent(t *testing.T) {
	w := newWatchedRun(t)
	w.clock = noon.Add(18 * time.Second) // paused while waiting for these answers
	w.answerTo(noon, "y", 0, 1)
	w.flush(w.attend())
	want := inspect.Gap{Backend: "redis", From: noon, Until: w.clock}
	if len(w.emitted) == 0 || w.emitted[0].Gap == nil || *w.emitted[0].Gap != want {
		t.Fatalf("emitted %+v, want the gap first", w.emitted)
	}
	for _, u := range w.emitted {
		must.Equal(t, len(u.Put), 0, "locks put from answers before the pause")
	}
	for _, p := range w.masters {
		if !p.wanted["lock:a"] || p.down() {
			t.Errorf("%s: wanted %v, down %v", p.Address(), p.wanted, p.down())
		}
		p.forgetReads()
	}
	w.emitted = nil
	w.clock = w.clock.Add(time.Millisecond)
	w.answer("z", 0, 1)
	w.flush(w.attend())
	if len(w.emitted) != 1 || w.put().Holders[0].Name != "z" || !w.emitted[0].At.Equal(w.clock) {
		t.Errorf("emitted %+v", w.emitted)
	}
}

// A vote dates from its answer, not from when it is applied.
func TestVoteAgeFollowsItsAnswer(t *testing.T) {
	w := newWatchedRun(t)
	answered := noon.Add(time.Second)
	w.clock = noon.Add(2 * time.Second)
	w.report(report{keys: []string{"lock:a"}, votes: []inspect.Vote{held(0, "x", time.Hour, noon)}, asked: noon, answered: answered})
	must.Equal(t, w.table.entries["lock:a"].votes[0].ReadAt, answered, "read at")
}

// A change made while a tracking connection was lost happened after the connection's last sign of
// life.
func TestChangeDuringPushLossIsBounded(t *testing.T) {
	w := newWatchedRun(t)
	armed := func(after time.Duration, yes bool) {
		w.clock = noon.Add(after)
		w.attend() // as the heartbeat does
		for i := range w.masters {
			w.push(pushState{master: i, armed: yes})
		}
	}
	armed(0, true)
	w.answer("x", 0, 1)
	want := noon.Add(time.Hour - 3*time.Second)
	for i := range w.masters {
		w.masters[i].heard = want // when the last answered ping was sent
	}
	armed(time.Hour, false)
	armed(time.Hour+time.Second, true)
	w.answer("y", 0, 1)
	w.flush(w.clock)
	must.Equal(t, w.put().UnseenSince, want, "unseen since")
}

// A key first pushed after a tracking connection was lost may have appeared during the loss.
func TestFirstPushAfterLossIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		rearmed, again time.Duration // after the start of the last pass; again is the start of a later pass
		want           time.Time
	}{
		"lost":                    {rearmed: 20 * time.Second, want: noon},
		"lost, then scanned":      {rearmed: 20 * time.Second, again: 21 * time.Second},
		"armed as the pass began": {rearmed: time.Millisecond},
		"scanned too early":       {rearmed: 20 * time.Second, again: 10 * time.Second, want: noon.Add(10 * time.Second)},
	} {
		w := newWatchedRun(t)
		for i := range w.masters {
			w.pass(passed{master: i, start: noon})
			w.clock = noon.Add(tt.rearmed)
			w.attend()
			w.push(pushState{master: i, armed: true})
			if tt.again > 0 {
				w.pass(passed{master: i, start: noon.Add(tt.again)})
			}
		}
		w.clock = noon.Add(25 * time.Second)
		w.masters[0].inbox.add([]string{"lock:new"})
		w.read()
		w.appeared("lock:new", tt.want, name)
	}
}

// A slow clock reading stays inexact, even if the server answers other requests quickly.
func TestSlowClockReadingStaysInexact(t *testing.T) {
	p := &masterState{}
	p.setStatus(node.Status{Server: inspect.Server{ClockOffset: -1400 * time.Millisecond, ClockKnown: true, ClockWithin: 1400 * time.Millisecond}})
	p.answered(time.Millisecond)
	if s := p.server; !s.ClockKnown || s.ClockWithin != 1400*time.Millisecond || s.Latency != time.Millisecond {
		t.Errorf("%+v", s)
	}
}

// Cost.Quickest is the latency of a slowed master, else of the slowest one.
func TestQuickestRequestsAreReported(t *testing.T) {
	w := newWatchedRun(t)
	for i, p := range w.masters {
		p.pace = sourcekit.Pace{}
		for range 80 {
			p.pace.Add(time.Duration(5+i) * time.Millisecond)
		}
	}
	if c := w.describe().Cost; c.Quickest != 6*time.Millisecond || c.StartQuickest != 6*time.Millisecond {
		t.Errorf("%v, at the start %v", c.Quickest, c.StartQuickest)
	}
	for range 80 {
		w.masters[0].pace.Add(20 * time.Millisecond) // four times as slow as at the start
	}
	w.masters[1].pace.Quickest = 40 * time.Millisecond
	if c := w.describe().Cost; !c.Slowed || c.Quickest != 20*time.Millisecond || c.StartQuickest != 5*time.Millisecond {
		t.Errorf("slowed: %v, %v, at the start %v", c.Slowed, c.Quickest, c.StartQuickest)
	}
}
