package inspect

import "context"

// maxEvents limits the events that a subscription keeps for a slow reader.
const maxEvents = 10_000

// Subscription gives one reader the newest snapshot, with the changes and events since the previous one.
type Subscription struct {
	observer *Observer
	signal   chan struct{}
	first    bool
	// Guarded by observer.mu.
	changed map[ID]struct{}
	events  []Event
	dropped int
}

// Subscribe starts a subscription, whose first snapshot is available at once. Close it when done.
func (o *Observer) Subscribe() *Subscription {
	sub := &Subscription{observer: o, signal: make(chan struct{}, 1), changed: make(map[ID]struct{}), first: true}
	sub.signal <- struct{}{}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.subscriptions[sub] = struct{}{}
	return sub
}

// wake must be called with the observer's lock held.
func (s *Subscription) wake(changed map[ID]struct{}, events []Event) {
	for id := range changed {
		s.changed[id] = struct{}{}
	}
	s.events = append(s.events, events...)
	if len(s.events) > 2*maxEvents {
		s.cut()
	}
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// cut drops the oldest events above the limit.
func (s *Subscription) cut() {
	if over := len(s.events) - maxEvents; over > 0 {
		s.events = append([]Event(nil), s.events[over:]...)
		s.dropped += over
	}
}

// Next waits for a snapshot newer than the last one it returned, or for the end of ctx.
func (s *Subscription) Next(ctx context.Context) (*Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.signal:
	}
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	snapshot := *s.observer.latest
	if !s.first {
		snapshot.Changed = make([]ID, 0, len(s.changed))
		for id := range s.changed {
			snapshot.Changed = append(snapshot.Changed, id)
		}
		s.cut()
		snapshot.Events, snapshot.Dropped = s.events, s.dropped
	}
	s.first = false
	s.events, s.dropped = nil, 0
	s.changed = make(map[ID]struct{})
	return &snapshot, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	delete(s.observer.subscriptions, s)
}
