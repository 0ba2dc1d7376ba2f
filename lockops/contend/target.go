package contend

import (
	"context"
	"time"

	"github.com/lockscope/lockscope/lockops"
)

// Target is the lock of a run. NewZooKeeper and NewRedis make targets for the locks of package
// lockops. Implement Target to measure other locks.
type Target interface {
	// Describe describes the lock and the order of arrivals.
	Describe() Description
	// Open makes sure that the lock exists and may be used. The error wraps ErrExists if it may be in
	// use.
	Open(ctx context.Context) error
	// Join connects a contender with its own session. It is safe for concurrent use.
	Join(ctx context.Context, contender int) (Member, error)
	// Close removes what Open and the contenders made, and lists the rest. It is called once all
	// contenders are closed.
	Close(ctx context.Context) (left []string, err error)
}

// Description of the lock of a run.
type Description struct {
	Lock, Kind string
	// Order says how arrivals are ordered, as in "first come, first served by …". With OrderOfCalls
	// members need not call arrived.
	Order string
	// Permits is the number of simultaneous holders.
	Permits int
	// Shared reports whether a contender may hold the lock together with others of its kind; nil means
	// none may.
	Shared func(contender int) bool
	// TokenAfter is the shortest hold whose fencing token is known without another request. The tokens
	// of shorter holds are not read.
	TokenAfter time.Duration
}

// Member is a contender's access to the lock. One goroutine uses it, except for Requests.
type Member interface {
	// Acquire waits for the lock until ctx ends. It calls arrived with its place in the servers'
	// order of arrival. It should do so as soon as it waits, and must before it returns a hold. It
	// calls arrived again if it has to queue again. If it never calls arrived, the order of the
	// Acquire calls counts.
	Acquire(ctx context.Context, arrived func(place int64)) (Hold, error)
	// Requests is the number sent to the servers so far.
	Requests() uint64
	Close()
}

// Hold is an acquired lock, such as a *lockops.Hold.
type Hold interface {
	// Context ends when the hold is lost.
	Context() context.Context
	Release(ctx context.Context) error
	// Token is the fencing token, if there is one.
	Token() (uint64, bool)
}

// Site is a lock of package lockops for a run.
type Site struct {
	// Backend precedes the name in output, such as "zk:". Name is the path or the key.
	Backend, Name string
	// Kinds are assigned to the contenders in rotation, so that readers and writers can be mixed.
	Kinds []lockops.Kind
	// Options of each contender's lock.
	Options []lockops.Option
	// Label of the contenders, followed by a number; by default it is unique to the run.
	Label string
	// Existing allows a lock that exists and was not made for a run.
	Existing bool
}

func (s *Site) kind(contender int) lockops.Kind { return s.Kinds[contender%len(s.Kinds)] }

func (s *Site) describe(order string) Description {
	d := Description{
		Lock: s.Backend + s.Name, Order: order, Permits: s.Kinds[0].Permits,
		Shared: func(contender int) bool { return s.kind(contender).Shared },
	}
	for i, k := range s.Kinds {
		if i > 0 {
			d.Kind += ","
		}
		d.Kind += k.Name
	}
	return d
}
