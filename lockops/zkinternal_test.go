package lockops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// Contenders are ordered by number, never by name, until the numbers are used up. A node that is
// not listed is not first.
func TestZ15_OrderIsByNumber(t *testing.T) {
	t.Parallel()
	const guid = "_c_aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa-lock-"
	const other = "_c_bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb-lock-"
	q := &zkQueue{opts: newOptions(zkMutexKeeps, nil), lock: lockKey{name: "/q"}, dir: "/q"}
	for _, tt := range []struct {
		own      string
		children []string
		behind   string // "": first
	}{
		{guid + "0000000002", []string{guid + "0000000002"}, ""},
		{guid + "0000000002", []string{guid + "0000000002", other + "0000000001"}, other + "0000000001"},
		{guid + "2147483646", []string{guid + "2147483646", other + "2147483647", other + "-2147483648"}, ""},
		{guid + "0000000010", []string{guid + "0000000010", other + "0000000009", other + "0000000008"}, other + "0000000009"},
	} {
		c := &contender{attempt: attempt{mode: recipe.Exclusive, wait: true}, q: q, node: node{dir: "/q", path: "/q/" + tt.own, unique: true}}
		err := c.check(listing{children: tt.children})
		var b *blocked
		behind := errors.As(err, &b)
		must.Equal(t, behind, tt.behind != "", tt.own, "is behind another of", tt.children)
		must.True(t, behind && b.by.Name == tt.behind || err == nil, tt.own, "among", tt.children, err, "want behind", tt.behind)
	}
	c := &contender{q: q, node: node{dir: "/q", path: "/q/" + guid + "0000000002", unique: true, czxid: 5}}
	for _, gone := range []listing{{}, {children: []string{other + "0000000003"}}} {
		must.Be(t, c.check(gone), errAgain, "not listed in", gone.children)
		_, err := (&ZKSemaphore{permits: 2}).judge(t.Context(), c, gone)
		must.Be(t, err, errAgain, "a permit that is not listed in", gone.children)
	}
	for _, last := range []string{"2147483647", "-2147483648"} {
		c := &contender{q: q, node: node{dir: "/q", path: "/q/" + guid + last, unique: true}}
		must.Contain(t, fmt.Sprint(c.check(listing{children: []string{guid + last}})), "another directory", "number", last)
	}
	c.node.unique = false
	must.Be(t, c.check(listing{children: []string{guid + "0000000002"}, czxid: 6}), errAgain, "in a new directory")
	stranger := c.check(listing{children: []string{guid + "0000000002", "read-0000000001"}})
	must.True(t, errors.As(stranger, new(*RecipeError)), "behind a contender of madelson", stranger)
}

func TestSuspensionShortensEarlierDeadlines(t *testing.T) {
	t.Parallel()
	total := time.Duration(0)
	now := time.Now()
	c := newSleepClock(clock{func() time.Time { return now }, func() time.Duration { return total }})
	since := now
	now = now.Add(time.Second)
	deadline := since.Add(time.Minute)
	must.Equal(t, deadline.Sub(c.correct(since, deadline)), 0, "correction while awake")
	total = 40 * time.Second
	must.Equal(t, deadline.Sub(c.correct(since, deadline)), total, "correction after a suspension of 40 s")
	must.Equal(t, deadline.Sub(c.correct(since, deadline)), total, "the same correction again")
	now = now.Add(time.Second)
	after := now
	must.Equal(t, deadline.Sub(c.correct(after, deadline)), 0, "correction of a later request's deadline")
	total += time.Millisecond // the two clocks are read one after the other
	must.Equal(t, deadline.Sub(c.correct(after, deadline)), 0, "correction for clock noise")
	now = now.Add(time.Second)
	total += 10 * time.Second
	must.Equal(t, deadline.Sub(c.correct(since, deadline)), total, "correction after two suspensions")
	must.Equal(t, deadline.Sub(c.correct(after, deadline)), total-40*time.Second, "correction after one later suspension")
	for range 2 * sleepsKept { // more than are remembered
		now = now.Add(time.Second)
		total += time.Minute
		c.look()
	}
	must.Equal(t, deadline.Sub(c.correct(since, deadline)), total, "correction after many suspensions")
}

// A lease leaves a margin for clocks that run at different rates.
func TestTheLeaseHasAMargin(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	id, timeout, sent := s.tap.Committed()
	session, deadline := s.lease()
	margin := sent.Add(timeout * 3 / 4).Sub(deadline)
	must.True(t, session == id && margin >= timeout*3/400, "session", session, "margin", margin, "of", timeout)
}

func TestLeaseBelongsToItsSession(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	id, _ := s.tap.Session()
	must.True(t, s.leased(id, leastLease), "its own session is not leased")
	must.True(t, !s.leased(id+1, leastLease), "another session is leased")
}

// leasedSession is a session on a server of its own.
func leasedSession(t *testing.T, opts ...ZKOption) *ZKSession {
	t.Helper()
	server := must.Have(zkserver.Start(zkserver.Config{MinSessionTimeout: 400 * time.Millisecond}))(t)
	t.Cleanup(func() { _ = server.Close() })
	s := must.Have(NewZKSession(t.Context(), []string{server.Addr()}, opts...))(t)
	t.Cleanup(s.Close)
	return s
}

// Entries that may be earlier than a contender stay in its queue.
func TestOnlyLaterEntriesAreDropped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		own            string
		children, want []string
	}{
		{"lock-0000000002", []string{"lock-0000000003", "lock-0000000002", "x", "lock-0000000001"}, []string{"lock-0000000002", "x", "lock-0000000001"}},
		{"lock-2147483647", []string{"lock--2147483648", "lock-2147483647", "lock-2147483646"}, []string{"lock-2147483647", "lock-2147483646"}},
		{"lock--2147483648", []string{"lock--2147483648", "lock-2147483647"}, []string{"lock--2147483648", "lock-2147483647"}},
		{"lock-0000000000", []string{"lock-0000000000", "lock-1073741824", "lock-1073741823"}, []string{"lock-0000000000", "lock-1073741824"}},
		{"lock", []string{"lock", "lock-0000000001"}, []string{"lock", "lock-0000000001"}},
	} {
		c := &contender{node: node{path: "/q/" + tt.own}}
		must.Same(t, c.notAfter(slices.Clone(tt.children)), tt.want, tt.own, tt.children)
	}
}

// A contender is behind a stranger, unless their numbers show that it came first.
func TestStrangersMayComeFirst(t *testing.T) {
	t.Parallel()
	for stranger, behind := range map[string]bool{
		"x": true, "lock-0000000006": false, "lock-0000000005": false, "lock-0000000004": true,
	} {
		c := &contender{node: node{path: "/q/lock-0000000005"}}
		must.Equal(t, c.behind(&RecipeError{Child: stranger}), behind, "behind", stranger)
	}
	must.True(t, (&contender{node: node{path: "/q/x"}}).behind(&RecipeError{Child: "lock-0000000000"}), "x is not behind")
	must.True(t, (&contender{node: node{path: "/q/lock-0000000000"}}).behind(&RecipeError{Child: "x"}), "not behind x")
}

// Servers show x for the digests of a list that the user may not change.
func TestHiddenDigestsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for acl, want := range map[zk.ACL]bool{
		{Scheme: "digest", ID: "user:x"}: false, {Scheme: "digest", ID: "user:hash"}: true, {Scheme: "ip", ID: "::x"}: true,
	} {
		must.Equal(t, repeatable([]zk.ACL{acl}), want, acl, "can be repeated")
	}
	must.True(t, !repeatable(nil), "an empty list can be repeated")
}

// A contender whose watch cannot be set does not wait, but lists the queue again.
func TestFailedWatchForcesRecheck(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	session, _ := s.tap.Session()
	must.Be(t, s.awaitTurn(t.Context(), session, "/turn/gone", nil), nil, "no such node")
	must.Be(t, s.awaitTurn(t.Context(), session+1, "/turn/another", nil), zk.ErrSessionExpired, "in another session")
}

// A watch ends with its connection, even if the next one has long been open.
func TestWatchEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	session, _ := s.tap.Session()
	watch := s.watch(session, "/")
	<-watch.armed
	s.watches.endOthers(watch.reply.Conn)
	must.Equal(t, len(s.watches.paths), 1, "watches on the connection")
	s.watches.endOthers(watch.reply.Conn + 1)
	Await(t, "the watch ends", watch.ended)
}

// When the session's clock is past the lease, as after the process was stopped, the hold ends
// without asking a server.
func TestHoldEndsBySessionClock(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	s := leasedSession(t, ClockAhead(&ahead))
	h := must.Have(NewZKMutex(s, "/lock").Acquire(t.Context()))(t)
	id, timeout := s.tap.Session()
	ahead.Store(int64(timeout))
	must.True(t, !s.leased(id, leastLease), "still leased after a session timeout")
	if holds := s.held.begin(s.clock.now(), false); len(holds) > 0 {
		s.look(holds, timeout/beatsPerTimeout)
		must.True(t, h.Context().Err() != nil, "the hold did not end when it was checked")
	}
	<-h.Context().Done()
	must.Be(t, context.Cause(h.Context()), errSilence, "cause")
}

// Heartbeats are sent only for the holds that a session lists. A released hold is not listed.
func TestNoHeartbeatsWithoutAHold(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	listed := func() int { return len(s.held.begin(s.clock.now(), true)) }
	h := must.Have(NewZKMutex(s, "/lock").Acquire(t.Context()))(t)
	must.Equal(t, listed(), 1, "holds with heartbeats")
	must.Succeed(t, h.Release(t.Context()))
	must.Equal(t, listed(), 0, "holds with heartbeats after the release")
}

// A request that was not written completely is repeated, so that a failed delete request leaves no
// node.
func TestUnwrittenRequestCountsAsLost(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	theirs.Close()
	_, err := wire{ours}.Write([]byte("request"))
	must.True(t, lostInTransit(err) && errors.Is(err, io.ErrClosedPipe), err, "want ErrClosedPipe that counts as lost")
	for _, err := range []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrNoChildrenForEphemerals, zk.ErrInvalidPath, zk.ErrInvalidACL} {
		must.True(t, expectedOfCreate(err) && !expectedOfCreate(zk.ErrConnectionClosed), err, "counts as a server without containers")
	}
}

// contenderOn returns a contender that has its node in a session.
func contenderOn(t *testing.T, s *ZKSession, opts ...Option) *contender {
	t.Helper()
	q := newZKQueue(s, "/lock", opts, false)
	must.Succeed(t, q.prepare(t.Context()))
	session, _ := s.tap.Session()
	a := attempt{mode: recipe.Exclusive, wait: true}
	c := &contender{attempt: a, q: q, session: session, node: q.newNode(a)}
	must.Succeed(t, c.check(must.Have(c.enter(t.Context()))(t)))
	return c
}

// Where every proof comes late, a shorter lease will do from the third one on. A contender that does not wait
// gives up after a session timeout.
func TestSlowServersProveLess(t *testing.T) {
	t.Parallel()
	const timeout = 400 * time.Millisecond
	s := leasedSession(t, WithSessionTimeout(timeout))
	c, began := contenderOn(t, s), time.Now()
	left := timeout * 3 / 16 // of the lease after each proof
	s.clock.now = func() time.Time {
		_, deadline := s.lease()
		return deadline.Add(-left)
	}
	for proof, want := range []error{errLook, errLook, nil} {
		must.Be(t, c.proveLease(t.Context()), want, "proof", proof+1)
	}
	must.True(t, time.Since(began) >= timeout/restPerTimeout+timeout/reportsPerTimeout, "no rest between the proofs")
	left, c.wait = timeout/slowLease, false
	must.Be(t, c.proveLease(t.Context()), errLook, "too short for slow servers")
	c.proofs.since = c.proofs.since.Add(-timeout)
	must.Be(t, c.proveLease(t.Context()), errSilence, "after a session timeout, without waiting")
	c.node.path = "/lock/deleted"
	must.Be(t, c.proveLease(t.Context()), errAgain, "a deleted node")
}

// The answer to a create request, or its absence, tells what may be there and what to do next.
func TestAnswersToCreateRequests(t *testing.T) {
	t.Parallel()
	c := contenderOn(t, leasedSession(t))
	for _, tt := range []struct{ answer, want, next error }{
		{zk.ErrNoServer, zk.ErrNoServer, errAgain},
		{zk.ErrNoAuth, zk.ErrNoAuth, errAgain},
		{zk.ErrNoNode, errAgain, errAgain},
		{zk.ErrConnectionClosed, zk.ErrConnectionClosed, nil}, // the search finds it
	} {
		f := &flight{}
		f.replies[0].Err = tt.answer
		c.node.path, c.node.maybe = "", true
		must.Be(t, c.made(t.Context(), f), tt.want, tt.answer)
		must.Be(t, c.recover(t.Context()), tt.next, "after", tt.answer)
	}
	must.Be(t, c.recover(t.Context()), nil, "a known node")
	c.session++
	must.Be(t, c.recover(t.Context()), errAgain, "a node of an earlier session")
}

// A hold is lost with its session, even if there is a new one.
func TestHoldsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	for _, name := range []string{"curator", "sequential"} {
		q := newZKQueue(s, "/"+name, []Option{WithRecipe(name)}, true)
		h := must.Have(q.acquire(t.Context(), recipe.Exclusive))(t)
		earlier := *h.grant.backend.(*zkGrant)
		earlier.id--
		_, read := q.enqueue(t.Context(), attempt{mode: recipe.Shared, inside: &earlier})
		for _, err := range []error{read, earlier.release(t.Context())} {
			must.True(t, errors.Is(err, ErrLost) && errors.Is(err, errExpired), name, err)
		}
		must.Be(t, earlier.proveNode(t.Context()), zk.ErrSessionExpired, name)
		must.Be(t, context.Cause(h.Context()), errExpired, name)
	}
}

// Nodes get the access list of WithACL, else the directory's own if it can be read.
func TestNodesGetAnAccessList(t *testing.T) {
	t.Parallel()
	s := leasedSession(t)
	must.Same(t, must.Have(s.ACL(t.Context(), "/"))(t), zk.WorldACL(zk.PermAll))
	_, err := s.inherited("/dir", zkwire.Reply{Err: zk.ErrNoAuth})
	must.Be(t, err, errNoACL)
	_, err = s.ACL(t.Context(), "/dir")
	must.Be(t, err, zk.ErrNoNode)
	WithACL(zk.WorldACL(zk.PermRead)...)(&s.opts)
	must.Same(t, must.Have(s.ACL(t.Context(), "/dir"))(t), zk.WorldACL(zk.PermRead), "given")
}
