package screen

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func lockEvent(second int, lock string) inspect.Event {
	return inspect.Event{Kind: inspect.EventAcquired, At: fixture.In(time.Duration(second) * time.Second), Lock: fixture.Id("zk:/" + lock)}
}

// A noisy lock loses its oldest events, quiet ones lose none, and every event keeps its number.
func TestNoisyLocksSpareQuietOnes(t *testing.T) {
	log := EventLog{Keep: 100}
	log.Add([]inspect.Event{lockEvent(0, "quiet"), lockEvent(1, "calm"), lockEvent(2, "quiet")})
	for i := range 10_000 {
		log.Add([]inspect.Event{lockEvent(3+i, fmt.Sprintf("noisy-%d", i%2))})
	}
	must.True(t, 100 <= len(log.List) && len(log.List) <= 150, "kept", len(log.List))
	must.Same(t, []int{log.Dropped, log.End()}, []int{10_003 - len(log.List), 10_003}, "forgotten, and the next")
	for number, lock := range []string{"quiet", "calm", "quiet", ""} {
		if e, _ := log.At(number); lock == "" && e != nil || lock != "" && (e == nil || e.Lock != fixture.Id("zk:/"+lock)) {
			t.Errorf("number %d is %v", number, e)
		}
	}
	inOrder := slices.IsSortedFunc(log.List, func(a, b inspect.Event) int { return a.At.Compare(b.At) })
	must.True(t, inOrder, "the events are not in order of arrival")
	last, _ := log.At(10_002)
	must.Equal(t, last.At, fixture.In(10_002*time.Second), "the newest")
	must.Equal(t, log.Number(log.Place(10_002)), 10_002, "number of the newest")
	at, number := log.CompleteFrom(fixture.Id("zk:/quiet"))
	must.True(t, at.IsZero() && number == -1, "the quiet lock lost events, the last at", at)
	for _, lock := range []inspect.ID{fixture.Id("zk:/noisy-0"), {}} {
		at, number := log.CompleteFrom(lock)
		after := log.Place(number + 1)
		e, _ := log.At(number)
		must.Equal(t, e, nil, lock, "the event before the first kept one")
		must.True(t, after != 0 && log.List[after].At.After(at), lock, "complete from", at, number)
	}
	at, _ = log.CompleteFrom(inspect.ID{})
	must.True(t, !log.List[0].At.After(at), "the log claims to be complete")
}

// With more locks than room, the newest locks keep one event each.
func TestManyLocksShareTheLog(t *testing.T) {
	log := EventLog{Keep: 10}
	for i := range 16 {
		log.Add([]inspect.Event{lockEvent(i, fmt.Sprint(i))})
	}
	must.Same(t, []int{len(log.List), log.Number(0)}, []int{10, 6}, "kept, from number")
	for i := 16; i < 100; i++ {
		log.Add([]inspect.Event{lockEvent(i, fmt.Sprint(i))})
	}
	must.True(t, len(log.forgotten) <= 10, "locks remembered", len(log.forgotten))
	at, _ := log.CompleteFrom(fixture.Id("zk:/80"))
	must.True(t, !at.IsZero(), "a lock that may have lost events claims to be complete")
	early := log.Until(log.List[3].At)
	must.Same(t, []int{len(early.List), early.End()}, []int{4, log.Number(3) + 1}, "events until the fourth, and the next")
}

func TestFairShare(t *testing.T) {
	for _, test := range []struct {
		counts []int
		room   int
		want   int
	}{{[]int{1, 2, 100}, 20, 17}, {[]int{5, 5}, 20, 1 << 40}, {[]int{50, 50}, 20, 10}, {[]int{1, 1, 1}, 2, 1}, {nil, 5, 1 << 40}} {
		if got := fairShare(test.counts, test.room); got != test.want && (got < test.want || test.want != 1<<40) {
			t.Errorf("%v in %d: %d, want %d", test.counts, test.room, got, test.want)
		}
	}
}

func TestLasted(t *testing.T) {
	at := fixture.Noon
	c := func(since, held time.Duration) *inspect.Contender {
		c := inspect.Contender{}
		if since > 0 {
			c.Since = fixture.Ago(since)
		}
		if held > 0 {
			c.HeldSince = fixture.Ago(held)
		}
		return &c
	}
	for _, test := range []struct {
		kind   inspect.EventKind
		c      *inspect.Contender
		want   time.Duration
		atMost bool
	}{
		{inspect.EventReleased, c(9*time.Second, 4*time.Second), 4 * time.Second, false},
		{inspect.EventExpired, c(9*time.Second, 0), 9 * time.Second, true},
		{inspect.EventEnded, c(0, 0), 0, true},
		{inspect.EventAcquired, c(9*time.Second, time.Second), 8 * time.Second, false},
		{inspect.EventHandover, c(9*time.Second, 0), 9 * time.Second, false},
		{inspect.EventGone, c(9*time.Second, 0), 9 * time.Second, false},
		{inspect.EventWaiting, c(9*time.Second, 0), 0, false},
	} {
		got, atMost := lasted(inspect.Event{Kind: test.kind, At: at, Contender: test.c}, 0)
		must.Equal(t, got, test.want, test.kind)
		must.Equal(t, atMost, test.atMost, test.kind, "at most")
	}
	for _, kind := range []inspect.EventKind{inspect.EventReleased, inspect.EventHandover, inspect.EventGone} {
		e := inspect.Event{Kind: kind, At: at, Contender: c(9*time.Second, 0), Between: inspect.Interval{From: at.Add(-time.Minute), To: at}}
		if kind == inspect.EventReleased {
			e.Contender = c(9*time.Second, 4*time.Second)
		}
		_, atMost := lasted(e, 0)
		must.True(t, atMost, kind, "at an unseen time: the length is exact")
	}
	ahead := inspect.Event{Kind: inspect.EventReleased, At: at, Contender: c(0, time.Second)}
	got, _ := lasted(ahead, 2*time.Second)
	must.Equal(t, got, 3*time.Second, "with a clock 2s ahead")
}
