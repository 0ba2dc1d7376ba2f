package lockops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/recipe"
)

// attempt says how a contender queues.
type attempt struct {
	mode recipe.Mode
	wait bool
	// inside is the write that a read is taken inside of, nil for any other contender, and token that write's.
	inside *zkGrant
	token  uint64
}

// contender is one attempt: one node, in one session.
type contender struct {
	attempt
	q       *zkQueue
	node    node
	life    *life         // of the session that was alive before the node was asked for
	created chan creation // answer to the create request, when it is still due
	told    bool
}

// contend queues once. Whatever it ends with but success, its node is gone, or its removal goes on in the background.
func (q *zkQueue) contend(ctx context.Context, a attempt) (*Hold, error) {
	life, err := q.session.alive(ctx)
	if err == nil && a.inside != nil && life != a.inside.life {
		err = errors.Join(ErrLost, errExpired)
	}
	if err != nil {
		return nil, acquireError(q.lock, err)
	}
	c := &contender{attempt: a, q: q, life: life, node: q.newNode(a)}
	err = c.queue(ctx)
	var h *Hold
	if err == nil {
		h, err = c.granted(ctx)
	}
	if err == nil {
		return h, nil
	}
	c.abandon()
	if errors.Is(err, errAgain) {
		return nil, errAgain
	}
	return nil, acquireError(q.lock, err)
}

// queue creates the node and waits until it is first.
func (c *contender) queue(ctx context.Context) error {
	children, err := c.enter(ctx)
	inFlight := true // a first listing may have overtaken the creation
	for {
		if err == nil {
			err = c.check(children, inFlight)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errLook):
			inFlight = false
		case lostInTransit(err):
			if err := c.recover(ctx); err != nil {
				return err
			}
		case errors.As(err, new(*blocked)):
			if !c.wait {
				return ErrHeld
			}
			if err := c.await(ctx, err.(*blocked).by); err != nil {
				return err
			}
		default:
			return err
		}
		children, err = c.q.children(ctx)
	}
}

var errLook = errors.New("look again")

// blocked says who is before a contender.
type blocked struct{ by string }

func (b *blocked) Error() string { return "waits for " + b.by }

// enter asks for the node and, in the same flight, for the children: the listing is sent when the create request has been
// written, and a server executes a session's requests in order.
func (c *contender) enter(ctx context.Context) ([]string, error) {
	s := c.q.session
	written, stop := s.tap.AwaitCreate(c.node.prefix)
	defer stop()
	c.node.maybe = true
	c.created = make(chan creation, 1)
	wanted := c.node
	if !s.goDo(func() { c.created <- s.create(wanted, []byte(c.q.opts.label)) }) {
		return nil, ErrClosed
	}
	select {
	case <-written:
	case made := <-c.created:
		c.created <- made
	case <-ctx.Done():
		return nil, because(ctx)
	}
	children, listErr := c.q.children(ctx)
	select {
	case made := <-c.created:
		if err := c.made(ctx, made); err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, because(ctx)
	}
	if errors.Is(listErr, zk.ErrNoNode) {
		return nil, errLook
	}
	return children, listErr
}

// made takes the answer to the create request.
func (c *contender) made(ctx context.Context, made creation) error {
	c.created = nil
	switch {
	case made.err == nil:
		c.node.path = made.path
		return nil
	case lostInTransit(made.err):
		return made.err
	}
	c.node.maybe = false
	if errors.Is(made.err, zk.ErrNoNode) { // no directory, or no longer: containers vanish when they are empty
		if _, err := c.q.look(ctx); err != nil {
			return err
		}
		return errAgain
	}
	return made.err
}

// recover finds out, after the connection broke, whether the node exists, once the session is connected again.
func (c *contender) recover(ctx context.Context) error {
	s := c.q.session
	life, err := s.alive(ctx)
	if err != nil {
		return err
	}
	if life.id != c.life.id { // the node is gone with its session, or belongs to one that it was not meant for
		return errAgain
	}
	if c.node.path != "" {
		return nil
	}
	if !c.node.unique {
		return errAgain // abandon removes it
	}
	found, err := ask(ctx, s, func() creation {
		path, err := s.find(&c.node)
		return creation{path, err}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(found.err, zk.ErrNoNode):
		return errAgain
	case lostInTransit(found.err):
		return c.recover(ctx)
	case found.err != nil:
		return found.err
	}
	c.node.path = found.path
	return nil
}

// check looks where in the queue the node stands: nil first, *blocked behind another, errAgain not there.
func (c *contender) check(children []string, inFlight bool) error {
	s := c.q.session
	if s.lives(c.life.id) == nil {
		return zk.ErrConnectionClosed // find out in recover
	}
	entries, stranger := c.q.entries(children)
	if stranger != nil && c.behind(stranger) {
		return stranger
	}
	own := c.node.path[strings.LastIndexByte(c.node.path, '/')+1:]
	i := slices.IndexFunc(entries, func(e recipe.Entry) bool { return e.Name == own })
	if i < 0 {
		if inFlight {
			return errLook
		}
		return errAgain
	}
	if c.inside != nil {
		return c.checkInside(entries)
	}
	before := c.q.opts.queue.Blocker(entries, i)
	if before < 0 {
		return nil
	}
	return &blocked{by: entries[before].Name}
}

// checkInside grants a read for the write that it is taken inside of: while the write's node is there, nobody else holds
// the lock, and from now on the read's is before everybody else's.
func (c *contender) checkInside(entries []recipe.Entry) error {
	write := c.inside.name()
	if !slices.ContainsFunc(entries, func(e recipe.Entry) bool { return e.Name == write }) {
		c.inside.lost(errRemoved)
		return errors.Join(ErrLost, errRemoved)
	}
	return nil
}

// behind says whether a contender of another recipe was there first; it may hold the lock.
func (c *contender) behind(stranger *RecipeError) bool {
	_, seq, ok := recipe.SplitSequence(stranger.Child)
	_, own, ownOK := recipe.SplitSequence(c.node.path)
	return !ok || !ownOK || own-seq > 0
}

type watched struct {
	events <-chan zk.Event
	err    error
}

// await waits until something has happened to the node before, or to the session. It never waits without a watch.
func (c *contender) await(ctx context.Context, before string) error {
	s := c.q.session
	w, err := ask(ctx, s, func() watched {
		_, _, events, err := s.conn.GetW(c.q.dir + "/" + before) // exists would leave a watch on a node that is gone
		return watched{events, err}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(w.err, zk.ErrNoNode) || lostInTransit(w.err):
		return nil
	case w.err != nil:
		return w.err
	}
	if !c.told {
		c.told = true
		c.q.opts.waiting(c.node.path[strings.LastIndexByte(c.node.path, '/')+1:])
	}
	select {
	case <-w.events:
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
	return nil
}

// abandonWait is how long a failed Acquire waits for its node to be gone before it leaves that to the background.
const abandonWait = 2 * time.Second

// abandon removes the node on a context of its own, since the caller's may have ended.
func (c *contender) abandon() {
	s := c.q.session
	ctx, cancel := context.WithTimeout(context.Background(), abandonWait)
	defer cancel()
	n, created := c.node, c.created
	_, _ = ask(ctx, s, func() removal {
		if created != nil {
			made := <-created
			n.path = made.path
			n.maybe = lostInTransit(made.err)
		}
		return s.remove(&n)
	})
}

// granted makes the hold, if the session certainly lives.
func (c *contender) granted(ctx context.Context) (*Hold, error) {
	s := c.q.session
	life := s.lives(c.life.id)
	if life == nil {
		return nil, errAgain
	}
	g := newGrant(ctx, c.q.lock)
	g.shared = c.mode == recipe.Shared
	z := &zkGrant{
		session: s, grant: g, node: c.node, life: life, asked: make(chan struct{}, 1), read: make(chan struct{}), inner: make(chan *Hold, 1),
	}
	z.inner <- nil
	if c.inside != nil {
		g.inside = c.inside.grant
		z.readOnce(c.token)
	}
	g.backend = z
	z.stop = context.AfterFunc(life.ctx, func() { z.lost(context.Cause(life.ctx)) })
	if !s.goDo(z.watch) {
		return nil, ErrClosed
	}
	return g.hold(ctx), nil
}
