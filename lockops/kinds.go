package lockops

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// Session is a *ZKSession or a *RedisSession. A lock does not outlive the session it was made with.
type Session interface {
	// Requests counts the requests that the session has sent, except those that keep the connection
	// alive.
	Requests() uint64
	// Close ends the session and its holds.
	Close()
}

// Servers is the kind of deployment that a lock needs.
type Servers uint8

// The servers that locks live on.
const (
	OnZooKeeper    Servers = iota // an ensemble
	OnRedis                       // one Redis, also a Sentinel or Cluster deployment
	OnRedisMasters                // several independent masters
)

// Kind is a kind of lock with its name, for programs that let their users choose.
type Kind struct {
	Name string
	On   Servers
	// Permits is the number of simultaneous holders.
	Permits int
	// Shared means that clients that use this kind, such as readers, may hold the lock together.
	Shared bool
	// Readers names the kind that reads the same lock, if there is one.
	Readers string
	// Recipes are the values of WithRecipe, the default first; empty on Redis.
	Recipes []string

	lock          func(s Session, name string, opts []Option) (Locker, error)
	auxiliaryKeys func(name string) []string
}

// Kinds returns all kinds of locks in this package, the usual one of each deployment first.
func Kinds() []Kind {
	return []Kind{
		{Name: "mutex", On: OnZooKeeper, Permits: 1, Recipes: zkRecipes(false), lock: on(NewZKMutex)},
		{Name: "read", On: OnZooKeeper, Permits: 1, Shared: true, Recipes: zkRecipes(true), lock: on(readSide)},
		{Name: "write", On: OnZooKeeper, Permits: 1, Readers: "read", Recipes: zkRecipes(true), lock: on(writeSide)},
		semaphore(defaultPermits),
		{Name: "mutex", On: OnRedis, Permits: 1, lock: on(NewRedisMutex), auxiliaryKeys: fence},
		{Name: "fair", On: OnRedis, Permits: 1, lock: on(NewRedisFairMutex), auxiliaryKeys: fence},
		{Name: "redlock", On: OnRedisMasters, Permits: 1, lock: on(NewRedlock)},
	}
}

// defaultPermits is the number of permits if none is given.
const defaultPermits = 2

// semaphore returns the kind of a semaphore with this many permits.
func semaphore(permits int) Kind {
	return Kind{
		Name: semaphoreName, On: OnZooKeeper, Permits: permits, Recipes: semaphoreRecipes,
		lock: func(s Session, name string, opts []Option) (Locker, error) {
			return on(func(s *ZKSession, path string, opts ...Option) *ZKSemaphore {
				return NewZKSemaphore(s, path, permits, opts...)
			})(s, name, opts)
		},
	}
}

const semaphoreName = "semaphore"

// KindNamed finds a kind of lock that can live on such servers by its name; "semaphore=3" is a semaphore with three
// permits.
func KindNamed(servers Servers, name string) (Kind, error) {
	name, number, counted := strings.Cut(name, "=")
	for _, k := range KindsOn(servers) {
		switch {
		case k.Name != name:
			continue
		case !counted:
			return k, nil
		case name != semaphoreName:
			return Kind{}, fmt.Errorf("a %s takes no number", name)
		}
		permits, err := strconv.ParseInt(number, 10, 32)
		if err != nil || permits < 1 {
			return Kind{}, fmt.Errorf("a semaphore of %q permits: use 1 or more", number)
		}
		k = semaphore(int(permits))
		k.Name += "=" + number
		return k, nil
	}
	return Kind{}, fmt.Errorf("unknown kind of lock %q", name)
}

// KindsOn returns the kinds of locks that can live on such servers, the usual one first.
func KindsOn(servers Servers) []Kind {
	return each.Where(Kinds(), func(k Kind) bool { return k.On == servers })
}

// New makes a lock of this kind. It fails if the session has the wrong kind of servers.
func (k Kind) New(s Session, name string, opts ...Option) (Locker, error) {
	return k.lock(s, name, opts)
}

// AuxiliaryKeys returns the Redis keys that remain when the lock is free.
func (k Kind) AuxiliaryKeys(name string) []string {
	if k.auxiliaryKeys == nil {
		return nil
	}
	return k.auxiliaryKeys(name)
}

func readSide(s *ZKSession, path string, opts ...Option) Locker {
	return NewZKRWMutex(s, path, opts...).Read()
}

func writeSide(s *ZKSession, path string, opts ...Option) Locker {
	return NewZKRWMutex(s, path, opts...).Write()
}

func fence(name string) []string { return []string{recipe.FenceKey(name)} }

// on adapts a constructor to any Session.
func on[S Session, L Locker](constructor func(S, string, ...Option) L) func(Session, string, []Option) (Locker, error) {
	return func(s Session, name string, opts []Option) (Locker, error) {
		session, ok := s.(S)
		if !ok {
			return nil, fmt.Errorf("%s: no such lock on a %T", name, s)
		}
		return constructor(session, name, opts...), nil
	}
}
