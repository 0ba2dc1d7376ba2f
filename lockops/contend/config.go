package contend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Config of a run.
type Config struct {
	// Contenders is the number of contenders, from 1 to MaxContenders.
	Contenders int
	// Hold is the mean length of a hold. Think is the mean time between a contender's release and its
	// next acquire.
	Hold, Think time.Duration
	// For ends the run after a time, Rounds once each contender has been granted the lock that many
	// times. With neither, the run lasts until its context ends.
	For    time.Duration
	Rounds int
	// Seed of the hold and think times.
	Seed uint64
	// Connect bounds the time to open the target and to connect all contenders. 0 means that only
	// the context limits it.
	Connect time.Duration
	// Stall ends a run by Rounds with ErrStalled if all contenders have only waited for the servers for
	// this long. 0 means never.
	Stall time.Duration
	// Now is the clock; nil means time.Now. Its monotonic reading gives the times between events.
	Now func() time.Time
	// Events is the number of events kept for a slow reader before more are dropped; 0 means 4096.
	Events int
}

// MaxContenders bounds Config.Contenders, since each has its own connections.
const MaxContenders = 1000

const defaultEvents = 4096

// Errors that callers branch on, with errors.Is.
var (
	// ErrExists is returned by Start if the lock exists and was not made for a run.
	ErrExists = errors.New("the lock exists")
	// ErrStalled is returned by Wait if a run by rounds made no progress.
	ErrStalled = errors.New("no contender was granted the lock")
)

func (c Config) check() error {
	switch {
	case c.Contenders < 1 || c.Contenders > MaxContenders:
		return fmt.Errorf("%d contenders: use 1 to %d", c.Contenders, MaxContenders)
	case c.Hold < 0 || c.Think < 0 || c.For < 0 || c.Rounds < 0:
		return errors.New("hold, think, for and rounds must not be negative")
	}
	return nil
}

// Times gives the hold and think times of a contender, round by round. They depend only on the
// arguments.
func Times(seed uint64, contender int, hold, think time.Duration) func() (h, t time.Duration) {
	source := rand.New(rand.NewPCG(seed, uint64(contender)))
	return func() (h, t time.Duration) { return around(source, hold), around(source, think) }
}

// around draws uniformly from 0.5 to 1.5 times the mean.
func around(source *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration((0.5 + source.Float64()) * float64(mean))
}
