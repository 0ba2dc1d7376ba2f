package inspect

import "time"

// Beat runs one beat of Run. lapped reports whether it reached the last lock.
func (o *Observer) Beat(at time.Time) (lapped bool) {
	o.onBeat(at)
	return o.lapped == (ID{})
}

// Apply applies an update of the first source as Run does.
func (o *Observer) Apply(u Update) { o.apply(sourceUpdate{0, u}) }

// Publish publishes a snapshot as of a time.
func (o *Observer) Publish(at time.Time) { o.publishAsOf(at) }
