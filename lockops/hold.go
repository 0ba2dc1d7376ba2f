package lockops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/internal/failpoint"
)

// Locker is a lock that can be taken. It may be used by any number of goroutines, and each Acquire
// is a separate contender. The exception is an Acquire whose context comes from a Hold of the same
// lock. It re-enters at once if the lock was made WithReentry, and fails at once with ErrReentry if
// not.
type Locker interface {
	// Acquire waits for its turn until ctx ends. Then it returns ctx's error (errors.Is), and nothing
	// is left on the servers that answer. ctx limits the waiting only, not the hold.
	Acquire(ctx context.Context) (*Hold, error)
	// TryAcquire never queues: it returns ErrHeld when the lock is held, and leaves nothing behind.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// Hold is one successful acquisition. Its methods may be called by any goroutine.
type Hold struct {
	grant    *grant
	ctx      context.Context
	end      context.CancelCauseFunc
	released atomic.Bool
}

// Context ends when the hold does. If the lock was lost, it ends before another client can be
// granted the lock. context.Cause is ErrReleased after Release, and otherwise wraps ErrLost with
// the reason.
//
// The context carries the values of the context given to Acquire, but not its end (see With).
// Acquire of the same lock with this context, or one derived from it, re-enters (see WithReentry).
func (h *Hold) Context() context.Context { return h.ctx }

// With returns a context that ends with the hold or with ctx, whichever ends first, and has its
// cause. It has the values of both. Call cancel when it is no longer needed.
func (h *Hold) With(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	// The hold itself comes first: ctx may come from an earlier hold of the same lock.
	both, end := context.WithCancelCause(context.WithValue(valuesOf{ctx, h.ctx}, h.grant.lock, h.grant))
	stop := context.AfterFunc(h.ctx, func() { end(context.Cause(h.ctx)) })
	return both, func() {
		stop()
		end(context.Canceled)
	}
}

// releaseLimit bounds Do's wait for an answer to its release. The release itself continues in the
// background.
const releaseLimit = 10 * time.Second

// Do runs fn under the lock. It waits for its turn until ctx ends, and releases the lock when fn
// returns or panics. The context of fn ends with ctx or with the hold (Hold.With).
//
// Do returns fn's error, joined with the release's, or Acquire's error if fn was not run. The error
// wraps ErrLost when the lock was lost while fn ran. Then another client may have been inside as
// well.
func Do(ctx context.Context, l Locker, fn func(ctx context.Context) error) (err error) {
	h, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
		defer cancel()
		if failed := h.Release(waiting); !errors.Is(err, failed) { // fn may have returned the loss
			err = errors.Join(err, failed)
		}
	}()
	inside, cancel := h.With(ctx)
	defer cancel()
	return fn(inside)
}

// Release frees the lock; with re-entered holds, the last one does. It returns nil if the
// servers confirmed it, or an error that wraps one of these:
//   - ErrLost when the lock had been lost before
//   - ErrUnknownRelease when the lock may have been lost before
//   - ErrNotHeld when this Hold was released before
//   - ctx's error when ctx ended first; the release is then completed in the background while the
//     session lives
//
// The hold has ended in any case, and nothing more needs to be done.
func (h *Hold) Release(ctx context.Context) error {
	if !h.released.CompareAndSwap(false, true) {
		return fmt.Errorf("release %s: %w", h.grant.lock.name, ErrNotHeld)
	}
	g := h.grant
	g.backend.judge()
	h.end(ErrReleased)
	lost := g.lost()
	if !g.leave() {
		return lost
	}
	g.end(ErrReleased)
	if lost != nil {
		g.backend.abandon()
		return lost
	}
	if err := g.backend.release(ctx); err != nil {
		return fmt.Errorf("release %s: %w", g.lock.name, err)
	}
	return nil
}

// Extend confirms the hold with the servers now and prolongs it. On Redis the TTL starts again; on
// ZooKeeper it touches the session and checks the node. It returns an error that wraps ErrLost when
// the lock is lost. After any other error the state is unknown: the hold ends at its Deadline
// unless a later Extend or renewal succeeds.
func (h *Hold) Extend(ctx context.Context) error {
	if h.released.Load() {
		return fmt.Errorf("extend %s: %w", h.grant.lock.name, ErrNotHeld)
	}
	if lost := h.grant.lost(); lost != nil {
		return lost
	}
	if err := h.grant.backend.extend(ctx); err != nil {
		return fmt.Errorf("extend %s: %w", h.grant.lock.name, err)
	}
	return nil
}

// Deadline returns the time until which the lock is certainly held, as far as is known now, on the
// monotonic clock. Each renewal or acknowledged request moves it later. Context ends before it
// passes. It returns false once the hold has ended.
func (h *Hold) Deadline() (time.Time, bool) {
	if h.ctx.Err() != nil {
		return time.Time{}, false
	}
	return h.grant.backend.deadline()
}

// Token returns the fencing token. It grows with every acquisition of the lock, so that a resource
// can refuse older ones. ZooKeeper: the czxid of the contender's node (Token waits until it has
// been read); Redis mutex: µs of the server's clock, or one more than the newest token. It returns
// false on a Redlock, with WithoutToken, or when the hold ended before the token was known.
//
// On a read-write lock, a read's token is greater than those of the writes granted before it, and
// less than those granted after it. Simultaneous readers may show theirs in any order. A resource
// must remember the greatest token of a write, and refuse reads and writes below it. A read inside
// a write has the write's token.
func (h *Hold) Token() (uint64, bool) { return h.grant.backend.token() }

// Name returns the contender's name on the servers: its znode's name, or the value of its Redis
// key.
func (h *Hold) Name() string { return h.grant.backend.name() }

// lockKey distinguishes locks: the same name on the same session is the same lock.
type lockKey struct {
	session any
	kind    string
	name    string
}

// backend is one acquisition as its servers see it.
type backend interface {
	name() string
	release(ctx context.Context) error
	abandon() // release a lost entry in the background, since it may still exist
	judge()   // end the hold as lost if its time is over and that has not been reported
	extend(ctx context.Context) error
	deadline() (time.Time, bool)
	token() (uint64, bool)
}

// grant is one acquisition, shared by the holds that re-entered it.
type grant struct {
	lock    lockKey
	backend backend
	ctx     context.Context
	end     context.CancelCauseFunc

	shared bool   // it is held for reading
	inside *grant // the write around this read; nil for any other grant

	mu    sync.Mutex
	holds int
}

// newGrant makes the grant whose context has the values of ctx.
func newGrant(ctx context.Context, lock lockKey) *grant {
	g := &grant{lock: lock, holds: 1}
	g.ctx, g.end = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), lock, g))
	return g
}

// grantOf returns the grant of this lock that ctx comes from, or nil.
func grantOf(ctx context.Context, lock lockKey) *grant {
	g, _ := ctx.Value(lock).(*grant)
	return g
}

// reenter adds a hold to the grant, if it is still held.
func (g *grant) reenter(ctx context.Context) (*Hold, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds == 0 || g.ctx.Err() != nil {
		return nil, false
	}
	g.holds++
	return g.hold(ctx), true
}

func (g *grant) held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds > 0 && g.ctx.Err() == nil
}

// hold makes a Hold that ends with the grant and carries the values of ctx.
func (g *grant) hold(ctx context.Context) *Hold {
	failpoint.At(failpoint.Granted)
	own, end := context.WithCancelCause(g.ctx)
	return &Hold{grant: g, ctx: valuesOf{own, ctx}, end: end}
}

// leave removes one hold and reports whether it was the last.
func (g *grant) leave() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds--
	return g.holds == 0
}

// lose ends the grant because another client has, or may have, the lock.
func (g *grant) lose(reason error) {
	g.end(fmt.Errorf("%s: %w: %w", g.lock.name, ErrLost, reason))
}

// lost returns the error with which the grant was lost, or nil if it was not.
func (g *grant) lost() error {
	if err := context.Cause(g.ctx); errors.Is(err, ErrLost) {
		return err
	}
	return nil
}

// valuesOf is a context that ends like the one it embeds and also has the values of another.
type valuesOf struct {
	context.Context
	values context.Context
}

func (c valuesOf) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// begin opens every Acquire. It re-enters, or fails, if ctx comes from a hold of this lock. It also
// fails when ctx has ended or the options are wrong. Both results are nil if there is work to do.
func begin(ctx context.Context, lock lockKey, opts *options) (*Hold, error) {
	if err := ready(ctx, lock, opts); err != nil {
		return nil, err
	}
	g := grantOf(ctx, lock)
	switch {
	case g == nil:
		return nil, nil
	case !opts.reentry && g.held():
		return nil, acquireError(lock, ErrReentry)
	}
	h, _ := g.reenter(ctx)
	return h, nil
}

func ready(ctx context.Context, lock lockKey, opts *options) error {
	if err := opts.invalid(lock); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return acquireError(lock, because(ctx))
	}
	return nil
}

func acquireError(lock lockKey, err error) error {
	return fmt.Errorf("acquire %s: %w", lock.name, err)
}

// Custom is an acquisition that does not come from this package, such as a fake in a test.
type Custom struct {
	// Name is the contender's, see Hold.Name. Token is the fencing token, or 0.
	Name  string
	Token uint64
	// Release frees the lock. A nil Extend always succeeds.
	Release func(ctx context.Context) error
	Extend  func(ctx context.Context) error
	// Until returns the time until which the lock is certainly held; nil if that is unknown.
	Until func() time.Time
}

// NewHold returns a Hold for a custom acquisition. lose ends it with ErrLost and a reason. Package
// lockopstest uses it for fake locks.
func NewHold(ctx context.Context, lock string, c Custom) (h *Hold, lose func(reason error)) {
	g := newGrant(ctx, lockKey{kind: "custom", name: lock})
	g.backend = &custom{c}
	return g.hold(ctx), g.lose
}

type custom struct{ Custom }

func (c *custom) name() string                      { return c.Name }
func (c *custom) token() (uint64, bool)             { return c.Token, c.Token != 0 }
func (c *custom) release(ctx context.Context) error { return c.Release(ctx) }
func (c *custom) abandon()                          {}
func (c *custom) judge()                            {}

func (c *custom) extend(ctx context.Context) error {
	if c.Extend == nil {
		return nil
	}
	return c.Extend(ctx)
}

func (c *custom) deadline() (time.Time, bool) {
	if c.Until == nil {
		return time.Time{}, false
	}
	return c.Until(), true
}
