package lockops

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// A hold in ZooKeeper lasts as long as its session certainly lives. Only a quorum of the servers
// can confirm that. A follower that is cut off from its leader still answers reads and pings. A
// leader that is cut off from its followers answers sync, while the others let the session expire.
//
// During a hold, the session therefore sends a transaction every eighth of its timeout. It only
// checks that the nodes of its holds exist, but a quorum has to commit it. The transaction cannot
// prove when the leader has last heard of the session. A leader counts the timeout from a
// follower's report of its active sessions, in its answer to the leader's ping, every half tick. A
// timeout is at least two ticks. So the last report before a transaction is at most a quarter of
// the timeout old.
//
// Hence a hold counts from an earlier message, which the server had answered a quarter of the
// timeout before the transaction was sent. The hold lasts the timeout from the sending of that
// message. So it ends at most three quarters of the timeout after the transaction. With heartbeats
// alone, that is an eighth less. After a silence, it is less by the length of the silence (see
// zkwire.Tap's Kept).
const (
	beatsPerTimeout = 8
	// earlyZK ends a hold before its deadline, in addition to one percent for clocks that run at
	// different rates.
	earlyZK = 2 * time.Millisecond
)

var (
	errExpired = errors.New("zookeeper session has expired")
	errSilence = errors.New("no quorum of the zookeeper servers has answered in time")
)

// lease returns the current session and the time until which it is certain to live.
func (s *ZKSession) lease() (session int64, deadline time.Time) {
	session, timeout, since := s.tap.Kept()
	_, _, sent := s.tap.Committed()
	trust := timeout - timeout/4
	end := sent.Add(trust)
	if kept := since.Add(timeout); kept.Before(end) {
		end = kept
	}
	return session, s.sleep.correct(since, end.Add(-timeout/100-earlyZK))
}

// A hold begins only if its session is certain to live for this part of the timeout. slowLease is
// for servers too slow to prove more.
const (
	leastLease = 4
	slowLease  = 8
)

// leased reports whether a session is certain to live for a part of its timeout.
func (s *ZKSession) leased(session int64, part time.Duration) bool {
	current, deadline := s.lease()
	_, timeout := s.tap.Session()
	return current == session && s.clock.until(deadline) > timeout/part
}

// prove asks a quorum to confirm that a node exists, and thus that its session lives.
func (s *ZKSession) prove(ctx context.Context, session int64, path string) error {
	r, err := s.call(ctx, session, checkRequest([]string{path}))
	if r.Sent.IsZero() && err != nil {
		return err
	}
	_, err = missing(r)
	return err
}

// proofs counts the proofs of a contender's session that were too short to begin a hold.
type proofs struct {
	n     int
	since time.Time
}

// proveLease returns nil once the session is certain to live for a while. It returns errLook when
// the queue must be read again before the next proof. A caller that does not wait tries for one
// session timeout.
func (c *contender) proveLease(ctx context.Context) error {
	s, p := c.q.session, &c.proofs
	if p.n == 0 {
		p.since = s.clock.now()
	}
	p.n++
	part := time.Duration(leastLease)
	if p.n > 2 { // from now on, wait for a report between the list and the proof
		part = slowLease
		if err := s.rest(ctx, reportsPerTimeout); err != nil {
			return err
		}
	}
	if err := s.prove(ctx, c.session, c.node.path); errors.Is(err, zk.ErrNoNode) {
		return errAgain
	} else if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	if s.leased(c.session, part) {
		return nil
	}
	// The answer came late, or after a silence that may not have ended for the leader.
	_, timeout := s.tap.Session()
	switch {
	case !c.wait && c.inside == nil && s.clock.since(p.since) >= timeout:
		return errSilence
	case p.n == 1:
		if err := s.rest(ctx, restPerTimeout); err != nil {
			return err
		}
	}
	return errLook
}

const (
	// reportsPerTimeout is the least number of reports in a timeout. In a report, a server
	// tells the leader which sessions it has heard from.
	reportsPerTimeout = 4
	// restPerTimeout sets the wait after a first proof that came too soon.
	restPerTimeout = 16
)

// rest waits for a part of the session timeout.
func (s *ZKSession) rest(ctx context.Context, part time.Duration) error {
	_, timeout := s.tap.Session()
	return pause(ctx, s.ctx, timeout/part, nil)
}

// heldNodes are the holds of a session.
type heldNodes struct {
	mu    sync.Mutex
	holds map[*zkGrant]struct{}
	beat  time.Time     // when the newest heartbeat was sent
	next  time.Time     // earliest time of the next look
	wake  chan struct{} // look now
}

// add starts to watch over a hold.
func (h *heldNodes) add(z *zkGrant, now time.Time, timeout time.Duration) {
	h.mu.Lock()
	h.holds[z] = struct{}{}
	late := h.next.After(now.Add(timeout / beatsPerTimeout))
	h.mu.Unlock()
	if late {
		h.look()
	}
}

func (h *heldNodes) remove(z *zkGrant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.holds, z)
}

// begin lists the holds. Without any, the next look waits until one is added, unless another may
// come soon.
func (h *heldNodes) begin(now time.Time, soon bool) []*zkGrant {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = time.Time{}
	if len(h.holds) == 0 && !soon {
		h.next = now.Add(idle)
	}
	return slices.Collect(maps.Keys(h.holds))
}

// beatNow sends the next heartbeat at once.
func (h *heldNodes) beatNow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beat = time.Time{}
}

// due reports whether a heartbeat is due, and counts it as sent. next is the time of the next one.
// Any request that a quorum has committed counts as a heartbeat.
func (h *heldNodes) due(now, committed time.Time, every time.Duration) (due bool, next time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if committed.After(h.beat) && !h.beat.IsZero() {
		h.beat = committed
	}
	if due = now.Sub(h.beat) >= every; due {
		h.beat = now
	}
	return due, h.beat.Add(every)
}

func (h *heldNodes) look() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// idle is the time between looks without holds.
const idle = time.Hour

// keepHolds watches over the session's holds until it is closed. It sends the heartbeats. It ends
// holds whose session has ended or is no longer certain to live, without hearing from any server.
func (s *ZKSession) keepHolds() {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for busy := false; ; {
		s.sleep.look()
		holds := s.held.begin(s.clock.now(), busy)
		next := idle
		if _, timeout := s.tap.Session(); len(holds) > 0 || busy {
			next = s.look(holds, max(timeout/beatsPerTimeout, time.Millisecond))
		}
		busy = len(holds) > 0
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-s.held.wake:
		case <-s.ctx.Done():
			s.endHolds()
			return
		}
	}
}

// endHolds ends all holds of a session that is being closed.
func (s *ZKSession) endHolds() {
	for _, z := range s.held.begin(s.clock.now(), false) {
		z.lost(ErrClosed)
	}
}

// look ends expired holds, sends a heartbeat if it is due, and returns when to look again.
func (s *ZKSession) look(holds []*zkGrant, every time.Duration) (next time.Duration) {
	session, deadline := s.lease()
	now := s.clock.now()
	var live []*zkGrant
	for _, z := range holds {
		switch {
		case z.id != session:
			z.lost(errExpired)
		case !now.Before(deadline):
			z.lost(errSilence)
		default:
			live = append(live, z)
		}
	}
	if len(live) == 0 {
		return every
	}
	_, _, committed := s.tap.Committed()
	due, again := s.held.due(now, committed, every)
	if due {
		s.heartbeat(session, live)
	}
	return min(again.Sub(now), deadline.Sub(now))
}

// maxChecks bounds the holds that one heartbeat checks: 100 bytes each, of the megabyte that a request may have.
const maxChecks = 1000

// heartbeat sends a transaction that checks the nodes of holds. One answer proves the session of all of them.
func (s *ZKSession) heartbeat(session int64, holds []*zkGrant) {
	for len(holds) > 0 {
		part := holds[:min(len(holds), maxChecks)]
		holds = holds[len(part):]
		paths := each.Of(part, func(z *zkGrant) string { return z.node.path })
		s.tap.Send(session, func(_ int, r zkwire.Reply) {
			if i, _ := missing(r); i >= 0 && i < len(part) {
				s.goDo(func() { part[i].lookAtNode() })
			}
			s.held.look()
		}, checkRequest(paths))
	}
}
