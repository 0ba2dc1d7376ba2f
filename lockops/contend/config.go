package contend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Config of a run.
type Config struct {
	// Contenders, from 1 to MaxContenders.
	Contenders int
	// Hold is the mean time that a lock is held, Think that between a contender's release and its next acquire.
	Hold, Think time.Duration
	// For ends the run after a time, Rounds when each contender has been granted the lock so often. With neither, the
	// run lasts until its context ends.
	For    time.Duration
	Rounds int
	// Seed of the hold and think times.
	Seed uint64
	// Connect bounds the time to open the target and to connect everybody. 0: the context alone does.
	Connect time.Duration
	// Stall ends a run by Rounds with ErrStalled when for this long all that is done is waiting for the
	// servers. 0: never.
	Stall time.Duration
	// Now is the clock; nil: time.Now. The times between events are on its monotonic reading.
	Now func() time.Time
	// Events is the number that may wait for a slow reader before more are dropped; 0 means 4096.
	Events int
}

// MaxContenders is the upper bound of Config.Contenders: each has its own connections.
const MaxContenders = 1000

const defaultEvents = 4096

// Errors that callers branch on, with errors.Is.
var (
	// ErrExists is returned by Start when the lock exists and is not one that a run made for itself.
	ErrExists = errors.New("the lock exists")
	// ErrStalled is returned by Wait when a run by rounds did not get on.
	ErrStalled = errors.New("no contender was granted the lock")
)

func (c Config) check() error {
	switch {
	case c.Contenders < 1 || c.Contenders > MaxContenders:
		return fmt.Errorf("%d contenders: use 1 to %d", c.Contenders, MaxContenders)
	case c.Hold < 0 || c.Think < 0 || c.For < 0 || c.Rounds < 0:
		return errors.New("a time or a number of rounds is below 0")
	}
	return nil
}

// Times gives the hold and think times of a contender, round by round. They depend on nothing but the arguments.
func Times(seed uint64, contender int, hold, think time.Duration) func() (h, t time.Duration) {
	source := rand.New(rand.NewPCG(seed, uint64(contender)))
	return func() (h, t time.Duration) { return around(source, hold), around(source, think) }
}

// around draws evenly from half to one and a half of a time.
func around(source *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration((0.5 + source.Float64()) * float64(mean))
}
