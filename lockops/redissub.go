package lockops

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/connect"
)

// subscriber is a session's subscription on a master, to the channel that wakes its waiters and to
// the channels of locks that are held or waited for. Messages get lost (a subscription is not a
// queue), so waiters also poll.
type subscriber struct {
	session  *RedisSession
	master   *master
	own      string        // the session's channel
	beat     time.Duration // subscriberBeat, or shorter in a test
	requests atomic.Uint64

	requestMu sync.Mutex // requests are sent in the order of changes to locks; taken before mu

	mu        sync.Mutex
	pubsub    *redis.PubSub
	locks     map[string]*listeners // by channel
	confirmed bool                  // the server has confirmed the own channel
	failed    error                 // its last failure; nil while it is connected or connecting
	changed   chan struct{}         // closed when confirmed or failed changes
}

// listeners counts the listeners of one lock's channel. The subscription outlives the last one for
// a while, since locks are often taken again.
type listeners struct {
	n    int
	left time.Time
}

const (
	// lingers keeps an idle subscription to a lock's channel for the next hold of that lock.
	lingers = 30 * time.Second
	// subscriberBeat is the silence after which a subscription is pinged.
	subscriberBeat = 3 * time.Second
	// subscriberRest is the minimum time between two attempts to subscribe.
	subscriberRest = 50 * time.Millisecond
)

func newSubscriber(s *RedisSession, m *master) *subscriber {
	return &subscriber{
		session: s, master: m, own: recipe.LockscopeSessionChannel(s.id), beat: subscriberBeat,
		locks: make(map[string]*listeners), changed: make(chan struct{}),
	}
}

func (w *subscriber) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pubsub == nil {
		w.pubsub = w.master.client.Subscribe(context.Background())
		w.session.goDo(w.run)
	}
}

// ready waits, at most limit, until messages arrive; false if they do not.
func (w *subscriber) ready(ctx context.Context, limit time.Duration) (bool, error) {
	w.start()
	var late <-chan time.Time
	for {
		w.mu.Lock()
		confirmed, failed, changed := w.confirmed, w.failed, w.changed
		w.mu.Unlock()
		if confirmed || failed != nil {
			return confirmed, failed
		}
		if late == nil {
			late = time.After(limit)
		}
		select {
		case <-changed:
		case <-late:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case <-w.session.ctx.Done():
			return false, nil
		}
	}
}

// listen wakes this session's waiters and holders of a lock when the lock is released by force.
func (w *subscriber) listen(lock string) (stop func()) {
	w.start()
	channel := recipe.LockscopeChannel(lock)
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.locks[channel]
	if l == nil {
		l = &listeners{}
		w.locks[channel] = l
		pubsub := w.pubsub
		w.session.goDo(func() {
			w.requestMu.Lock()
			defer w.requestMu.Unlock()
			w.request(pubsub.Subscribe, channel)
		})
	}
	l.n++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.n--; l.n == 0 {
			l.left = w.session.clock.now()
		}
	}
}

func (w *subscriber) request(do func(context.Context, ...string) error, channels ...string) {
	w.requests.Add(1)
	// go-redis handles the error: it reconnects and subscribes again.
	_ = do(w.master.reach(w.session.ctx, w.beat), channels...)
}

// run receives until the session is closed.
func (w *subscriber) run() {
	pubsub := w.pubsub // only this goroutine changes it
	stop := w.closeWithSession(pubsub)
	defer func() { stop(); pubsub.Close() }()
	w.request(pubsub.Subscribe, w.own)
	asked := false // a ping is unanswered
	pruned := w.session.clock.now()
	for w.session.ctx.Err() == nil {
		if w.session.clock.since(pruned) >= w.beat {
			pruned = w.session.clock.now()
			w.prune()
		}
		m, err := connect.Receive(context.Background(), pubsub, w.beat)
		var network net.Error
		switch {
		case err == nil:
			asked = false
			w.receive(m)
		case errors.As(err, &network) && network.Timeout() && !asked:
			asked = true
			w.requests.Add(1)
			_ = pubsub.Ping(w.master.reach(w.session.ctx, w.beat))
		case transient(err): // a temporary refusal
			_ = w.session.sleep(subscriberRest)
			w.request(pubsub.Subscribe, w.channels()...)
		case answered(err): // a forbidden channel
			w.set(false, explain(err, nil, nil))
			_ = w.session.sleep(subscriberRest)
		default:
			w.set(false, nil)
			if asked { // it hangs, and go-redis would keep waiting
				asked = false
				stop()
				_ = pubsub.Close()
				pubsub = w.renew()
				stop = w.closeWithSession(pubsub)
			}
			_ = w.session.sleep(subscriberRest/2 + rand.N(subscriberRest))
		}
	}
}

// closeWithSession stops waiting for messages when the session ends.
func (w *subscriber) closeWithSession(pubsub *redis.PubSub) (stop func() bool) {
	return context.AfterFunc(w.session.ctx, func() { pubsub.Close() })
}

// renew subscribes again to all channels, on a new connection.
func (w *subscriber) renew() *redis.PubSub {
	channels := w.channels()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pubsub = w.master.client.Subscribe(context.Background())
	pubsub := w.pubsub
	w.session.goDo(func() { w.request(pubsub.Subscribe, channels...) })
	return pubsub
}

// channels returns the channels to subscribe to.
func (w *subscriber) channels() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	channels := []string{w.own}
	for c := range w.locks {
		channels = append(channels, c)
	}
	return channels
}

// prune unsubscribes from channels that have had no listener for a while.
func (w *subscriber) prune() {
	w.requestMu.Lock()
	defer w.requestMu.Unlock()
	var old []string
	w.mu.Lock()
	for channel, l := range w.locks {
		if l.n == 0 && w.session.clock.since(l.left) > lingers {
			delete(w.locks, channel)
			old = append(old, channel)
		}
	}
	w.mu.Unlock()
	if len(old) > 0 {
		w.request(w.pubsub.Unsubscribe, old...)
	}
}

func (w *subscriber) receive(m any) {
	switch m := m.(type) {
	case *redis.Message:
		if m.Channel == w.own {
			w.session.waiters.notify(m.Payload)
			return
		}
		if lock := m.Channel[len(recipe.LockscopeChannel("")):]; lock != "" {
			w.session.look(lock)
		}
	case *redis.Subscription:
		// Once per connection: messages to the previous one may have been missed.
		if m.Channel == w.own && m.Kind == "subscribe" {
			w.master.record(nil)
			w.set(true, nil)
			w.session.look("")
		}
	}
}

// set records whether messages arrive.
func (w *subscriber) set(confirmed bool, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.confirmed == confirmed && (w.failed == nil) == (failed == nil) {
		return
	}
	w.confirmed, w.failed = confirmed, failed
	close(w.changed)
	w.changed = make(chan struct{})
}

// look makes the session's waiters and holders of a lock check it again; an empty name means every
// lock.
func (s *RedisSession) look(lock string) {
	s.waiters.look(lock)
	s.leases.check(lock)
}
