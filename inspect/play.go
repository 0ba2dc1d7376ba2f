package inspect

import (
	"context"
	"time"
)

// Play replaces Run: it handles the updates of source in the caller's goroutine. It dates all of
// them by the observer's clock, which source advances. In between it does the timed work of a
// running observer, and at the end it publishes. The same updates always give the same result.
func (o *Observer) Play(source func(emit func(Update)) error) error {
	p := player{Observer: o}
	return p.play(source)
}

// Film plays as Play does. It calls each with a snapshot and the events since the previous one,
// at most once per step of the observer's clock.
func (o *Observer) Film(step time.Duration, source func(emit func(Update)) error, each func(*Snapshot)) error {
	sub := o.Subscribe()
	defer sub.Close()
	if _, err := sub.Next(context.Background()); err != nil { // the first, which is empty
		return err
	}
	p := player{Observer: o, step: step}
	p.published = func() {
		if s, err := sub.Next(context.Background()); err == nil { // never blocks, since a snapshot is ready
			each(s)
		}
	}
	return p.play(source)
}

// player plays updates to an observer. It calls published after each snapshot, at most once a
// step. If published is nil, there is only the final snapshot.
type player struct {
	*Observer
	step      time.Duration
	published func()
	last      time.Time // the last beat
	taken     time.Time // when the newest snapshot was taken
	counted   time.Time // when outliers were last counted
	sought    time.Time // when cycles were last sought
}

func (p *player) play(source func(emit func(Update)) error) error {
	err := source(func(u Update) {
		p.passTime()
		p.apply(sourceUpdate{0, u})
		p.snap(p.now())
	})
	p.passTime()
	p.taken = time.Time{}
	if p.published == nil {
		p.publish()
	} else {
		p.snap(p.now())
	}
	return err
}

// passTime does the work that is due up to now.
func (p *player) passTime() {
	now := p.now()
	if p.last.IsZero() {
		p.last = now
	}
	quietFrom := p.last
	if now.Sub(p.last) > longestQuiet {
		quietFrom, p.last = now.Add(-longestQuiet), now.Add(-longestQuiet)
	}
	for p.last.Before(now) {
		p.onBeat(p.last)
		if p.cyclesDue(p.last) && !p.last.Before(p.sought.Add(cyclesEvery)) {
			p.cyclesStale, p.sought = false, p.last
			p.setCycles(p.settledCycles(p.deadlocks.find(p.locks.all(), p.last), p.last), p.last)
		}
		if p.outliersStale && !p.last.Before(p.counted.Add(outliersEvery)) {
			p.outliersStale, p.counted = false, p.last
			p.setOutliers(findOutliers(p.locks.all()), p.last)
		}
		p.snap(p.last)
		step := pace(p.last.Sub(quietFrom))
		if p.last = p.last.Add(step); step > beat && p.last.After(now) {
			p.last = now // a long step must not pass the next update
		}
	}
}

// snap publishes the state at a time, unless less than a step has passed.
func (p *player) snap(at time.Time) {
	if p.published == nil || !p.pending() || !p.taken.IsZero() && at.Sub(p.taken) < p.step {
		return
	}
	p.taken = at
	p.publishAsOf(at)
	p.published()
}

// longestQuiet limits how much of a quiet period is played. Its earlier part is skipped.
const longestQuiet = time.Hour

// pace returns the playback step after that long without an event.
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
