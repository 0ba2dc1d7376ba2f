package lockops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/failpoint"
)

// lease keeps an acquisition with a TTL: it renews in time and reports the loss before the TTL has run out on
// any server.
type lease struct {
	session *RedisSession
	grant   *grant
	opts    *options
	prolong func(ctx context.Context) error // renews the TTL on the servers
	// runs after the hold's context has ended because prolong found the lock lost; may be nil
	cleanUp func()

	mu       sync.Mutex
	since    time.Time // until was counted from here, so later suspensions are subtracted
	until    time.Time
	renewAt  time.Time // zero means never
	listenAt time.Time // zero if it already listens, or never will
	unlisten func()
	renewing bool
	again    bool // renew again: a message or suspension came after the current renewal was sent
	// set when a message said that the lock may be gone, or messages may have been missed; cleared
	// by an answered renewal
	doubted bool
	ended   bool
	timer   *time.Timer
}

// newLease makes the lease of a lock that is held until a time counted from since.
func newLease(
	s *RedisSession, g *grant, opts *options, prolong func(context.Context) error, since, until time.Time,
) *lease {
	return &lease{session: s, grant: g, opts: opts, prolong: prolong, since: since, until: until}
}

// certain returns the time until which the lock is certainly held. The server's clock went on while
// this machine was suspended.
func (l *lease) certain() time.Time { return l.session.sleepClock.correct(l.since, l.until) }

// expiry counts from when the request was sent, since the server may have set the TTL at any time
// after that.
func expiry(sent time.Time, ttl time.Duration) time.Time { return sent.Add(ttl - drift(ttl)) }

const (
	// early leaves the holder's goroutines time to see its context end before the deadline.
	early = 2 * time.Millisecond
	// listenAfter spares shorter holds the subscription that reports a lock taken away.
	listenAfter = time.Second
)

// run starts to renew the lease. It returns errRanOut if ctx, the session or the lease has already
// ended.
func (l *lease) run(ctx context.Context) error {
	until := l.certain()
	now := l.session.clock.now()
	if ctx.Err() != nil {
		return because(ctx)
	}
	if !now.Before(until.Add(-early)) {
		return errRanOut
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts.renew {
		l.renewAt = now.Add(min(l.opts.ttl, until.Sub(now)) / 3)
		if l.opts.ttl > 3*listenAfter {
			l.listenAt = now.Add(listenAfter)
		}
	}
	if !l.session.leases.add(l) {
		return ErrClosed
	}
	l.timer = time.AfterFunc(l.session.clock.until(l.next()), l.tick)
	return nil
}

// next returns the instant of the next renewal, subscription or expiry, whichever is first.
func (l *lease) next() time.Time {
	at := l.certain().Add(-early)
	if !l.renewing && !l.renewAt.IsZero() && l.renewAt.Before(at) {
		at = l.renewAt
	}
	if !l.listenAt.IsZero() && l.listenAt.Before(at) {
		at = l.listenAt
	}
	return at
}

// wake checks the lease at once, whatever its timer was set to, and renews it. The suspension has
// brought the deadline nearer than the planned renewal assumed.
func (l *lease) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = l.again || l.renewing
	if !l.renewing && !l.renewAt.IsZero() {
		l.renewAt = l.session.clock.now()
	}
	l.timer.Reset(0)
}

// judge ends a hold that ran out before its timer fired, because the machine or the process was
// stopped.
func (l *lease) judge() {
	if at, _ := l.deadline(); !l.session.clock.before(at) {
		l.lose(errRanOut)
	}
}

func (l *lease) deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.certain(), true
}

// stop ends the renewal, when the lock is released or lost.
func (l *lease) stop() {
	l.mu.Lock()
	ended := l.ended
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	unlisten := l.unlisten
	l.mu.Unlock()
	if ended {
		return
	}
	l.session.leases.remove(l)
	if unlisten != nil {
		unlisten()
	}
}

// tick does the work that is due, in its own goroutine. It renews every third of the TTL, and
// sooner after an unanswered renewal. It gives up the hold when the deadline comes near without an
// answer.
func (l *lease) tick() {
	if !l.session.enter() { // Close ends the hold
		return
	}
	defer l.session.leave()
	l.mu.Lock()
	until := l.certain()
	now := l.session.clock.now()
	switch {
	case l.ended:
		l.mu.Unlock()
		return
	case !now.Before(until.Add(-early)):
		l.mu.Unlock()
		l.lose(errRanOut)
		return
	}
	renews := !l.renewing && !l.renewAt.IsZero() && !now.Before(l.renewAt)
	listens := !l.listenAt.IsZero() && !now.Before(l.listenAt)
	l.again = l.again && !renews
	l.renewing = l.renewing || renews
	if listens {
		l.listenAt = time.Time{}
	}
	l.timer.Reset(l.session.clock.until(l.next()))
	l.mu.Unlock()
	if listens {
		l.listen()
	}
	if renews {
		l.renew()
	}
}

// listen subscribes to the masters' messages that the lock was taken away.
func (l *lease) listen() {
	stops := each.Of(l.session.masters, func(m *master) func() { return m.subscriber.listen(l.grant.lock.name) })
	stop := func() {
		for _, s := range stops {
			s()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		stop()
		return
	}
	l.unlisten = stop
}

func (l *lease) renew() {
	failpoint.At(failpoint.Renewing)
	err := l.extendNow(l.grant.ctx)
	failpoint.At(failpoint.Renewed)
	l.mu.Lock()
	l.renewing = false
	if l.ended {
		l.mu.Unlock()
		return
	}
	wait, until := l.opts.ttl/3, l.certain()
	if err != nil {
		wait = max(l.opts.ttl/30, 5*time.Millisecond)
		if l.doubted {
			wait = min(wait, renewAgain/2+rand.N(renewAgain/2))
		}
	}
	l.doubted = l.doubted && err != nil
	if l.again {
		wait = min(wait, rand.N(checkSpread))
	}
	l.renewAt = l.session.clock.now().Add(wait)
	l.timer.Reset(l.session.clock.until(l.next()))
	l.mu.Unlock()
	if err == nil {
		l.opts.renewed(until)
	}
}

// renewAgain bounds the wait for an unanswered renewal that was sent because the lock may be gone.
const renewAgain = time.Second

// check renews soon, because a message said that the lock is gone, or messages may have been
// missed.
func (l *lease) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again, l.doubted = l.renewing, true
	if at := l.session.clock.now().Add(rand.N(checkSpread)); at.Before(l.renewAt) {
		l.renewAt = at
		l.timer.Reset(l.session.clock.until(l.next()))
	}
}

// checkSpread staggers the renewals of a session's holders.
const checkSpread = 10 * time.Millisecond

var errRanOut = errors.New("its TTL ran out before it could be renewed")

// lose ends the hold; the release removes the rest from the servers.
func (l *lease) lose(reason error) {
	l.stop()
	l.grant.lose(reason)
}

// extend sets the TTL again. When ctx or the hold ends first, the request continues in the background.
func (l *lease) extend(ctx context.Context) error {
	if !l.session.enter() {
		return ErrClosed
	}
	defer l.session.leave()
	result := make(chan error, 1)
	l.session.goDo(func() { result <- l.extendNow(ctx) })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return because(ctx)
	case <-l.grant.ctx.Done():
		return context.Cause(l.grant.ctx)
	}
}

// extendNow sets the TTL again if it can before the deadline. The new TTL counts from before the
// request was sent.
func (l *lease) extendNow(ctx context.Context) error {
	l.mu.Lock()
	since, until := l.since, l.until
	l.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, l.session.sleepClock.correct(since, until))
	defer cancel()
	sent := l.session.sleepClock.now()
	err := l.prolong(ctx)
	until = l.session.sleepClock.correct(since, until)
	if err == nil && l.session.clock.before(until) {
		l.prolonged(sent)
	}
	if errors.Is(err, ErrLost) || errors.Is(err, ErrGone) || errors.Is(err, ErrOther) {
		l.lose(err)
		if l.cleanUp != nil {
			l.cleanUp()
		}
	}
	if lost := l.grant.lost(); lost != nil {
		return lost
	}
	switch {
	case l.session.clock.before(until):
		return err
	case err == nil:
		return fmt.Errorf("%w: %w", ErrLost, errRanOut)
	}
	return fmt.Errorf("%w: %w (%w)", ErrLost, errRanOut, err)
}

func (l *lease) prolonged(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := expiry(sent, l.opts.ttl)
	if l.session.sleepClock.correct(sent, until).After(l.certain()) {
		l.since, l.until = sent, until
		if !l.ended && l.timer != nil {
			l.timer.Reset(l.session.clock.until(l.next()))
		}
	}
}

// leases are the leases of a session.
type leases struct {
	mu     sync.Mutex
	all    map[*lease]struct{}
	closed bool
	watch  *time.Timer   // looks for suspensions while there are leases, else nil
	slept  time.Duration // total suspension when watch last looked
}

func (ls *leases) add(l *lease) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return false
	}
	if ls.all == nil {
		ls.all = make(map[*lease]struct{})
	}
	ls.all[l] = struct{}{}
	if ls.watch == nil {
		ls.slept = l.session.sleepClock.look()
		ls.watch = time.AfterFunc(sleepLook, func() { ls.lookForSleep(l.session.sleepClock) })
	}
	return true
}

// sleepLook bounds how long a hold that ran out during a suspension may go on after the machine
// wakes. The leases' own timers do not run during a suspension.
const sleepLook = 250 * time.Millisecond

// lookForSleep judges all leases again after the machine was suspended.
func (ls *leases) lookForSleep(sleep *sleepClock) {
	total := sleep.look()
	ls.mu.Lock()
	slept := total != ls.slept
	ls.slept = total
	if len(ls.all) > 0 && !ls.closed {
		ls.watch.Reset(sleepLook)
	} else {
		ls.watch = nil
	}
	ls.mu.Unlock()
	if !slept {
		return
	}
	for _, l := range ls.of("") {
		l.wake()
	}
}

func (ls *leases) remove(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
}

// of returns the leases of a lock, or all of them if no lock is named.
func (ls *leases) of(lock string) (found []*lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		if lock == "" || l.grant.lock.name == lock {
			found = append(found, l)
		}
	}
	return found
}

func (ls *leases) check(lock string) {
	for _, l := range ls.of(lock) {
		l.check()
	}
}

func (ls *leases) loseAll() {
	ls.mu.Lock()
	ls.closed = true
	ls.mu.Unlock()
	for _, l := range ls.of("") {
		l.lose(ErrClosed)
	}
}
