package contend

import (
	"context"
	"time"

	"github.com/lockscope/lockscope/lockops"
)

// Target is one lock on its servers: where contenders meet. NewZooKeeper and NewRedis make those of package lockops;
// other people's locks can be measured with a Target of one's own.
type Target interface {
	// Describe is the lock's name and kind, and how arrivals are ordered.
	Describe() Description
	// Open makes sure that the lock is there and may be used, or returns an error, for one that wraps ErrExists.
	Open(ctx context.Context) error
	// Join connects a contender, with its own session. It is called by several goroutines.
	Join(ctx context.Context, contender int) (Member, error)
	// Close removes what Open and the contenders have made, when all of them are closed, and lists the rest.
	Close(ctx context.Context) (left []string, err error)
}

// Description of the lock that is contended for.
type Description struct {
	Lock, Kind string
	// Order says how arrivals are ordered, as in "first come, first served by …". With OrderOfCalls no
	// member need call arrived.
	Order string
	// Permits is the number of simultaneous holders.
	Permits int
	// Shared reports whether a contender may hold the lock together with others of its kind; nil: none may.
	Shared func(contender int) bool
	// TokenAfter is the shortest hold whose fencing token is known without another request. The
	// shorter holds' tokens are not read.
	TokenAfter time.Duration
}

// Member is a contender's access to the lock. It is used by one goroutine, except for Requests.
type Member interface {
	// Acquire waits for the lock until ctx ends. Before it returns a hold, better as soon as it waits, it
	// calls arrived with its place in the servers' order of arrival, again when it has to queue again. Where
	// it does not, the order of the calls counts.
	Acquire(ctx context.Context, arrived func(place int64)) (Hold, error)
	// Requests that it has sent to the servers so far.
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

// Site is a lock of package lockops that is contended for.
type Site struct {
	// Backend goes before the name where the lock is shown, such as "zk:"; Name is the path or the key.
	Backend, Name string
	// Kinds of lock: contender i takes the one at i modulo their number, so that readers and writers can be mixed.
	Kinds []lockops.Kind
	// Options of every lock.
	Options []lockops.Option
	// Label of the contenders, followed by a number; by default each run has its own.
	Label string
	// Existing allows a lock that exists and that no run has made for itself.
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
