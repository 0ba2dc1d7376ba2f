package lockops

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Option changes one lock. Check and every Acquire fail with ErrOption if the kind of lock does not
// support it: no caller should rely on an ignored option.
type Option func(*options)

type options struct {
	label     string
	queue     recipe.Queue
	prefix    string
	ttl       time.Duration
	renew     bool
	limit     time.Duration
	fence     bool
	reentry   bool
	onWaiting func(name string)
	onBehind  func(Queue)
	onRenew   func(deadline time.Time)
	onAsked   func(at time.Time)
	given     optionSet
	err       error
}

// optionSet is a bit set of options: those given, or those that a kind of lock supports.
type optionSet uint16

const (
	optLabel optionSet = 1 << iota
	optRecipe
	optPrefix
	optTTL
	optRenewal
	optLimit
	optToken
	optReentry
	optWaiting
	optRenew
	optAsked
	optBehind
)

// optionNames are in the order of the bits.
var optionNames = [...]string{
	"WithLabel", "WithRecipe", "WithPrefix", "WithTTL", "WithoutRenewal", "WithMasterLimit", "WithoutToken",
	"WithReentry",
	"OnWaiting", "OnRenew", "OnAsked", "OnBehind",
}

// The options that each kind of lock supports.
const (
	everyKindKeeps  = optLabel | optReentry | optWaiting
	zkMutexKeeps    = everyKindKeeps | optRecipe | optPrefix | optBehind
	zkRWMutexKeeps  = everyKindKeeps | optRecipe | optBehind
	redisMutexKeeps = everyKindKeeps | optTTL | optRenewal | optLimit | optToken | optRenew | optAsked
	redlockKeeps    = everyKindKeeps | optTTL | optRenewal | optLimit | optRenew
)

func (s optionSet) String() string {
	var names []string
	for i, name := range optionNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

const (
	defaultTTL = 30 * time.Second
	minTTL     = 10 * time.Millisecond
)

// newOptions reads the options of a lock that supports only some.
func newOptions(keeps optionSet, opts []Option) options {
	queue, _ := recipe.QueueByName("curator")
	o := options{queue: queue, ttl: defaultTTL, renew: true, fence: true}
	for _, opt := range opts {
		opt(&o)
	}
	if not := o.given &^ keeps; not != 0 && o.err == nil {
		o.err = fmt.Errorf("%w: %v", ErrOption, not)
	}
	return o
}

// refuse records why the lock cannot work; only the first reason counts.
func (o *options) refuse(format string, args ...any) {
	if o.err == nil {
		o.err = worded{fmt.Sprintf(format, args...), []error{ErrOption}}
	}
}

// Check returns the error that every Acquire would fail with regardless of the servers, such as
// ErrOption or ErrMasters. It returns nil for a lock that this package did not make. It sends
// nothing.
func Check(l Locker) error {
	if own, ok := l.(interface{ check() error }); ok {
		return own.check()
	}
	return nil
}

func (k *redisKey) check() error    { return k.opts.invalid(k.lock) }
func (l *Redlock) check() error     { return l.opts.invalid(l.lock) }
func (m *ZKMutex) check() error     { return m.queue.opts.invalid(m.queue.lock) }
func (l *zkSide) check() error      { return l.queue.opts.invalid(l.queue.lock) }
func (m *ZKSemaphore) check() error { return m.leases.opts.invalid(m.lock) }

func (o *options) invalid(lock lockKey) error {
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", lock.name, o.err)
}

// WithLabel names the owner for people, in the znode's data or at the end of the Redis value. Default empty.
func WithLabel(label string) Option {
	return func(o *options) {
		o.given |= optLabel
		o.label = label
	}
}

// WithRecipe chooses by name the client library to queue with in ZooKeeper: "curator" (the default), "kazoo",
// "go-zookeeper" (no read-write lock), "sequential" or "madelson" (no mutex). Any other name makes every Acquire fail.
func WithRecipe(name string) Option {
	return func(o *options) {
		o.given |= optRecipe
		queue, ok := recipe.QueueByName(name)
		if !ok {
			o.refuse("unsupported recipe %q", name)
			return
		}
		o.queue = queue
	}
}

// WithQueue is WithRecipe for a recipe.Queue value.
func WithQueue(queue recipe.Queue) Option {
	return func(o *options) {
		o.given |= optRecipe
		o.queue = queue
	}
}

// WithPrefix sets the part before the number in the names of recipes without a GUID ("sequential"); default "lock-". A
// read-write lock always uses "read-" and "write-".
func WithPrefix(prefix string) Option {
	return func(o *options) {
		o.given |= optPrefix
		if strings.Contains(prefix, "/") {
			o.refuse("prefix %q has a slash", prefix)
			return
		}
		o.prefix = prefix
	}
}

// WithTTL sets how long a Redis lock lives without renewal, at least 10 ms; default 30 s.
func WithTTL(ttl time.Duration) Option {
	return func(o *options) {
		o.given |= optTTL
		if ttl < minTTL {
			o.refuse("TTL %v is under %v", ttl, minTTL)
			return
		}
		o.ttl = ttl
	}
}

// WithoutRenewal leaves the TTL of a Redis lock alone: the hold is lost when it runs out, unless Extend is called.
// By default it is renewed every third of the TTL.
func WithoutRenewal() Option {
	return func(o *options) {
		o.given |= optRenewal
		o.renew = false
	}
}

// WithMasterLimit sets how long a connected Redis master may take to answer one request. The default for a mutex is one
// second, at most a third of the TTL. For a Redlock it is 5 % of the TTL, between 50 and 500 ms, or more over a slow
// link: twice the time of the newest answer, up to the default for a mutex.
func WithMasterLimit(limit time.Duration) Option {
	return func(o *options) {
		o.given |= optLimit
		o.limit = limit
	}
}

// WithoutToken stores no fencing token next to the key of a Redis mutex, where it would stay for a
// day.
func WithoutToken() Option {
	return func(o *options) {
		o.given |= optToken
		o.fence = false
	}
}

// WithReentry lets Acquire take the lock again at once, and count it, if its context comes from a
// hold of that lock. Without WithReentry such a call fails with ErrReentry, since it could only
// wait for itself. All goroutines with that context share the lock, so it does not make the
// goroutines of an errgroup exclude each other.
func WithReentry() Option {
	return func(o *options) {
		o.given |= optReentry
		o.reentry = true
	}
}

// OnWaiting calls f when an Acquire has to wait, once its contender has a name. That is the znode in the queue, or the
// Redis value that will be written. On a Redlock each try has its own value; this is the first. It calls f again when
// the contender had to be replaced. f must not block.
func OnWaiting(f func(name string)) Option {
	return func(o *options) {
		o.given |= optWaiting
		o.onWaiting = f
	}
}

// Queue is the place of a waiting contender when it last looked.
type Queue struct {
	Name string // of the contender
	// Holder is the name of the first contender, which holds the lock, perhaps with others.
	// Position counts the contenders before it.
	Holder   string
	Position int
}

// OnBehind calls f when an Acquire on ZooKeeper has to wait, and again when it sees that another
// contender has become the first. f must not block.
func OnBehind(f func(Queue)) Option {
	return func(o *options) {
		o.given |= optBehind
		o.onBehind = f
	}
}

// OnRenew calls f with the new deadline after each renewal of a Redis lock. f must not block.
func OnRenew(f func(deadline time.Time)) Option {
	return func(o *options) {
		o.given |= optRenew
		o.onRenew = f
	}
}

// OnAsked calls f when a Redis master first answers an Acquire or TryAcquire of a mutex. at is the
// time on the master's own clock at which it looked. A server handles one client after another, so
// these times give the order of arrival. f must not block.
func OnAsked(f func(at time.Time)) Option {
	return func(o *options) {
		o.given |= optAsked
		o.onAsked = f
	}
}

// limitMost returns the longest wait for an answer.
func (o *options) limitMost() time.Duration {
	if o.given&optLimit != 0 && o.limit > 0 {
		return o.limit
	}
	return min(limitMost, o.ttl/3)
}

func (o *options) waiting(name string) {
	if o.onWaiting != nil {
		o.onWaiting(name)
	}
}

func (o *options) behind(q Queue) {
	if o.onBehind != nil {
		o.onBehind(q)
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
