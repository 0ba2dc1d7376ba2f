package contend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// fakeTarget is a lock in this process that misbehaves as the test asks. Its contenders queue, and
// choose picks the next one. permits is the actual limit of holders, although Describe claims one.
type fakeTarget struct {
	permits int
	choose  func(waiting []*fakeMember) int
	shown   bool  // reports the order of arrival
	loses   bool  // every hold is lost at once
	release error // of a hold that is not lost
	fails   func(contender int) error
	refuses func(ctx context.Context, contender int) error // to join
	order   string                                         // as described, if not "this test"
	known   time.Duration                                  // after which tokens are known
	untold  bool                                           // its holds have no token

	mu      sync.Mutex
	holding int
	arrived int64
	token   uint64
	waiting []*fakeMember
	open    int
	closed  bool
}

type fakeMember struct {
	target *fakeTarget
	number int
	turn   chan struct{}
	asked  uint64 // 3 to connect
}

// fifo lets the first waiter in.
func fifo([]*fakeMember) int { return 0 }

// lifo lets the last waiter in.
func lifo(waiting []*fakeMember) int { return len(waiting) - 1 }

func (a *fakeTarget) Describe() Description {
	order := cmp.Or(a.order, "this test")
	return Description{Lock: "fake", Kind: "mutex", Order: order, Permits: 1, TokenAfter: a.known}
}

func (a *fakeTarget) Open(context.Context) error { return nil }

func (a *fakeTarget) Join(ctx context.Context, contender int) (Member, error) {
	if a.refuses != nil {
		if err := a.refuses(ctx, contender); err != nil {
			return (*fakeMember)(nil), err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
	return &fakeMember{target: a, number: contender, turn: make(chan struct{}, 1), asked: 3}, nil
}

func (a *fakeTarget) Close(context.Context) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return nil, nil
}

func (a *fakeTarget) next() {
	for a.holding < a.permits && len(a.waiting) > 0 {
		i := a.choose(a.waiting)
		a.waiting[i].turn <- struct{}{}
		a.waiting = slices.Delete(a.waiting, i, i+1)
		a.holding++
	}
}

func (m *fakeMember) Acquire(ctx context.Context, arrived func(int64)) (Hold, error) {
	a := m.target
	if a.fails != nil {
		if err := a.fails(m.number); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	m.asked++
	a.arrived++
	if a.shown {
		arrived(a.arrived)
	}
	a.waiting = append(a.waiting, m)
	a.next()
	a.mu.Unlock()
	select {
	case <-m.turn:
	case <-ctx.Done():
		if a.withdraw(m) {
			return nil, ctx.Err()
		}
		<-m.turn // just granted
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token++
	h := &fakeHold{target: a, token: a.token}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	if a.loses {
		h.end(lockops.ErrLost)
	}
	return h, nil
}

func (a *fakeTarget) withdraw(m *fakeMember) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, m)
	if i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	return i >= 0
}

func (m *fakeMember) Requests() uint64 {
	m.target.mu.Lock()
	defer m.target.mu.Unlock()
	return m.asked
}

func (m *fakeMember) Close() {
	m.target.mu.Lock()
	defer m.target.mu.Unlock()
	m.target.open--
}

type fakeHold struct {
	target *fakeTarget
	ctx    context.Context
	end    context.CancelCauseFunc
	token  uint64
}

func (h *fakeHold) Context() context.Context { return h.ctx }

func (h *fakeHold) Token() (uint64, bool) { return h.token, !h.target.untold }

func (h *fakeHold) Release(context.Context) error {
	h.end(lockops.ErrReleased)
	a := h.target
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holding--
	a.next()
	if a.loses {
		return lockops.ErrLost
	}
	return a.release
}

// reportOf makes a complete run.
func reportOf(t *testing.T, target Target, cfg Config) Report {
	t.Helper()
	_, report := finished(t, target, cfg)
	return report
}

// finished is like reportOf and also returns the run.
func finished(t *testing.T, target Target, cfg Config) (*Run, Report) {
	t.Helper()
	run := must.Have(Start(t.Context(), target, cfg))(t)
	report := must.Have(run.Wait())(t)
	must.True(t, report.Ended, "the run has not ended")
	must.Same(t, report.Left, nil, "left")
	return run, report
}

var small = Config{Contenders: 5, Hold: 200 * time.Microsecond, Think: 100 * time.Microsecond, Rounds: 20, Seed: 1}

func TestFiguresOfAFairLock(t *testing.T) {
	t.Parallel()
	target := &fakeTarget{permits: 1, choose: fifo, shown: true}
	r := reportOf(t, target, small)
	must.True(t, r.Grants == 100 && r.Jain() == 1 && r.Inversions == 0 && r.Overlaps == 0 && r.Lost+r.Failed == 0, r)
	if r.Handoff.Count == 0 || r.Handoff.P50 <= 0 || r.Handoff.Max < r.Handoff.P99 || r.Wait.Count != 100 || r.LongestWaiter < 0 {
		t.Errorf("handoff %+v, wait %+v", r.Handoff, r.Wait)
	}
	must.Equal(t, r.RequestsPerGrant(), 1, "requests a grant")
	must.True(t, r.Rate() > 0, "grants a second", r.Rate())
	must.Equal(t, fmt.Sprintf("%s %s by %s, seed %d", r.Lock, r.Kind, r.Order, r.Seed), "fake mutex by this test, seed 1")
	must.True(t, target.closed && target.open == 0, "target closed:", target.closed, target.open, "sessions open")
}

func TestDoubleGrantIsDetected(t *testing.T) {
	t.Parallel()
	r := reportOf(t, &fakeTarget{permits: 2, choose: fifo, shown: true}, small)
	must.True(t, r.Overlaps != 0, "no overlap was reported")
}

// Without an order of arrival the calls count, and the report says so.
func TestReverseGrantOrderIsDetected(t *testing.T) {
	t.Parallel()
	cfg := small
	cfg.Think = 0
	for order, shown := range map[string]bool{"this test": true, OrderOfCalls: false} {
		r := reportOf(t, &fakeTarget{permits: 1, choose: lifo, shown: shown}, cfg)
		must.True(t, r.Inversions >= r.Grants/4 && r.Overlaps == 0 && r.Order == order,
			r.Inversions, "inversions of", r.Grants, "grants by", r.Order, r.Overlaps, "overlaps")
	}
}

// A failed release is a failure; a release that finds the hold lost is a loss. The run continues.
func TestLossesAndFailuresAreCounted(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		loses        bool
		release      error
		lost, failed uint64
		err          error
	}{
		"lost at once":          {true, nil, 100, 0, lockops.ErrLost},
		"lost when released":    {false, lockops.ErrLost, 100, 0, lockops.ErrLost},
		"refused when released": {false, refused, 0, 100, refused},
	} {
		target := &fakeTarget{permits: 1, choose: fifo, shown: true, loses: tt.loses, release: tt.release}
		r := reportOf(t, target, small)
		must.Equal(t, [3]uint64{r.Grants, r.Lost, r.Failed}, [3]uint64{100, tt.lost, tt.failed}, name)
		must.Be(t, r.LastError, tt.err, name)
	}
}

// A contender pauses longer after each failure, up to a second. In a run by rounds it gives up after
// ten in a row.
func TestFailuresPauseLonger(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration][]int64{
		0: {0, 50, 150, 350, 750, 1550, 2550, 3550, 4550, 5550}, 6 * time.Second: {0, 50, 150, 350, 750, 1550, 2550, 3550, 4550, 5550},
		7 * time.Second: {0, 50, 150, 350, 750, 1550, 2550, 3550, 4550, 5550, 6550},
	} {
		synctest.Test(t, func(t *testing.T) {
			target := &fakeTarget{permits: 1, choose: fifo, fails: func(int) error { return errors.New("broken") }}
			run := must.Have(Start(t.Context(), target, Config{Contenders: 1, Rounds: 1, For: limit}))(t)
			began, failed := time.Now(), []int64(nil)
			for e := range run.Events() {
				if e.Kind == Failed {
					failed = append(failed, e.At.Sub(began).Milliseconds())
				}
			}
			must.Same(t, failed, want, "for", limit)
			r := must.Have(run.Wait())(t)
			must.Equal(t, r.Duration, max(limit, 5550*time.Millisecond), "the run's length")
		})
	}
}

func TestContenderFailureDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	calls := 0
	target := &fakeTarget{permits: 1, choose: fifo, shown: true, fails: func(contender int) error {
		if contender != 3 {
			return nil
		}
		if calls++; calls > 2 {
			return nil
		}
		return broken
	}}
	r := reportOf(t, target, small)
	must.Equal(t, [3]uint64{r.Failed, r.Contenders[3].Failed, r.Grants}, [3]uint64{2, 2, 100}, "failures and grants")
	must.Be(t, r.LastError, broken)
}

func TestFailedJoinAbortsStart(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	target := &fakeTarget{permits: 1, choose: fifo, refuses: func(ctx context.Context, contender int) error {
		_, limited := ctx.Deadline()
		must.True(t, limited, "connecting has no time limit")
		switch contender {
		case 2:
			return refused
		case 4: // ends with the failure of another
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	cfg := small
	cfg.Connect = time.Minute
	_, err := Start(t.Context(), target, cfg)
	must.Be(t, err, refused)
	must.Contain(t, err.Error(), "contender 2: refused")
	must.True(t, target.closed && target.open == 0, "target closed:", target.closed, target.open, "sessions open")
}

func TestFirstCauseIsReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for want, failures := range map[string][]error{
		"<nil>":                         {nil, nil},
		"contender 1: broken":           {nil, broken, errors.New("later")},
		"contender 2: broken":           {context.Canceled, context.Canceled, broken},
		"contender 0: context canceled": {context.Canceled},
	} {
		must.Equal(t, fmt.Sprint(firstFailure(failures)), want)
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	const many, negative = "1001 contenders: use 1 to 1000", "hold, think, for and rounds must not be negative"
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "0 contenders: use 1 to 1000"},
		{Config{Contenders: 1001}, many},
		{Config{Contenders: 1, Hold: -1}, negative},
		{Config{Contenders: 1, Think: -1}, negative},
		{Config{Contenders: 1, For: -1}, negative},
		{Config{Contenders: 1, Rounds: -1}, negative},
	} {
		_, err := Start(t.Context(), &fakeTarget{}, tt.cfg)
		must.Equal(t, fmt.Sprint(err), tt.want)
	}
	must.Be(t, Config{Contenders: 1}.check(), nil)
	must.Be(t, Config{Contenders: 1000}.check(), nil)
}

func TestTimeStopOrContextEndsRun(t *testing.T) {
	t.Parallel()
	long := Config{Contenders: 4, Hold: time.Hour}
	end := map[string]func(*Run, context.CancelFunc){
		"stop":    func(r *Run, _ context.CancelFunc) { r.Stop() },
		"context": func(_ *Run, cancel context.CancelFunc) { cancel() },
		"time":    func(*Run, context.CancelFunc) {},
	}
	for name, f := range end {
		cfg := long
		if name == "time" {
			cfg.For = 20 * time.Millisecond
		}
		target := &fakeTarget{permits: 1, choose: fifo, shown: true}
		ctx, cancel := context.WithCancel(t.Context())
		run := must.Have(Start(ctx, target, cfg))(t)
		f(run, cancel)
		r, err := run.Wait()
		must.True(t, err == nil && r.Ended && target.open == 0 && target.holding == 0 && len(target.waiting) == 0,
			name, err, target.open, "open,", target.holding, "hold,", len(target.waiting), "wait")
		for _, c := range r.Contenders {
			must.Equal(t, c.State, Done, name, "a contender's state")
		}
		must.Equal(t, r.Failed, 0, name, "failures")
		cancel()
	}
}

// Events report each contender's steps in order. Not reading them only loses events.
func TestEventsReportStepsInOrder(t *testing.T) {
	t.Parallel()
	cfg := small
	cfg.Events = 1000
	run := must.Have(Start(t.Context(), &fakeTarget{permits: 1, choose: fifo, shown: true}, cfg))(t)
	after := map[EventKind]EventKind{Queued: Released, Granted: Queued, Released: Granted}
	last := []EventKind{Released, Released, Released, Released, Released}
	holder := -1
	n := 0
	for e := range run.Events() {
		n++
		if last[e.Contender] != after[e.Kind] {
			t.Fatalf("contender %d: %v after %v", e.Contender, e.Kind, last[e.Contender])
		}
		last[e.Contender] = e.Kind
		switch {
		case e.Kind == Granted && holder >= 0:
			t.Fatalf("granted to %d while %d holds", e.Contender, holder)
		case e.Kind == Granted:
			holder = e.Contender
		case e.Kind == Released:
			holder = -1
		}
	}
	r, _ := run.Wait()
	must.Equal(t, n, 300, "events")
	must.Equal(t, r.Dropped, 0, "dropped events")
	cfg.Events = 1
	r = reportOf(t, &fakeTarget{permits: 1, choose: fifo, shown: true}, cfg)
	must.Equal(t, r.Dropped, 299, "dropped events, if none is read")
	must.Equal(t, r.Grants, 100, "grants")
}

func TestSnapshotsOfARunUnderWay(t *testing.T) {
	t.Parallel()
	run := must.Have(Start(t.Context(), &fakeTarget{permits: 1, choose: fifo, shown: true}, Config{Contenders: 2, Hold: time.Hour}))(t)
	defer run.Wait()
	defer run.Stop()
	must.Equal(t, cap(run.Events()), 4096, "events kept by default")
	for e := range run.Events() {
		if e.Kind == Granted {
			r := run.Snapshot()
			c := r.Contenders[e.Contender]
			if r.Ended || r.Grants != 1 || c.State != Holding || c.Held <= 0 || !c.Since.Equal(e.At) || r.Duration <= 0 {
				t.Errorf("%+v", r)
			}
			must.True(t, r.Requests == 1 || r.Requests == 2, "requests of two Acquires:", r.Requests)
			return
		}
	}
}

// All times in a report come from the given clock.
func TestReportUsesGivenClock(t *testing.T) {
	t.Parallel()
	began := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	now := began
	run, err := Start(t.Context(), &fakeTarget{permits: 1, choose: fifo, shown: true}, Config{
		Contenders: 1, Rounds: 3, Seed: 1,
		Now: func() time.Time { now = now.Add(time.Hour); return now }, // safe: a single contender
	})
	must.Succeed(t, err)
	r := must.Have(run.Wait())(t)
	if r.Grants != 3 || r.Duration < 3*time.Hour || r.LongestWait != time.Hour || r.Contenders[0].Since.Year() != began.Year() {
		t.Errorf("%d grants in %v, the longest wait %v, since %v", r.Grants, r.Duration, r.LongestWait, r.Contenders[0].Since)
	}
}
