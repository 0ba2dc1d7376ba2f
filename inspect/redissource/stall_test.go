package redissource

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

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
