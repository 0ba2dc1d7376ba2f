package contend

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// story is a run step by step; each step takes a millisecond.
type story struct {
	*ledger
	now time.Time
}

func newStory(permits int, shared ...bool) *story {
	s := &story{newLedger(shared, permits), time.Unix(1000, 0)}
	s.begin(s.now)
	return s
}

func (s *story) tick() time.Time {
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

// comes queues a contender at a known place.
func (s *story) comes(i int, place int64) {
	s.queue(i, s.tick())
	s.arrive(i, place)
}

func (s *story) gets(i int) Event { return s.grant(i, s.tick()) }

func (s *story) gives(i int) {
	s.release(i, s.tick(), true)
	s.think(i, s.tick())
}

func TestArrivalOrderHasNoInversions(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false, false)
	for i := range 3 {
		s.comes(i, int64(i))
	}
	for i := range 3 {
		s.gets(i)
		s.gives(i)
	}
	if s.inversions != 0 || s.overlaps != 0 || s.grants != 3 {
		t.Errorf("inversions %d, overlaps %d, grants %d", s.inversions, s.overlaps, s.grants)
	}
}

func TestOvertakingGrantIsOneInversion(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false, false)
	for i := range 3 {
		s.comes(i, int64(i))
	}
	must.True(t, s.gets(2).Overtook, "the event does not report the overtaking")
	s.gives(2)
	s.gets(0)
	s.gives(0)
	s.gets(1)
	must.Equal(t, s.inversions, 1, "inversions")
}

// A waiter's place may become known only after it was overtaken.
func TestOvertakingIsSeenAfterwards(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false, false)
	s.queue(0, s.tick())
	s.comes(1, 7)
	s.gets(1)
	s.gives(1)
	s.arrive(0, 3)
	s.gets(0)
	if s.inversions != 1 || len(s.past) != 0 {
		t.Errorf("%d inversions, want 1; %d past grants kept", s.inversions, len(s.past))
	}
	// A grant does not overtake a later arrival, whatever its place.
	s.gives(0)
	s.queue(2, s.tick())
	s.comes(1, 9)
	s.gets(1)
	s.gives(1)
	s.queue(0, s.tick())
	s.arrive(2, 10)
	s.arrive(0, 8)
	must.Equal(t, s.inversions, 1, "inversions")
}

func TestNumbersMayWrap(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	s.comes(0, int64(1<<31-1)<<32)
	s.comes(1, int64(-1<<31)<<32)
	s.gets(0)
	s.gives(0)
	s.gets(1)
	must.Equal(t, s.inversions, 0, "a wrapped number counts as an earlier one: inversions")
}

func TestReadersOvertakeWritersOnly(t *testing.T) {
	t.Parallel()
	s := newStory(1, true, true, false)
	s.comes(0, 1)
	s.comes(1, 2)
	s.comes(2, 3)
	s.gets(1)
	s.gets(0)
	if s.inversions != 0 || s.overlaps != 0 {
		t.Errorf("readers together: inversions %d, overlaps %d", s.inversions, s.overlaps)
	}
	s.gives(0)
	s.comes(0, 4)
	s.gets(0)
	must.Equal(t, s.inversions, 1, "a reader overtakes a writer: inversions")
	if e := s.gets(2); !e.Overlap || s.overlaps != 1 {
		t.Errorf("a writer together with readers: %d overlaps, want 1", s.overlaps)
	}
}

func TestPermitsMayBeHeldTogether(t *testing.T) {
	t.Parallel()
	s := newStory(2, false, false, false)
	for i := range 3 {
		s.comes(i, int64(i))
	}
	s.gets(1) // 0 has the other permit, but its grant is not reported yet
	s.gets(0)
	if s.inversions != 0 || s.overlaps != 0 {
		t.Errorf("inversions %d, overlaps %d", s.inversions, s.overlaps)
	}
	must.True(t, s.gets(2).Overlap, "a third holder of two permits is not counted as an overlap")
}

func TestOverlapsAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	s.comes(0, 1)
	s.gets(0)
	s.fence(0, 10)
	s.comes(1, 2)
	s.gets(1)
	s.fence(1, 9) // the same overlap, seen twice
	if s.overlaps != 1 || s.tokensBack != 1 {
		t.Errorf("overlaps %d, tokens back %d, want 1 and 1", s.overlaps, s.tokensBack)
	}
	s.gives(0)
	s.gives(1)
	s.comes(0, 3)
	must.True(t, !s.gets(0).Overlap, "an overlap on a free lock")
	s.fence(0, 10) // the token of an earlier grant
	if s.overlaps != 2 || s.tokensBack != 2 {
		t.Errorf("overlaps %d, tokens back %d, want 2 and 2", s.overlaps, s.tokensBack)
	}
}

func TestAHandoffNeedsAWaiter(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	s.comes(0, 1)
	s.gets(0)
	s.gives(0)
	s.comes(1, 2)
	s.gets(1)
	if r, handoff, _ := s.figures(s.now); handoff.quantiles().Count != 0 || r.Grants != 2 {
		t.Errorf("handoffs without a waiter: %+v", handoff.quantiles())
	}
	s.comes(0, 3)
	s.gives(1) // takes 2 ms
	s.gets(0)
	_, handoff, _ := s.figures(s.now)
	if q := handoff.quantiles(); q.Count != 1 || q.Max != 2*time.Millisecond || q.P50 != q.Max {
		t.Errorf("%+v, want one of 2 ms", q)
	}
	// A loss is not a handoff.
	s.comes(1, 4)
	s.release(0, s.tick(), false)
	s.lose(0, s.now, errors.New("gone"))
	s.gets(1)
	if r, handoff, _ := s.figures(s.now); handoff.quantiles().Count != 1 || r.Lost != 1 || r.Contenders[0].Lost != 1 {
		t.Errorf("after a loss: %+v %+v", r, handoff.quantiles())
	}
}

func TestLongestWaitIncludesOngoingWaits(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	s.comes(0, 1)
	s.comes(1, 2)
	s.gets(0)
	r, _, wait := s.figures(s.now.Add(time.Second))
	if r.LongestWaiter != 1 || r.LongestWait != time.Second+time.Millisecond || wait.quantiles().Max > 5*time.Millisecond {
		t.Errorf("%+v", r)
	}
	s.leave(1, s.now.Add(2*time.Second))
	if r, _, _ = s.figures(s.now); r.LongestWait != 2*time.Second+time.Millisecond {
		t.Errorf("%+v", r)
	}
}

// Every figure of a run whose steps are known.
func TestFiguresFollowFromTheSteps(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	began := s.now
	s.comes(0, 1)                                  // ms 1
	s.comes(1, 2)                                  // 2
	s.gets(0)                                      // 3
	s.release(0, s.tick(), true)                   // 4
	s.gets(1)                                      // 5
	s.fail(0, s.tick(), errors.New("slow answer")) // 6
	s.comes(0, 3)                                  // 7
	s.fail(0, s.tick(), errors.New("refused"))     // 8
	s.tick()                                       // 9
	r, handoff, wait := s.figures(s.now)
	want := Report{
		Duration: 9 * time.Millisecond, Grants: 2, LongestWait: 3 * time.Millisecond, LongestWaiter: 1, Failed: 2,
		LastError: r.LastError, Contenders: []Contender{
			{State: Thinking, Since: began.Add(8 * time.Millisecond), Grants: 1, Held: time.Millisecond, LongestWait: 2 * time.Millisecond, Failed: 2},
			{State: Holding, Since: began.Add(5 * time.Millisecond), Grants: 1, Held: 4 * time.Millisecond, LongestWait: 3 * time.Millisecond},
		},
	}
	if !reflect.DeepEqual(r, want) || r.LastError.Error() != "refused" {
		t.Errorf("%+v, want %+v", r, want)
	}
	if h, w := handoff.quantiles(), wait.quantiles(); h.Count != 1 || h.Max != time.Millisecond || w.Count != 2 || w.Max != 3*time.Millisecond {
		t.Errorf("handoff %+v, wait %+v", h, w)
	}
	s.ended = began.Add(7 * time.Millisecond)
	if r, _, _ := s.figures(s.now); !r.Ended || r.Duration != 7*time.Millisecond {
		t.Errorf("ended %v after %v", r.Ended, r.Duration)
	}
	for i, want := range []string{"thinking", "waiting", "holding", "releasing", "done"} {
		must.Equal(t, State(i).String(), want, "state", i)
	}
	for i, want := range []string{"queued", "granted", "released", "lost", "failed", "left"} {
		must.Equal(t, EventKind(i).String(), want, "kind", i)
	}
	must.Equal(t, labelled(labelOf("try"), 1), "try#2", "label")
	if a, b := labelOf(""), labelOf(""); a == b || len(a) != len("contend-01234567") {
		t.Errorf("labels %s and %s", a, b)
	}
}

// Readers may leave together; the grant after them is measured from the last release.
func TestHandoffsCountFromTheLastReader(t *testing.T) {
	t.Parallel()
	s := newStory(1, true, true, false)
	for i := range 3 {
		s.comes(i, int64(i))
	}
	s.gets(0)
	s.gets(1)
	s.release(0, s.tick(), true)
	s.release(1, s.tick(), true)
	s.gets(2)
	if _, handoff, _ := s.figures(s.now); handoff.quantiles().Max != time.Millisecond || handoff.quantiles().Count != 1 {
		t.Errorf("%+v", handoff.quantiles())
	}
}

func TestStuckCountsOnlyServerWaits(t *testing.T) {
	t.Parallel()
	s := newStory(1, false, false)
	later := func() time.Time { return s.now.Add(time.Minute) }
	s.comes(0, 1)
	must.Equal(t, s.stuck(later()), 0, "one is thinking")
	s.comes(1, 2)
	must.Equal(t, s.stuck(later()), time.Minute, "all wait")
	s.gets(0)
	must.Equal(t, s.stuck(later()), 0, "one holds")
	s.release(0, s.tick(), true)
	must.Equal(t, s.stuck(later()), time.Minute, "one is releasing")
	s.leave(0, s.tick())
	s.leave(1, s.now)
	must.Equal(t, s.stuck(later()), 0, "all have ended")
}

func TestJainIndexOfGrants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grants []uint64
		want   float64
	}{
		{nil, 0},
		{[]uint64{0, 0}, 0},
		{[]uint64{5, 5, 5, 5}, 1},
		{[]uint64{8, 0, 0, 0}, 0.25},
		{[]uint64{3, 1}, 0.8},
	} {
		r := Report{Contenders: make([]Contender, len(tt.grants))}
		for i, n := range tt.grants {
			r.Contenders[i].Grants = n
		}
		must.Equal(t, r.Jain(), tt.want, tt.grants)
	}
}

func TestFiguresWithoutGrants(t *testing.T) {
	t.Parallel()
	r := Report{}
	least, most := r.Shares()
	must.Equal(t, fmt.Sprint(r.RequestsPerGrant(), r.Rate(), least, most), "0 0 0 0", "without grants")
	r = Report{Grants: 4, Requests: 10, Duration: 2 * time.Second, Contenders: []Contender{{Grants: 2}, {Grants: 1}, {Grants: 3}}}
	least, most = r.Shares()
	must.Equal(t, fmt.Sprint(r.RequestsPerGrant(), r.Rate(), least, most), "2.5 2 1 3", "with grants")
	s := newSpread()
	for _, d := range []time.Duration{-time.Second, 10 * time.Millisecond, 20 * time.Millisecond, 2 * time.Hour} {
		s.add(d)
	}
	q := s.quantiles()
	must.Equal(t, fmt.Sprint(q.Count, q.P50.Round(time.Millisecond), q.P99.Round(time.Minute), q.Max), "4 10ms 1h0m0s 2h0m0s", "times")
}

func TestSeedAndContenderDetermineTimes(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, contender int) (drawn []time.Duration) {
		next := Times(seed, contender, 10*time.Millisecond, 100*time.Millisecond)
		for range 50 {
			h, think := next()
			if h < 5*time.Millisecond || h >= 15*time.Millisecond || think < 50*time.Millisecond || think >= 150*time.Millisecond {
				t.Errorf("hold %v, think %v", h, think)
			}
			drawn = append(drawn, h, think)
		}
		return drawn
	}
	same := func(a, b []time.Duration) bool {
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	must.True(t, same(draw(1, 0), draw(1, 0)), "the same seed gives different times")
	if same(draw(1, 0), draw(2, 0)) || same(draw(1, 0), draw(1, 1)) {
		t.Error("another seed or contender has the same times")
	}
}
