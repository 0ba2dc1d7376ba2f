package lockops

import (
	"context"
	"time"
)

// Custom is an acquisition that does not come from this package, such as that of a test's fake.
type Custom struct {
	// Name is the contender's, see Hold.Name. Token is the fencing token; 0: there is none.
	Name  string
	Token uint64
	// Release gives the lock back. Extend may be nil: then there is nothing to extend.
	Release func(ctx context.Context) error
	Extend  func(ctx context.Context) error
	// Until is until when the lock is certainly held; nil: that is not known.
	Until func() time.Time
}

// NewHold makes a Hold of a custom acquisition of a lock, and lose, which ends it with ErrLost and a reason.
// Package lockopstest makes fake locks of it.
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
