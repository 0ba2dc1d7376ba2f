package contend

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// story is a run step by step; each step takes a millisecond.
type story struct {
	*ledger
	now    time.Time
	losses uint64
	notes  []string // of grants
}

// newStory has a contender for each letter: r for a reader, w for a writer.
func newStory(permits int, contenders string) *story {
	shared := make([]bool, len(contenders))
	for i := range shared {
		shared[i] = contenders[i] == 'r'
	}
	s := &story{ledger: newLedger(shared, permits), now: time.Unix(1000, 0)}
	s.begin(s.now)
	return s
}

func (s *story) tick() time.Time {
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

// tell takes steps such as "0 comes 7, 0 gets, 0 gives": a contender queues with a place of
// arrival, is granted the lock, and releases it.
func (s *story) tell(t *testing.T, steps string) {
	t.Helper()
	for step := range strings.SplitSeq(steps, ", ") {
		var i int
		var verb string
		var n int64
		_, _ = fmt.Sscan(step, &i, &verb, &n) // some steps have no number
		switch verb {
		case "queues":
			s.queue(i, s.tick())
		case "arrives":
			s.arrive(i, n)
		case "comes":
			s.queue(i, s.tick())
			s.arrive(i, n)
		case "gets":
			if e := s.grant(i, s.tick()); e.Overtook || e.Overlap {
				s.notes = append(s.notes, fmt.Sprintf("%d overtook %v, overlap %v", i, e.Overtook, e.Overlap))
			}
		case "shows": // a fencing token
			s.fence(i, uint64(n))
		case "releases":
			s.release(i, s.tick(), true)
		case "gives":
			s.release(i, s.tick(), true)
			s.think(i, s.tick())
		case "loses":
			s.release(i, s.tick(), false)
			s.lose(i, s.now, errors.New("gone"))
			s.losses++
		case "fails":
			s.fail(i, s.tick(), errors.New("refused"))
		default:
			t.Fatalf("unknown step %q", step)
		}
	}
}

// What the figures count, and what the events of grants report.
func TestStoriesHaveTheirFigures(t *testing.T) {
	t.Parallel()
	stories := strings.Split(string(must.Have(os.ReadFile("testdata/stories.txt"))(t)), "\n\n")
	for _, lines := range stories[1:] { // after the comment
		var permits int
		var contenders string
		name, lines, _ := strings.Cut(lines, "\n")
		setting, want, _ := strings.Cut(lines, "\n")
		must.Have(fmt.Sscan(setting, &permits, &contenders))(t)
		_, steps, _ := strings.Cut(setting, ": ")
		s := newStory(permits, strings.TrimSuffix(contenders, ":"))
		s.tell(t, steps)
		figures := fmt.Sprintf("%d inversions, %d overlaps, %d tokens back", s.inversions, s.overlaps, s.tokensBack)
		must.Equal(t, strings.Join(append([]string{figures}, s.notes...), "; "), strings.TrimSpace(want), name)
		must.Equal(t, s.grants, uint64(strings.Count(steps, "gets")), name, "grants")
		must.True(t, s.unplaced > 0 || len(s.past) == 0, name, "keeps past grants", s.past)
		for _, c := range s.lanes {
			if c.State == Waiting && !c.placed {
				s.unplaced--
			}
		}
		must.Equal(t, s.unplaced, 0, name, "too many waiters without a place")
	}
}

func TestHandoffsAreTimed(t *testing.T) {
	t.Parallel()
	const free, three = "0 comes 1, 0 gets, 0 gives, 1 comes 2, 1 gets", "0 comes 0, 1 comes 1, 2 comes 2, "
	const handoff = free + ", 0 comes 3, 1 gives, 0 gets"
	for name, tt := range map[string]struct{ contenders, steps, want string }{
		"no waiter":               {"ww", free, "0, at most 0s"},
		"a waiter":                {"ww", handoff, "1, at most 2ms"},
		"a loss":                  {"ww", handoff + ", 1 comes 4, 0 loses, 1 gets", "1, at most 2ms"},
		"the last of two readers": {"rrw", three + "0 gets, 1 gets, 0 releases, 1 releases, 2 gets", "1, at most 1ms"},
	} {
		s := newStory(1, tt.contenders)
		s.tell(t, tt.steps)
		r, handoff, _ := s.figures(s.now)
		q := handoff.quantiles()
		must.Equal(t, fmt.Sprintf("%d, at most %v", q.Count, q.Max), tt.want, "handoffs with", name)
		must.Equal(t, q.P50, q.Max, "the median with", name)
		must.Equal(t, [2]uint64{r.Lost, r.Contenders[0].Lost}, [2]uint64{s.losses, s.losses}, "losses with", name)
	}
}

func TestLongestWaitIncludesOngoingWaits(t *testing.T) {
	t.Parallel()
	s := newStory(1, "ww")
	began := s.now
	r, _, _ := s.figures(began)
	must.Equal(t, r.LongestWaiter, -1, "longest waiter at the start")
	must.Equal(t, r.Contenders[1].Since, began, "since the start")
	s.tell(t, "0 comes 1, 1 comes 2, 0 gets")
	for _, waited := range []time.Duration{1, 2} { // contender 0 has waited 2 ms
		r, _, _ := s.figures(began.Add((2 + waited) * time.Millisecond))
		must.Equal(t, r.LongestWaiter, 0, "longest waiter once contender 1 has waited", waited, "ms")
	}
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
	s := newStory(1, "ww")
	began := s.now
	s.tell(t, "0 comes 1, 1 comes 2, 0 gets, 0 releases, 1 gets") // to ms 5
	s.fail(0, s.tick(), errors.New("slow answer"))                // 6
	s.tell(t, "0 comes 3")                                        // 7
	s.fail(0, s.tick(), errors.New("refused"))                    // 8
	s.tick()                                                      // 9
	r, handoff, wait := s.figures(s.now)
	want := Report{
		Duration: 9 * time.Millisecond, Grants: 2, LongestWait: 3 * time.Millisecond, LongestWaiter: 1, Failed: 2,
		LastError: r.LastError, Contenders: []Contender{
			{State: Thinking, Since: began.Add(8 * time.Millisecond), Grants: 1, Held: time.Millisecond, LongestWait: 2 * time.Millisecond, Failed: 2},
			{State: Holding, Since: began.Add(5 * time.Millisecond), Grants: 1, Held: 4 * time.Millisecond, LongestWait: 3 * time.Millisecond},
		},
	}
	must.True(t, reflect.DeepEqual(r, want) && r.LastError.Error() == "refused", r, "want", want)
	if h, w := handoff.quantiles(), wait.quantiles(); h.Count != 1 || h.Max != time.Millisecond || w.Count != 2 || w.Max != 3*time.Millisecond {
		t.Errorf("handoff %+v, wait %+v", h, w)
	}
	s.ended = began.Add(7 * time.Millisecond)
	r, _, _ = s.figures(s.now)
	must.True(t, r.Ended && r.Duration == 7*time.Millisecond, "ended", r.Ended, "after", r.Duration)
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

func TestStuckCountsOnlyServerWaits(t *testing.T) {
	t.Parallel()
	s := newStory(1, "ww")
	for _, tt := range []struct {
		step string
		want time.Duration
	}{
		{"0 comes 1", 0},
		{"1 comes 2", time.Minute},
		{"0 gets", 0},
		{"0 gives", 0},
		{"0 comes 3", time.Minute},
		{"1 gets", 0},
		{"1 releases", time.Minute},
	} {
		s.tell(t, tt.step)
		must.Equal(t, s.stuck(s.now.Add(time.Minute)), tt.want, "after", tt.step)
	}
	s.leave(0, s.tick())
	s.leave(1, s.now)
	must.Equal(t, s.stuck(s.now.Add(time.Minute)), 0, "all have ended")
}

func TestFiguresOfGrants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grants []uint64
		want   string // Jain's index, requests a grant, grants a second, the smallest and the largest share
	}{
		{nil, "0 0 0 0 0"},
		{[]uint64{0, 0}, "0 0 0 0 0"},
		{[]uint64{5, 5, 5, 5}, "1 0.5 10 5 5"},
		{[]uint64{8, 0, 0, 0}, "0.25 1.25 4 0 8"},
		{[]uint64{3, 1}, "0.8 2.5 2 1 3"},
	} {
		r := Report{Contenders: make([]Contender, len(tt.grants)), Requests: 10, Duration: 2 * time.Second}
		for i, n := range tt.grants {
			r.Contenders[i].Grants = n
			r.Grants += n
		}
		least, most := r.Shares()
		must.Equal(t, fmt.Sprint(r.Jain(), r.RequestsPerGrant(), r.Rate(), least, most), tt.want, tt.grants)
	}
	must.Equal(t, (&Report{Grants: 1}).Rate(), 0, "before the run begins")
}

func TestQuantilesStayInRange(t *testing.T) {
	t.Parallel()
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
	must.Same(t, draw(1, 0), draw(1, 0), "the same seed")
	must.True(t, !slices.Equal(draw(1, 0), draw(2, 0)) && !slices.Equal(draw(1, 0), draw(1, 1)),
		"another seed or contender has the same times")
}
