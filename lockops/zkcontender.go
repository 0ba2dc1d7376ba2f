package lockops

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/failpoint"
)

// attempt holds the mode in which a contender queues, and whether it waits.
type attempt struct {
	mode recipe.Mode
	wait bool
	// inside is the write that encloses this read; nil for any other contender.
	inside *zkGrant
}

// contender is one attempt: one node, in one session.
type contender struct {
	attempt
	q        *zkQueue
	node     node
	session  int64   // the session before the create request
	creating *flight // the create request, while its answer is pending
	reported string  // the predecessor that was last reported
	proofs   proofs
}

// contend queues once. Unless it succeeds, its node is gone, or the removal continues in the
// background.
func (q *zkQueue) contend(ctx context.Context, a attempt) (*Hold, error) {
	session, err := q.session.alive(ctx)
	if err == nil && a.inside != nil && session != a.inside.id {
		err = errors.Join(ErrLost, errExpired)
	}
	if err != nil {
		return nil, acquireError(q.lock, err)
	}
	c := &contender{attempt: a, q: q, session: session, node: q.newNode(a)}
	h, err := c.queue(ctx)
	if err == nil {
		return h, nil
	}
	left := c.abandon(ctx)
	if errors.Is(err, errAgain) && left == nil {
		return nil, errAgain
	}
	return nil, acquireError(q.lock, errors.Join(err, left))
}

// queue creates the node, waits until it is first, and makes the hold.
func (c *contender) queue(ctx context.Context) (*Hold, error) {
	list, err := c.enter(ctx)
	failpoint.At(failpoint.Created)
	for {
		if err == nil {
			err = c.check(list)
		}
		if err == nil {
			var h *Hold
			if h, err = c.granted(ctx); err == nil {
				return h, nil
			}
		}
		switch {
		case errors.Is(err, errLook):
		case lostInTransit(err):
			if err := c.recover(ctx); err != nil {
				return nil, err
			}
		case errors.As(err, new(*blocked)):
			if !c.wait {
				return nil, ErrHeld
			}
			if err = c.await(ctx, err.(*blocked)); lostInTransit(err) {
				continue
			} else if err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
		list, err = c.q.list(ctx, c.session)
	}
}

// blocked lists the nodes before a contender.
type blocked struct {
	by    recipe.Entry   // the one it watches
	first []recipe.Entry // all of them, in order
}

func (b *blocked) Error() string { return "waits for " + b.by.Name }

// enter asks for the node and, in the same flight, for the children.
func (c *contender) enter(ctx context.Context) (listing, error) {
	s, q := c.q.session, c.q
	c.node.maybe = true
	f := s.create(c.session, &c.node, q.acl())
	c.creating = f
	if err := s.wait(ctx, f); err != nil {
		return listing{}, err
	}
	c.creating = nil
	if err := c.made(ctx, f); err != nil {
		return listing{}, err
	}
	found, err := listingOf(f.replies[1])
	if errors.Is(err, zk.ErrNoNode) {
		return listing{}, errLook
	}
	return found, err
}

// made handles the answer to the create request.
func (c *contender) made(ctx context.Context, f *flight) error {
	path, czxid, err := created(f.replies[0])
	switch {
	case err == nil:
		c.node.path, c.node.czxid = path, czxid
		return nil
	case lostInTransit(err):
		c.node.maybe = errors.Is(err, zk.ErrConnectionClosed)
		return err
	}
	c.node.maybe = false
	if errors.Is(err, zk.ErrNodeExists) && !c.node.numbered {
		return c.q.spent()
	}
	if errors.Is(err, zk.ErrNoNode) { // the directory is missing, since servers remove empty containers
		if _, err := c.q.look(ctx); err != nil {
			return err
		}
		return errAgain
	}
	return err
}

// recover reconnects after the connection broke and finds out whether the node exists.
func (c *contender) recover(ctx context.Context) error {
	s := c.q.session
	session, err := s.alive(ctx)
	switch {
	case err != nil:
		return err
	case session != c.session: // the node is gone with its session
		return errAgain
	case c.node.path != "":
		return nil
	case !c.node.maybe:
		return errAgain
	}
	found, n := make(chan struct{}), c.node
	var search error
	if !s.goDo(func() { search = s.find(c.session, &n); close(found) }) {
		return ErrClosed
	}
	if err := s.await(ctx, found); err != nil {
		return err
	}
	switch err := search; {
	case err == nil:
		c.node = n
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return errAgain
	case lostInTransit(err):
		return c.recover(ctx)
	default:
		return err
	}
}

// check looks up the node's place in the queue. It returns nil if the node is first, *blocked if it
// is behind another, and errAgain if it is missing.
func (c *contender) check(list listing) error {
	if _, number, ok := recipe.SplitSequence(c.node.path); ok && (number < 0 || number == math.MaxInt32) {
		return c.q.spent()
	}
	entries, stranger := c.q.entries(c.notAfter(list.children))
	if stranger != nil && c.behind(stranger) {
		return stranger
	}
	own := c.node.name()
	i := slices.IndexFunc(entries, func(e recipe.Entry) bool { return e.Name == own })
	// Numbers repeat only in a directory that was deleted and created again. Then the node of this
	// name is another client's.
	if i < 0 || !c.node.unique && list.czxid > c.node.czxid {
		return errAgain
	}
	if c.inside != nil {
		return c.checkInside(entries)
	}
	before := c.q.opts.queue.Blocker(entries, i)
	if before < 0 {
		return nil
	}
	return &blocked{by: entries[before], first: entries[:i]}
}

// checkInside grants a read that is taken inside a write. While the write's node exists, no other
// client holds the lock, and the read's node is ahead of all others.
func (c *contender) checkInside(entries []recipe.Entry) error {
	write := c.inside.name()
	if !slices.ContainsFunc(entries, func(e recipe.Entry) bool { return e.Name == write }) {
		c.inside.lost(errRemoved)
		return errors.Join(ErrLost, errRemoved)
	}
	return nil
}

// notAfter removes later entries, which the contender does not wait for: all others, when it is first. A number that
// is more than 2^30 away says nothing about the order.
func (c *contender) notAfter(children []string) []string {
	_, own, ok := recipe.SplitSequence(c.node.path)
	if !ok {
		return children
	}
	return slices.DeleteFunc(children, func(child string) bool {
		_, seq, ok := recipe.SplitSequence(child)
		after := seq - own
		return ok && after > 0 && after < 1<<30
	})
}

// behind reports whether a contender of another recipe was there first; it may hold the lock.
func (c *contender) behind(stranger *RecipeError) bool {
	_, seq, ok := recipe.SplitSequence(stranger.Child)
	_, own, ownOK := recipe.SplitSequence(c.node.path)
	return !ok || !ownOK || own-seq > 0
}

// await waits for a change of the node before it, or of the connection. It never waits without a
// watch.
func (c *contender) await(ctx context.Context, b *blocked) error {
	return c.q.session.awaitTurn(ctx, c.session, c.q.dir+"/"+b.by.Name, func() { c.report(b) })
}

// report calls OnWaiting and OnBehind, once a watch is set.
func (c *contender) report(b *blocked) {
	if c.reported == "" {
		c.q.opts.waiting(c.node.name())
	}
	if holder := b.first[0].Name; c.reported != holder {
		c.reported = holder
		c.q.opts.behind(Queue{Name: c.node.name(), Holder: holder, Position: len(b.first)})
	}
}

// How long a failed Acquire waits for its node to be removed before it leaves that to the
// background. The first applies while its context lasts, the second afterwards. Both are long
// enough for a healthy server.
const (
	abandonWait = 2 * time.Second
	abandonLate = 50 * time.Millisecond
)

// abandon removes the node with its own time limit, since the caller's context may have ended. It returns an error when
// the node cannot be removed.
func (c *contender) abandon(ctx context.Context) error {
	s := c.q.session
	n, creating := c.node, c.creating
	if creating == nil && n.path == "" && !n.maybe {
		return nil
	}
	done := make(chan removal, 1)
	if !s.goDo(func() { done <- s.removeCreated(c.session, &n, creating) }) {
		return nil
	}
	timer := time.NewTimer(abandonWait)
	defer timer.Stop()
	for ended := ctx.Done(); ; {
		select {
		case r := <-done:
			if errors.Is(r.err, zk.ErrNoAuth) {
				return r.err
			}
			return nil
		case <-ended:
			ended = nil
			timer.Reset(abandonLate)
		case <-timer.C:
			return nil
		}
	}
}

// removeCreated is like remove, for a node whose create request may be under way.
func (s *ZKSession) removeCreated(session int64, n *node, creating *flight) removal {
	if creating != nil {
		select {
		case <-creating.done:
		case <-s.gone.Done():
			return removal{err: ErrClosed}
		}
		var err error
		n.path, n.czxid, err = created(creating.replies[0])
		n.maybe = errors.Is(err, zk.ErrConnectionClosed)
	}
	return s.remove(session, n)
}

// granted makes the hold if the session is certain to live for a while. After a long wait it proves
// that first.
func (c *contender) granted(ctx context.Context) (*Hold, error) {
	s := c.q.session
	if !s.leased(c.session, leastLease) {
		if err := c.proveLease(ctx); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, because(ctx)
	}
	g := newGrant(ctx, c.q.lock)
	g.shared = c.mode == recipe.Shared
	z := &zkGrant{
		session: s, grant: g, node: c.node, id: c.session, number: uint64(c.node.czxid),
		inner: make(chan *Hold, 1),
	}
	z.inner <- nil
	if c.inside != nil {
		g.inside = c.inside.grant
		z.number = c.inside.number
	}
	g.backend = z
	if err := z.begin(); err != nil {
		return nil, err
	}
	return g.hold(ctx), nil
}
