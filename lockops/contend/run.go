package contend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Run is a started run.
type Run struct {
	cfg     Config
	target  Target
	about   Description
	members []Member
	before  uint64 // requests sent to connect
	cancel  context.CancelCauseFunc
	done    chan struct{}

	mu      sync.Mutex
	ledger  *ledger
	events  chan Event
	dropped uint64

	// set when done is closed
	requests uint64
	left     []string
	err      error
}

const (
	joining      = 16               // contenders that connect simultaneously
	closeLimit   = 10 * time.Second // to remove nodes and keys
	releaseLimit = 5 * time.Second  // to release a lock once the run has ended
)

// Start opens the target, connects all contenders, and starts the run. If it fails, it leaves nothing
// behind. The run ends as configured, or with ctx. Callers must call Wait, or Stop to end it early.
func Start(ctx context.Context, target Target, cfg Config) (*Run, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Events = cmp.Or(cfg.Events, defaultEvents)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	members, err := enter(ctx, target, cfg)
	if err != nil {
		closeAll(members)
		_, unclean := closeTarget(ctx, target)
		return nil, errors.Join(err, unclean)
	}
	r := &Run{
		cfg: cfg, target: target, about: target.Describe(), members: members, done: make(chan struct{}),
		events: make(chan Event, cfg.Events),
	}
	shared := make([]bool, len(members))
	for i := range shared {
		shared[i] = r.about.Shared != nil && r.about.Shared(i)
	}
	r.ledger = newLedger(shared, r.about.Permits)
	r.before = sent(members)
	ctx, r.cancel = context.WithCancelCause(ctx)
	go r.run(ctx)
	return r, nil
}

// enter opens the target and connects the contenders, within Config.Connect.
func enter(ctx context.Context, target Target, cfg Config) ([]Member, error) {
	if cfg.Connect > 0 {
		limited, cancel := context.WithTimeout(ctx, cfg.Connect)
		defer cancel()
		ctx = limited
	}
	if err := target.Open(ctx); err != nil {
		return nil, err
	}
	return join(ctx, target, cfg.Contenders)
}

func closeTarget(ctx context.Context, target Target) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return target.Close(ctx)
}

// join connects the contenders. With an error it returns the connected ones.
func join(ctx context.Context, target Target, n int) ([]Member, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	members, failures := make([]Member, n), make([]error, n)
	turns := make(chan struct{}, joining)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if members[i], failures[i] = target.Join(ctx, i); failures[i] != nil {
				members[i] = nil // not an interface that contains nil
				cancel()
			}
		})
	}
	all.Wait()
	return members, firstFailure(failures)
}

// firstFailure returns the first failure that is not a cancellation caused by another.
func firstFailure(failures []error) error {
	var found error
	for i, err := range failures {
		if err != nil && (found == nil || errors.Is(found, context.Canceled)) {
			found = fmt.Errorf("contender %d: %w", i, err)
		}
	}
	return found
}

func closeAll(members []Member) {
	var all sync.WaitGroup
	for _, m := range members {
		if m != nil {
			all.Go(m.Close)
		}
	}
	all.Wait()
}

func sent(members []Member) (sum uint64) {
	for _, m := range members {
		sum += m.Requests()
	}
	return sum
}

// Stop ends the run; Wait returns its report.
func (r *Run) Stop() { r.cancel(nil) }

// Wait waits until the run has ended and cleaned up. The report is complete even with an error, which
// is ErrStalled or the failure to check for leftovers.
func (r *Run) Wait() (Report, error) {
	<-r.done
	return r.Snapshot(), r.err
}

// Done is closed once the run has ended and cleaned up.
func (r *Run) Done() <-chan struct{} { return r.done }

// Events returns the channel of events, in order. Reading them is optional: while the channel is
// full, events are dropped and counted. It is closed at the end.
func (r *Run) Events() <-chan Event { return r.events }

// Snapshot returns the report so far. It may be called at any time, but at most about ten times a
// second.
func (r *Run) Snapshot() Report {
	r.mu.Lock()
	report, handoff, wait := r.ledger.figures(r.cfg.Now())
	report.Dropped = r.dropped
	report.Order = r.about.Order
	if r.ledger.byCall {
		report.Order = OrderOfCalls
	}
	r.mu.Unlock()
	report.Handoff, report.Wait = handoff.quantiles(), wait.quantiles()
	report.Lock, report.Kind, report.Seed = r.about.Lock, r.about.Kind, r.cfg.Seed
	select {
	case <-r.done:
		report.Requests, report.Left = r.requests, r.left
	default:
		report.Requests = sent(r.members) - r.before
	}
	return report
}

// OrderOfCalls is the order of arrival if the servers have none.
const OrderOfCalls = "the order of the calls in this process"

func (r *Run) run(ctx context.Context) {
	defer close(r.done)
	defer close(r.events)
	defer r.cancel(nil)
	limited := ctx
	if r.cfg.For > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, r.cfg.For)
		defer cancel()
	}
	r.mu.Lock()
	r.ledger.begin(r.cfg.Now())
	r.mu.Unlock()
	var all sync.WaitGroup
	for i := range r.members {
		all.Go(func() { r.contend(limited, i) })
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	if r.cfg.Stall > 0 && r.cfg.For == 0 {
		watching.Go(func() { r.watch(stop) })
	}
	all.Wait()
	close(stop)
	watching.Wait()
	r.mu.Lock()
	r.ledger.ended = r.cfg.Now()
	r.mu.Unlock()
	r.requests = sent(r.members) - r.before
	closeAll(r.members)
	if r.left, r.err = closeTarget(ctx, r.target); r.err != nil {
		r.err = fmt.Errorf("clean up %s: %w", r.about.Lock, r.err)
	}
	if errors.Is(context.Cause(ctx), ErrStalled) {
		r.err = errors.Join(context.Cause(ctx), r.err)
	}
}

// watch ends a stalled run.
func (r *Run) watch(stop <-chan struct{}) {
	tick := time.NewTicker(max(r.cfg.Stall/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			stuck := r.ledger.stuck(r.cfg.Now())
			r.mu.Unlock()
			if stuck >= r.cfg.Stall {
				r.cancel(fmt.Errorf("%s: %w within %v", r.about.Lock, ErrStalled, r.cfg.Stall))
				return
			}
		case <-stop:
			return
		}
	}
}
