package redissource

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// watchedRun is a run with a clock that the test moves. It has read lock:a from two masters.
type watchedRun struct {
	*run
	clock   time.Time
	emitted []inspect.Update
}

func newWatchedRun(t *testing.T) *watchedRun {
	w := &watchedRun{clock: noon}
	s := New(Config{
		Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{"a"}}, {Addrs: []string{"b"}}},
		Now: func() time.Time { return w.clock },
	})
	ended, stop := context.WithCancel(t.Context())
	stop()
	s.stall.Start(ended)() // stops at once, so that only attend marks the time
	w.run = s.newRun(t.Context(), func(u inspect.Update) { w.emitted = append(w.emitted, u) }, s.masters())
	w.table.add("lock:a", noon)
	for i := range w.masters {
		w.answer(i, noon, "x")
	}
	w.flush(w.attend())
	if len(w.emitted) != 1 || len(w.emitted[0].Put) != 1 || len(w.emitted[0].Put[0].Holders) != 1 {
		t.Fatalf("emitted %+v", w.emitted)
	}
	w.emitted = nil
	return w
}

// answer reports lock:a with that value, or absent for "", as a master's answer at the current time.
func (w *watchedRun) answer(master int, asked time.Time, value inspect.Untrusted) {
	vote := held(master, value, time.Hour, noon)
	if value == "" {
		vote = absent(master)
	}
	w.masters[master].busy = true
	w.report(report{master: master, keys: []string{"lock:a"}, votes: []inspect.Vote{vote}, asked: asked, answered: w.clock})
}

func TestVotesBeforeStallAreNotCurrent(t *testing.T) {
	w := newWatchedRun(t)
	w.clock = noon.Add(18 * time.Second) // paused while waiting for these answers
	w.answer(0, noon, "y")
	w.answer(1, noon, "y")
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
	w.answer(0, w.clock, "z")
	w.answer(1, w.clock, "z")
	w.flush(w.attend())
	if len(w.emitted) != 1 || len(w.emitted[0].Put) != 1 || w.emitted[0].Put[0].Holders[0].Name != "z" || !w.emitted[0].At.Equal(w.clock) {
		t.Errorf("emitted %+v", w.emitted)
	}
}

// A vote dates from its answer, not from when it is applied.
func TestVoteAgeFollowsItsAnswer(t *testing.T) {
	w := newWatchedRun(t)
	answered := noon.Add(time.Second)
	w.clock = noon.Add(2 * time.Second)
	w.report(report{keys: []string{"lock:a"}, votes: []inspect.Vote{held(0, "x", time.Hour, noon)}, asked: noon, answered: answered})
	if at := w.table.entries["lock:a"].votes[0].ReadAt; !at.Equal(answered) {
		t.Errorf("read at %v, answered at %v", at, answered)
	}
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
	w.answer(0, noon, "x")
	w.answer(1, noon, "x")
	want := noon.Add(time.Hour - 3*time.Second)
	for i := range w.masters {
		w.masters[i].heard = want // when the last answered ping was sent
	}
	armed(time.Hour, false)
	armed(time.Hour+time.Second, true)
	w.answer(0, w.clock, "y")
	w.answer(1, w.clock, "y")
	w.flush(w.clock)
	if len(w.emitted) == 0 || len(w.emitted[len(w.emitted)-1].Put) != 1 {
		t.Fatalf("emitted %+v", w.emitted)
	}
	if l := w.emitted[len(w.emitted)-1].Put[0]; !l.UnseenSince.Equal(want) {
		t.Errorf("unseen since %v, want %v", l.UnseenSince, want)
	}
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
		for i := range w.masters {
			w.table.vote(i, "lock:new", held(i, "a", time.Hour, w.clock), w.clock)
		}
		if l, _ := w.table.judge("lock:new", w.clock); l == nil || !l.UnseenSince.Equal(tt.want) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
