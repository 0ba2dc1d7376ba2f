package lockops

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// wakeups is a session's one subscriber. Messages get lost (a subscription is no queue): whoever waits here also polls.
type wakeups struct {
	client   redis.UniversalClient
	requests atomic.Uint64

	mu       sync.Mutex
	channels map[string]map[chan struct{}]struct{} // who listens
	changed  chan struct{}
	running  bool
}

func newWakeups(client redis.UniversalClient) *wakeups {
	return &wakeups{
		client: client, changed: make(chan struct{}, 1),
		channels: make(map[string]map[chan struct{}]struct{}),
	}
}

// listen subscribes to a channel. woken gets a value after each message, and when the subscription stands, also again
// after a reconnect: what was published before then may have been missed. The subscriber is started, on the session's
// account, with the first listener.
func (s *RedisSession) listen(channel string) (woken <-chan struct{}, stop func()) {
	w := s.wakeups
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[channel] == nil {
		w.channels[channel] = make(map[chan struct{}]struct{})
	}
	w.channels[channel][ch] = struct{}{}
	if !w.running {
		w.running = s.goDo(func() { w.subscribe(s.ctx, s.goDo) })
	}
	w.change()
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.channels[channel], ch)
		if len(w.channels[channel]) == 0 {
			delete(w.channels, channel)
			w.change()
		}
	}
}

func (w *wakeups) change() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// subscribe keeps the subscriptions as they are wanted, until ctx ends.
func (w *wakeups) subscribe(ctx context.Context, goDo func(func()) bool) {
	pubsub := w.client.Subscribe(ctx)
	defer pubsub.Close()
	have := make(map[string]bool)
	reading := false
	for {
		select {
		case <-w.changed:
		case <-ctx.Done():
			return
		}
		more, fewer := w.wanted(have)
		// An error is left to go-redis: it reconnects and subscribes to what it was asked for.
		for _, channel := range more {
			have[channel] = true
			w.limited(ctx, pubsub.Subscribe, channel)
		}
		for _, channel := range fewer {
			delete(have, channel)
			w.limited(ctx, pubsub.Unsubscribe, channel)
		}
		if !reading && len(have) > 0 {
			messages := pubsub.ChannelWithSubscriptions()
			reading = goDo(func() { w.read(messages) })
		}
	}
}

// wanted compares the subscriptions with the listeners.
func (w *wakeups) wanted(have map[string]bool) (more, fewer []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for channel := range w.channels {
		if !have[channel] {
			more = append(more, channel)
		}
	}
	for channel := range have {
		if w.channels[channel] == nil {
			fewer = append(fewer, channel)
		}
	}
	return more, fewer
}

func (w *wakeups) limited(ctx context.Context, do func(context.Context, ...string) error, channel string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	w.requests.Add(1)
	_ = do(ctx, channel)
}

// read ends when the subscription is closed.
func (w *wakeups) read(messages <-chan any) {
	for m := range messages {
		switch m := m.(type) {
		case *redis.Message:
			w.wake(m.Channel)
		case *redis.Subscription:
			w.wake(m.Channel)
		}
	}
}

func (w *wakeups) wake(channel string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.channels[channel] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
