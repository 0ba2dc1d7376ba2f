package lockops

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// ErrPermits is returned by a ZKSemaphore with the kazoo recipe if the directory has a different
// number of permits. kazoo's clients refuse that, too.
var ErrPermits = errors.New("the semaphore has a different number of permits")

// ZKSemaphore is a semaphore in ZooKeeper: up to a number of holders at once, first come, first
// served. It can share its directory with clients of the chosen recipe's library, which must use
// the same number of permits. These are Curator's InterProcessSemaphoreV2 ("curator", the default)
// and kazoo's Semaphore ("kazoo", which keeps the number in the directory).
//
// In both, contenders queue for a mutex, and the first in that queue waits for a free permit. With
// Curator, the queue is in PATH/locks, and the contender's own permit is already in PATH/leases
// next to the granted ones. With kazoo, the queue is in PATH-__lock__, and the permit in PATH is
// created later. Here a permit is granted only once it exists and the number of permits, including
// it, is within the limit. Even an operator who deletes nodes of the queue cannot cause too many
// holders.
type ZKSemaphore struct {
	queue   *zkQueue // for the turn to take a permit
	leases  *zkQueue // the permits
	lock    lockKey
	base    string // full path
	permits int
}

// NewZKSemaphore makes a semaphore in the directory path, which starts with a slash and is created
// when first needed. Options: WithLabel, WithRecipe, WithQueue, WithReentry, OnWaiting, OnBehind.
// Fewer than one permit makes every Acquire fail.
func NewZKSemaphore(s *ZKSession, path string, permits int, opts ...Option) *ZKSemaphore {
	m := &ZKSemaphore{
		queue: newZKQueue(s, path, opts, false), leases: newZKQueue(s, path, opts, false),
		lock: lockKey{s, "zk-semaphore", path}, base: s.full(path), permits: permits,
	}
	m.queue.lock, m.leases.lock = lockKey{s, "zk-semaphore-queue", path}, m.lock
	o := &m.leases.opts
	if not := o.given &^ zkRWMutexKeeps; not != 0 && o.err == nil {
		o.err = fmt.Errorf("%w: %v", ErrOption, not)
	}
	switch {
	case o.err != nil:
	case permits < 1:
		o.refuse("a semaphore of %d permits: use 1 or more", permits)
	case o.queue.Name == "curator":
		m.queue.dir, m.leases.dir = m.base+"/"+recipe.CuratorLocks, m.base+"/"+recipe.CuratorLeases
		m.leases.permit = recipe.CuratorPermit
	case o.queue.Name == "kazoo":
		m.queue.dir, m.leases.dir = recipe.KazooQueuePath(m.base), m.base
		m.leases.permit = func(guid string) string { return guid }
		m.leases.permitNumbered, m.leases.dirData = true, []byte(strconv.Itoa(permits))
	default:
		o.refuse("recipe %q has no semaphore that can be shared (choose from: %s)", o.queue.Name,
			strings.Join(semaphoreRecipes, ", "))
	}
	return m
}

var semaphoreRecipes = []string{"curator", "kazoo"}

// String names the lock for messages.
func (m *ZKSemaphore) String() string {
	return fmt.Sprintf("zookeeper semaphore %s of %d", m.lock.name, m.permits)
}

// Acquire queues and waits for a permit. Its errors are those of a ZKMutex, and ErrPermits.
func (m *ZKSemaphore) Acquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.leases.opts); h != nil || err != nil {
		return h, err
	}
	return m.acquire(ctx, ctx, true)
}

// tryPatience limits the extra time of a TryAcquire, beyond its round trips, while permits are free
// but other clients are taking them.
const (
	tryPatience = 250 * time.Millisecond
	tryTrips    = 6
)

// TryAcquire takes a permit if one is free and there are no waiters.
func (m *ZKSemaphore) TryAcquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.leases.opts); h != nil || err != nil {
		return h, err
	}
	soon, cancel := context.WithTimeout(ctx, tryPatience+tryTrips*m.leases.session.tap.Latency())
	defer cancel()
	h, err := m.acquire(ctx, soon, false)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, acquireError(m.lock, ErrHeld)
	}
	return h, err
}

// acquire queues for its turn, and then takes a permit.
func (m *ZKSemaphore) acquire(ctx, queueing context.Context, wait bool) (*Hold, error) {
	if err := m.leases.session.enter(); err != nil {
		return nil, acquireError(m.lock, err)
	}
	defer m.leases.session.leaveWork()
	for {
		if err := m.look(ctx, wait); err != nil {
			return nil, acquireError(m.lock, err)
		}
		turn, err := m.queue.acquire(queueing, recipe.Exclusive)
		if err != nil {
			return nil, err
		}
		h, err := m.acquireLease(ctx, turn, wait)
		lost := turn.Context().Err() != nil
		// The turn is over in any case. If this release fails, it goes on in the background.
		_ = turn.Release(queueing)
		switch {
		case errors.Is(err, errAgain), err != nil && lost && ctx.Err() == nil:
			continue
		case err != nil:
			return nil, acquireError(m.lock, err)
		}
		return h, nil
	}
}

// look checks that the directory has no other use, then creates missing nodes. Unless wait is set,
// a permit must be free.
func (m *ZKSemaphore) look(ctx context.Context, wait bool) error {
	for {
		err := m.lookOnce(ctx, wait)
		// a parent was deleted meanwhile
		if !lostInTransit(err) && (!errors.Is(err, zk.ErrNoNode) || ctx.Err() != nil) {
			return err
		}
	}
}

func (m *ZKSemaphore) lookOnce(ctx context.Context, wait bool) error {
	s := m.leases.session
	session, err := s.alive(ctx)
	if err != nil {
		return err
	}
	f := s.send(session, listRequest(m.base), listRequest(m.leases.dir), watchableRequest(opGetData, m.base, false))
	if err := s.wait(ctx, f); err != nil {
		return err
	}
	base, err := listingOf(f.replies[0])
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if stranger := m.stranger(base.children); stranger != nil {
		return stranger
	}
	if leases, err := listingOf(f.replies[1]); err == nil && len(leases.children) >= m.permits && !wait {
		return ErrHeld
	}
	return m.prepare(ctx, session, err == nil, dataOf(f.replies[2]))
}

// stranger returns a contender of another kind in the semaphore's directory.
func (m *ZKSemaphore) stranger(children []string) *RecipeError {
	own := m.leases.opts.queue.Name
	for _, child := range children {
		if child == recipe.CuratorLocks || child == recipe.CuratorLeases {
			if own != "curator" {
				return &RecipeError{Path: m.lock.name, Want: own, Found: "curator", Child: child}
			}
			continue
		}
		queue, entries := recipe.Read([]string{child})
		if len(entries) == 0 || entries[0].Role == recipe.Lease && queue.Name == own {
			continue
		}
		e := &RecipeError{Path: m.lock.name, Want: own, Found: queue.Name, Child: child}
		if family(queue.Name) == family(own) {
			e.WantKind, e.FoundKind = "semaphore", kindWords(entries[0].Role)
		}
		return e
	}
	return nil
}

// prepare makes the directories. For kazoo the directory stores the number of permits.
func (m *ZKSemaphore) prepare(ctx context.Context, session int64, exists bool, data []byte) error {
	if m.leases.permitNumbered {
		limit, known := recipe.KazooLimit(data)
		switch {
		case !exists:
			if err := m.leases.makeDir(ctx, session); err != nil {
				return err
			}
		case known && limit != m.permits:
			return fmt.Errorf("%w: %d, not %d", ErrPermits, limit, m.permits)
		}
	}
	return m.leases.prepare(ctx)
}

// acquireLease takes a permit while it is our turn.
func (m *ZKSemaphore) acquireLease(ctx context.Context, turn *Hold, wait bool) (*Hold, error) {
	inside, cancel := turn.With(ctx)
	defer cancel()
	q := m.leases
	session, err := q.session.alive(inside)
	if err != nil {
		return nil, err
	}
	c := &contender{
		attempt: attempt{mode: recipe.Exclusive, wait: wait}, q: q, session: session,
		node: q.newNode(attempt{}),
	}
	h, err := m.enter(ctx, inside, c, turn)
	if err != nil {
		err = errors.Join(err, c.abandon(inside))
	}
	return h, err
}

// enter makes the permit and waits until the number of permits is within the limit. Curator's is
// made first and counted with the others; kazoo's is made when there is room for it.
func (m *ZKSemaphore) enter(ctx, inside context.Context, c *contender, turn *Hold) (*Hold, error) {
	if !m.leases.permitNumbered {
		if h, err := m.create(ctx, inside, c); !errors.Is(err, errLook) && !errors.As(err, new(*blocked)) {
			return h, err
		}
	}
	for {
		h, err := m.await(ctx, inside, c, turn)
		if !errors.Is(err, errLook) {
			return h, err
		}
	}
}

// create makes the permit's node, and grants it if the number of permits listed with it is within
// the limit.
func (m *ZKSemaphore) create(ctx, inside context.Context, c *contender) (*Hold, error) {
	list, err := c.enter(inside)
	if lostInTransit(err) {
		if err = c.recover(inside); err == nil {
			err = errLook
		}
	}
	if err != nil {
		return nil, err
	}
	return m.judge(ctx, c, list)
}

// judge grants the permit if the number of permits is within the limit.
func (m *ZKSemaphore) judge(ctx context.Context, c *contender, list listing) (*Hold, error) {
	switch made := c.node.path != ""; {
	case made && !slices.Contains(list.children, c.node.name()):
		return nil, errAgain
	case made && len(list.children) <= m.permits:
		return c.granted(ctx)
	case !made && len(list.children) < m.permits:
		return nil, nil
	}
	return nil, &blocked{by: recipe.Entry{Name: slices.Min(list.children)}}
}

// await lists the permits once. If there are too many, it waits until they change and returns
// errLook.
func (m *ZKSemaphore) await(ctx, inside context.Context, c *contender, turn *Hold) (*Hold, error) {
	s := c.q.session
	watch := s.watchChildren(c.session, c.q.dir)
	if err := s.await(inside, watch.armed); err != nil {
		return nil, err
	}
	list, err := listingOf(watch.reply)
	switch {
	case lostInTransit(err):
		return nil, c.recoverTurn(inside)
	case errors.Is(err, zk.ErrNoNode): // the directory was deleted
		return nil, errAgain
	case err != nil:
		return nil, err
	}
	h, err := m.judge(ctx, c, list)
	if h == nil && err == nil { // there is room for it
		if h, err = m.create(ctx, inside, c); errors.As(err, new(*blocked)) {
			err = errAgain // another client took a permit out of turn, so give up ours
		}
	}
	var b *blocked
	if !errors.As(err, &b) {
		return h, err
	}
	if !c.wait {
		return nil, ErrHeld
	}
	m.report(c, turn, b)
	if err := s.awaitEnd(inside, c.q.dir, watch); err != nil {
		return nil, err
	}
	return nil, errLook
}

// recoverTurn waits for the connection; if the session is new, the turn is lost.
func (c *contender) recoverTurn(ctx context.Context) error {
	session, err := c.q.session.alive(ctx)
	switch {
	case err != nil:
		return err
	case session != c.session:
		return errAgain
	}
	return errLook
}

// report calls OnWaiting and OnBehind for the first in the queue, which waits for a permit.
func (m *ZKSemaphore) report(c *contender, turn *Hold, b *blocked) {
	if c.reported == b.by.Name {
		return
	}
	if c.reported == "" {
		c.q.opts.waiting(turn.Name())
	}
	c.reported = b.by.Name
	c.q.opts.behind(Queue{Name: turn.Name(), Holder: b.by.Name, Position: 1})
}

// permitNode names the node of a permit.
func (q *zkQueue) permitNode(random [16]byte) node {
	return node{
		dir: q.dir, prefix: q.dir + "/" + q.permit(hex.EncodeToString(random[:])), data: []byte(q.opts.label),
		unique: true, numbered: q.permitNumbered,
	}
}
