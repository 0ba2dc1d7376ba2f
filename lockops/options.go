package lockops

import (
	"fmt"
	"strings"
	"time"

	"lockscope/inspect/recipe"
)

// Option changes one lock. Those that make no sense for a kind of lock are ignored there.
type Option func(*options)

type options struct {
	label     string
	queue     recipe.Queue
	prefix    string
	ttl       time.Duration
	renew     bool
	limit     time.Duration
	fence     bool
	onWaiting func(name string)
	onRenew   func(deadline time.Time)
	onAsked   func(at time.Time)
	err       error
}

const (
	defaultTTL = 30 * time.Second
	minTTL     = 10 * time.Millisecond
)

func newOptions(opts []Option) options {
	queue, _ := recipe.QueueByName("curator")
	o := options{queue: queue, ttl: defaultTTL, renew: true, fence: true}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithLabel says who the owner is, for people: the data of the znode, or the end of the Redis value. Default empty.
func WithLabel(label string) Option { return func(o *options) { o.label = label } }

// WithRecipe chooses by name the client library to queue with in ZooKeeper: "curator" (the default), "kazoo",
// "go-zookeeper" (no read-write lock), "sequential" or "madelson" (no mutex). Any other name makes every Acquire fail.
func WithRecipe(name string) Option {
	return func(o *options) {
		queue, ok := recipe.QueueByName(name)
		if !ok {
			o.err = fmt.Errorf("recipe %q is none that can be queued with", name)
			return
		}
		o.queue = queue
	}
}

// WithQueue is WithRecipe for a recipe at hand.
func WithQueue(queue recipe.Queue) Option { return func(o *options) { o.queue = queue } }

// WithPrefix sets what stands before the number in the names of recipes without a GUID ("sequential"); default "lock-".
// A read-write lock has no choice: "read-" and "write-".
func WithPrefix(prefix string) Option {
	return func(o *options) {
		if strings.Contains(prefix, "/") {
			o.err = fmt.Errorf("prefix %q has a slash", prefix)
			return
		}
		o.prefix = prefix
	}
}

// WithTTL sets how long a Redis lock lives without renewal, at least 10 ms; default 30 s.
func WithTTL(ttl time.Duration) Option {
	return func(o *options) {
		if ttl < minTTL {
			o.err = fmt.Errorf("TTL %v is under %v", ttl, minTTL)
			return
		}
		o.ttl = ttl
	}
}

// WithoutRenewal leaves the TTL of a Redis lock alone: the hold is lost when it runs out, unless Extend is called.
// By default it is renewed every third of the TTL.
func WithoutRenewal() Option { return func(o *options) { o.renew = false } }

// WithMasterLimit sets how long a Redis master may take to answer one request. Default for a mutex: 1 s, at most a third
// of the TTL; for a Redlock: 5 % of the TTL, at least 50 ms and at most 500 ms.
func WithMasterLimit(limit time.Duration) Option { return func(o *options) { o.limit = limit } }

// WithoutToken does without the fencing counter beside the key of a Redis mutex, which never expires.
func WithoutToken() Option { return func(o *options) { o.fence = false } }

// OnWaiting is called when an Acquire has to wait, once its contender is known by name: the znode that stands in the
// queue, or the Redis value that will be written (on a Redlock each try has its own; this is the first). It is called again when the contender had to be made anew. It must
// not block.
func OnWaiting(f func(name string)) Option { return func(o *options) { o.onWaiting = f } }

// OnRenew is called after each renewal of a Redis lock with the new deadline. It must not block.
func OnRenew(f func(deadline time.Time)) Option { return func(o *options) { o.onRenew = f } }

// OnAsked is called when a Redis master has first answered an Acquire or TryAcquire of a mutex, with the time by its own clock at which it
// looked: a server looks for one client after another, so these times are the order in which the contenders came. It
// must not block.
func OnAsked(f func(at time.Time)) Option { return func(o *options) { o.onAsked = f } }

func (o *options) waiting(name string) {
	if o.onWaiting != nil {
		o.onWaiting(name)
	}
}

func (o *options) renewed(deadline time.Time) {
	if o.onRenew != nil {
		o.onRenew(deadline)
	}
}

func (o *options) asked(at int64) {
	if o.onAsked != nil {
		o.onAsked(time.UnixMicro(at))
	}
}
