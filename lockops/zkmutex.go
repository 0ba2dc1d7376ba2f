package lockops

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/recipe"
)

// ZKMutex is an exclusive lock in ZooKeeper: a fair queue of ephemeral sequential nodes in one directory, each waiting for
// the one before it (zookeeper.apache.org, "Recipes: Locks", with the GUID of "Recoverable Errors"). It can share the
// directory with clients of the library whose recipe is chosen.
type ZKMutex struct {
	session *ZKSession
	opts    options
	lock    lockKey
	dir     string      // full path
	known   atomic.Bool // the directory was looked at: it exists and has no contenders of another recipe
}

// NewZKMutex makes a mutex of the directory path, which starts with a slash and is created when it is first needed.
// Options that matter: WithLabel, WithRecipe, WithQueue, WithPrefix, OnWaiting.
func NewZKMutex(s *ZKSession, path string, opts ...Option) *ZKMutex {
	m := &ZKMutex{session: s, opts: newOptions(opts), lock: lockKey{s, "zk", path}, dir: s.full(path)}
	if m.opts.err == nil && (!strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/")) {
		m.opts.err = errors.New("a lock's path starts with a slash and does not end in one")
	}
	return m
}

// Acquire queues and waits for its turn. Besides ctx's error it returns a *RecipeError, ErrClosed, and what the servers
// refuse (zk.ErrNoAuth …). A session that expires meanwhile costs the place in the queue: it queues again with the next.
func (m *ZKMutex) Acquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.opts); h != nil || err != nil {
		return h, err
	}
	if !m.known.Load() {
		if _, err := m.look(ctx); err != nil {
			return nil, acquireError(m.lock, err)
		}
	}
	for {
		h, err := m.contend(ctx, true)
		if !errors.Is(err, errAgain) {
			return h, err
		}
	}
}

// TryAcquire takes the lock if nobody is in the queue. It creates nothing when it sees somebody there.
func (m *ZKMutex) TryAcquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.opts); h != nil || err != nil {
		return h, err
	}
	for {
		entries, err := m.look(ctx)
		if err != nil {
			return nil, acquireError(m.lock, err)
		}
		if len(entries) > 0 {
			return nil, acquireError(m.lock, ErrHeld)
		}
		h, err := m.contend(ctx, false)
		if !errors.Is(err, errAgain) {
			return h, err
		}
	}
}

// errAgain: the contender's node is gone, or its session; make another.
var errAgain = errors.New("queue again")

// look lists the queue, creating the directory when it is missing. It fails when others queue there by another recipe.
func (m *ZKMutex) look(ctx context.Context) ([]recipe.Entry, error) {
	for {
		if _, err := m.session.alive(ctx); err != nil {
			return nil, err
		}
		children, err := m.children(ctx)
		if errors.Is(err, zk.ErrNoNode) {
			err = m.makeDir(ctx)
		}
		switch {
		case lostInTransit(err):
			continue
		case err != nil:
			return nil, err
		}
		entries, stranger := queueOf(m.opts.queue, m.lock.name, children)
		if stranger != nil {
			return nil, stranger
		}
		m.known.Store(true)
		return entries, nil
	}
}

func (m *ZKMutex) makeDir(ctx context.Context) error {
	err, ctxErr := ask(ctx, m.session, func() error { return m.session.makeDir(m.dir) })
	if ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, zk.ErrNoNode) { // the parent container was removed in between
		return nil
	}
	return err
}

type listing struct {
	children []string
	err      error
}

func (m *ZKMutex) children(ctx context.Context) ([]string, error) {
	l, err := ask(ctx, m.session, func() listing {
		children, _, err := m.session.conn.Children(m.dir)
		return listing{children, err}
	})
	if err != nil {
		return nil, err
	}
	return l.children, l.err
}

// contender is one attempt: one node, in one session.
type contender struct {
	m       *ZKMutex
	node    node
	life    *life         // of the session that was alive before the node was asked for
	created chan creation // answer to the create request, when it is still due
	told    bool
}

// contend queues once. Whatever it ends with but success, its node is gone, or its removal goes on in the background.
func (m *ZKMutex) contend(ctx context.Context, wait bool) (*Hold, error) {
	life, err := m.session.alive(ctx)
	if err != nil {
		return nil, acquireError(m.lock, err)
	}
	c := &contender{m: m, life: life, node: m.newNode()}
	err = c.queue(ctx, wait)
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
	return nil, acquireError(m.lock, err)
}

func (m *ZKMutex) newNode() node {
	q := m.opts.queue
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	prefix := q.Prefix(hex.EncodeToString(random[:]))
	if !q.CarriesGUID && m.opts.prefix != "" {
		prefix = m.opts.prefix
	}
	return node{dir: m.dir, prefix: m.dir + "/" + prefix, unique: q.CarriesGUID}
}

// queue creates the node and waits until it is first.
func (c *contender) queue(ctx context.Context, wait bool) error {
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
			if !wait {
				return ErrHeld
			}
			if err := c.await(ctx, err.(*blocked).by); err != nil {
				return err
			}
		default:
			return err
		}
		children, err = c.m.children(ctx)
	}
}

var errLook = errors.New("look again")

// blocked says who is before a contender.
type blocked struct{ by string }

func (b *blocked) Error() string { return "waits for " + b.by }

// enter asks for the node and, in the same flight, for the children: the listing is sent when the create request has been
// written, and a server executes a session's requests in order.
func (c *contender) enter(ctx context.Context) ([]string, error) {
	s := c.m.session
	written, stop := s.tap.AwaitCreate(c.node.prefix)
	defer stop()
	c.node.maybe = true
	c.created = make(chan creation, 1)
	if !s.goDo(func() { c.created <- s.create(c.node.prefix, []byte(c.m.opts.label), c.node.unique) }) {
		return nil, ErrClosed
	}
	select {
	case <-written:
	case made := <-c.created:
		c.created <- made
	case <-ctx.Done():
		return nil, because(ctx)
	}
	children, listErr := c.m.children(ctx)
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
		if _, err := c.m.look(ctx); err != nil {
			return err
		}
		return errAgain
	}
	return made.err
}

// recover finds out, after the connection broke, whether the node exists, once the session is connected again.
func (c *contender) recover(ctx context.Context) error {
	s := c.m.session
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
	s := c.m.session
	if s.lives(c.life.id) == nil {
		return zk.ErrConnectionClosed // find out in recover
	}
	entries, stranger := queueOf(c.m.opts.queue, c.m.lock.name, children)
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
	before := c.m.opts.queue.Blocker(entries, i)
	if before < 0 {
		return nil
	}
	return &blocked{by: entries[before].Name}
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
	s := c.m.session
	w, err := ask(ctx, s, func() watched {
		_, _, events, err := s.conn.GetW(c.m.dir + "/" + before) // exists would leave a watch on a node that is gone
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
		c.m.opts.waiting(c.node.path[strings.LastIndexByte(c.node.path, '/')+1:])
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
	s := c.m.session
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
	s := c.m.session
	life := s.lives(c.life.id)
	if life == nil {
		return nil, errAgain
	}
	g := newGrant(ctx, c.m.lock)
	z := &zkGrant{session: s, grant: g, node: c.node, life: life, asked: make(chan struct{}, 1), read: make(chan struct{})}
	g.backend = z
	z.stop = context.AfterFunc(life.ctx, func() { z.lost(context.Cause(life.ctx)) })
	if !s.goDo(z.watch) {
		return nil, ErrClosed
	}
	return g.hold(ctx), nil
}

// String names the lock for messages.
func (m *ZKMutex) String() string { return fmt.Sprintf("zookeeper mutex %s", m.lock.name) }
