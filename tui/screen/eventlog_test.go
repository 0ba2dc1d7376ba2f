package screen

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
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
	if n := len(log.List); n < 100 || n > 150 || log.Dropped != 10_003-n || log.End() != 10_003 {
		t.Fatalf("%d kept, %d forgotten, the next is %d", n, log.Dropped, log.End())
	}
	for number, lock := range []string{"quiet", "calm", "quiet", ""} {
		if e, _ := log.At(number); lock == "" && e != nil || lock != "" && (e == nil || e.Lock != fixture.Id("zk:/"+lock)) {
			t.Errorf("number %d is %v", number, e)
		}
	}
	if !slices.IsSortedFunc(log.List, func(a, b inspect.Event) int { return a.At.Compare(b.At) }) {
		t.Error("the events are not in order of arrival")
	}
	last, _ := log.At(10_002)
	if last == nil || !last.At.Equal(fixture.In(10_002*time.Second)) || log.Number(log.Place(10_002)) != 10_002 {
		t.Errorf("the newest is %v", last)
	}
	if at, number := log.CompleteFrom(fixture.Id("zk:/quiet")); !at.IsZero() || number != -1 {
		t.Errorf("the quiet lock lost events, the last at %v", at)
	}
	for _, lock := range []inspect.ID{fixture.Id("zk:/noisy-0"), {}} {
		at, number := log.CompleteFrom(lock)
		after := log.Place(number + 1)
		if e, _ := log.At(number); e != nil || after == 0 || !log.List[after].At.After(at) {
			t.Errorf("%v: complete from %v, number %d", lock, at, number)
		}
	}
	if at, _ := log.CompleteFrom(inspect.ID{}); log.List[0].At.After(at) {
		t.Error("the log claims to be complete")
	}
}

// With more locks than room, the newest locks keep one event each.
func TestManyLocksShareTheLog(t *testing.T) {
	log := EventLog{Keep: 10}
	for i := range 16 {
		log.Add([]inspect.Event{lockEvent(i, fmt.Sprint(i))})
	}
	if n := len(log.List); n != 10 || log.Number(0) != 6 {
		t.Fatalf("%d kept, starting with number %d", n, log.Number(0))
	}
	for i := 16; i < 100; i++ {
		log.Add([]inspect.Event{lockEvent(i, fmt.Sprint(i))})
	}
	if at, _ := log.CompleteFrom(fixture.Id("zk:/80")); len(log.forgotten) > 10 || at.IsZero() {
		t.Errorf("%d locks remembered; one that may have lost events is complete from %v", len(log.forgotten), at)
	}
	early := log.Until(log.List[3].At)
	if len(early.List) != 4 || early.End() != log.Number(3)+1 {
		t.Errorf("%d events until the fourth, the next is %d", len(early.List), early.End())
	}
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
