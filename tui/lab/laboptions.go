package lab

import (
	"context"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops/contend"
)

// Driver takes locks for the user, and runs contention on temporary locks. Its methods are safe
// for concurrent use, and connect when first needed.
type Driver interface {
	// Backends are those on which locks can be taken.
	Backends() []Backend
	// Acquire takes a lock. It waits until ctx ends, or only tries once. It calls waiting with its
	// name in the queue, again whenever that changes; waiting must not block.
	Acquire(ctx context.Context, o Order, waiting func(name string)) (Held, error)
	// Contend starts a contention run on a temporary lock, which is removed at the end. The run
	// ends with ctx at the latest.
	Contend(ctx context.Context, c RunOptions) (Run, error)
}

// Backend is a backend on which locks can be taken.
type Backend struct {
	Name      string
	ZooKeeper bool
	// Masters is the number of Redis masters.
	Masters int
	// Kinds of locks, the usual one first.
	Kinds []string
	// Recipes lists, for each kind of lock, the ZooKeeper recipes to queue with, the usual one
	// first.
	Recipes map[string][]string
	// Targets are the kinds of lock for contention runs, the usual one first.
	Targets []string
}

// Order names a lock to be taken, with its options.
type Order struct {
	Lock inspect.ID
	Kind string
	// Recipe and Prefix are for ZooKeeper, TTL is for Redis. Prefix is for "sequential"; empty
	// means the usual one.
	Recipe, Prefix string
	TTL            time.Duration
	// Try does not wait. Otherwise Wait limits the wait; 0 waits until stopped.
	Try  bool
	Wait time.Duration
}

// Held is a lock acquired in the Lab, with the methods of *lockops.Hold.
type Held interface {
	Context() context.Context
	Release(ctx context.Context) error
	Extend(ctx context.Context) error
	Deadline() (time.Time, bool)
	// Token may wait for the server.
	Token() (uint64, bool)
	Name() string
	// Reenter takes the lock again within this hold.
	Reenter(ctx context.Context) (Held, error)
}

// RunOptions of a contention run. Its lock is temporary.
type RunOptions struct {
	Backend, Target  string
	InOrder          bool // the kind promises first come, first served
	Contenders       int
	Hold, Think, For time.Duration
	Seed             uint64
}

// Prefixes of the locks of contention runs.
const (
	TemporaryNode = "/lockscope-lab/"
	TemporaryKey  = "lock:lockscope-lab:"
)

// Temporary reports whether a path belongs to a lock of a contention run.
func Temporary(path string) bool {
	return strings.HasPrefix(path, TemporaryNode) || strings.HasPrefix(path, TemporaryKey)
}

// Run is a contention run, such as a *contend.Run.
type Run interface {
	Snapshot() contend.Report
	Events() <-chan contend.Event
	Stop()
	Done() <-chan struct{}
	Wait() (contend.Report, error)
}

// Faults injects faults into a sandbox; *sandbox.Sandbox implements it.
type Faults interface {
	// ExpireSession ends a ZooKeeper session, Cut only its connection.
	ExpireSession(session int64) error
	Cut(session int64) error
	// Freeze keeps the holder of a lock, named by its id, from releasing it until Thaw.
	Freeze(lock string)
	Thaw(lock string)
	Frozen(lock string) bool
	// Masters are the addresses of the Redis masters.
	Masters() []string
	Stopped(addr string) bool
	StopMaster(addr string) error
	StartMaster(addr string) error
}
