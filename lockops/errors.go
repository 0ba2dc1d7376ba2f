package lockops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
)

// Errors that callers branch on, with errors.Is. Returned errors start with the operation and the lock, not with a
// package, since people read them.
var (
	// ErrHeld is returned by TryAcquire when another client holds the lock or waits for it. If the
	// context of an Acquire ends while it waits, the error wraps both ErrHeld and the context's
	// error.
	ErrHeld = errors.New("lock is held")
	// ErrLost ends a Hold's context, and is returned by Release and Extend, when the lock was lost
	// before its release. The session or the TTL ran out, or may have run out, or another client
	// deleted the node or key.
	ErrLost = errors.New("lock was lost")
	// ErrReleased ends a Hold's context when the hold is released.
	ErrReleased = errors.New("lock was released")
	// ErrNotHeld is returned by Release and Extend on a Hold that has already been released.
	ErrNotHeld = errors.New("lock is no longer held")
	// ErrReentry is returned at once when the context given to Acquire comes from a hold of the
	// same lock, unless the lock was made WithReentry. The call would wait for itself.
	ErrReentry = errors.New("lock is held by the context that asks for it")
	// ErrOption is returned by Check and every Acquire when the kind of lock does not support one
	// of its options. It is also returned for a bad path, key, TTL, recipe, prefix or number of
	// permits.
	ErrOption = errors.New("option not supported by this kind of lock")
	// ErrMasters is returned by Check and every Acquire when the session has the wrong number of
	// masters for this kind of lock.
	ErrMasters = errors.New("wrong number of masters")
	// ErrUpgrade is returned by the write side of a ZKRWMutex when the context comes from a hold of
	// its read side. The write would wait for that read forever. Release the read first.
	ErrUpgrade = errors.New("a lock held for reading cannot also be taken for writing")
	// ErrUnknownRelease is returned by Release when no answer arrived and another client now has
	// the key in Redis. Our lock was either released or lost before. Nothing of ours is left.
	ErrUnknownRelease = errors.New("no answer to the release, and another client has the lock now: it may have been lost before")
	// ErrNoQuorum is returned when too few Redis masters answered as needed; NodeErrors joined to it say why.
	ErrNoQuorum = errors.New("no quorum of Redis masters")
	// ErrTooShort is returned by every Acquire of a Redis lock whose TTL or master limit leaves no
	// time for an answer over the link. A new ZooKeeper session returns it if its timeout leaves
	// none. The error says how long an answer takes, and which TTL or timeout would do.
	ErrTooShort = errors.New("too short for the link to the server")
	// ErrClosed is returned by every call on a closed session or on its locks.
	ErrClosed = errors.New("session is closed")
)

// Reasons of a NodeError, in addition to those of the connection.
var (
	// ErrGone means that the master has no such key. It expired, was deleted, or the master
	// restarted empty.
	ErrGone = errors.New("key is gone")
	// ErrOther means that the key on the master has another client's value.
	ErrOther = errors.New("key belongs to another client")
	// ErrDead means that the master left earlier requests unanswered, so it was not asked.
	ErrDead = errors.New("master is considered dead and was not asked")
)

// NodeError is the failure of one of the servers of a lock or a session.
type NodeError struct {
	Node string // host:port
	Err  error
}

func (e *NodeError) Error() string { return e.Node + ": " + connect.Reason(e.Err) }

// Unwrap returns the server's error.
func (e *NodeError) Unwrap() error { return e.Err }

// RecipeError is returned when a directory has contenders of an incompatible client library or kind
// of lock. The two would not wait for each other. Nothing was left there. Choose the recipe that
// was found, or another path.
type RecipeError struct {
	Path        string
	Want, Found string // names of recipes
	Child       string // a contender of the recipe found
	// WantKind and FoundKind are the kinds of lock, such as mutex and read-write lock, if the kinds
	// are incompatible. Otherwise they are empty.
	WantKind, FoundKind string
}

func (e *RecipeError) Error() string {
	if e.FoundKind != "" {
		return fmt.Sprintf("lock %s is a %s of %s clients (%q), which do not queue with those of a %s", e.Path,
			e.FoundKind, e.Found, e.Child, e.WantKind)
	}
	return fmt.Sprintf("lock %s is used by %s clients (%q), which do not queue with %s clients", e.Path, e.Found,
		e.Child, e.Want)
}

// because returns the error of an ended context: ctx.Err, and its cause if that differs.
func because(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// nodeErrors is an error joined with a NodeError for each server involved.
type nodeErrors []error

// withNodes joins errors with those of servers.
func withNodes(nodes []error, errs ...error) error { return nodeErrors(append(errs, nodes...)) }

func (e nodeErrors) Error() string {
	return strings.Join(each.Of(e, error.Error), "; ")
}

// Unwrap returns all of them.
func (e nodeErrors) Unwrap() []error { return e }

// worded is an error with its own text.
type worded struct {
	text string
	errs []error
}

func (e worded) Error() string   { return e.text }
func (e worded) Unwrap() []error { return e.errs }
