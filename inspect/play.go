package inspect

import "time"

// Play takes in what source emits in the caller's goroutine, in place of Run: all of it as of the observer's clock, which
// source moves on. In between it does what a running observer does as time passes, and in the end it publishes. What it
// makes of the same updates is the same every time.
func (o *Observer) Play(source func(emit func(Update)) error) error {
	var last time.Time
	passTime := func() {
		now := o.now()
		if last.IsZero() {
			last = now
		}
		for ; last.Before(now); last = last.Add(beat) {
			o.onBeat(last)
			if o.tangled {
				o.tangled = false
				o.tangle(findCycles(o.locks.all()), last)
			}
		}
	}
	err := source(func(u Update) {
		passTime()
		o.apply(sourceUpdate{0, u})
	})
	passTime()
	o.publish()
	return err
}
