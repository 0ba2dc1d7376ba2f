package inspect

import "time"

// Play takes in what source emits in the caller's goroutine, in place of Run: all of it as of the observer's clock, which
// source moves on. In between it does what a running observer does as time passes, and in the end it publishes. What it
// makes of the same updates is the same every time.
func (o *Observer) Play(source func(emit func(Update)) error) error {
	var last, counted time.Time
	passTime := func() {
		now := o.now()
		if last.IsZero() {
			last = now
		}
		quietFrom := last
		if now.Sub(last) > longestQuiet {
			quietFrom, last = now.Add(-longestQuiet), now.Add(-longestQuiet)
		}
		for last.Before(now) {
			o.onBeat(last)
			if o.cyclesStale {
				o.cyclesStale = false
				o.setCycles(findCycles(o.locks.all()), last)
			}
			if o.outliersStale && !last.Before(counted.Add(outliersEvery)) {
				o.outliersStale, counted = false, last
				o.setOutliers(findOutliers(o.locks.all()), last)
			}
			step := pace(last.Sub(quietFrom))
			if last = last.Add(step); step > beat && last.After(now) {
				last = now // what happens next is to find the beat that it is used to
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

// longestQuiet of a time without events is played: its end.
const longestQuiet = time.Hour

// pace returns the step of playback after so long without an event.
func pace(quiet time.Duration) time.Duration {
	switch {
	case quiet < 5*time.Second:
		return beat
	case quiet < time.Minute:
		return time.Second
	default:
		return 10 * time.Second
	}
}
