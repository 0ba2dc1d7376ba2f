package sourcekit

import "time"

// Bucket is a token bucket. The zero Bucket lets everything pass.
type Bucket struct {
	// Halved means that tokens come half as fast.
	Halved bool

	rate, burst float64
	tokens      float64
	last        time.Time
}

// mostDebt is the largest debt of a bucket, in seconds of its rate. At half the rate it takes a
// second to pay off.
const mostDebt = 0.5

// NewBucket makes a full Bucket that gets rate tokens a second and holds up to burst of them.
func NewBucket(rate, burst float64) *Bucket { return &Bucket{rate: rate, burst: burst, tokens: burst} }

// Take takes a token. If there is no token, it returns the time until there is one.
func (b *Bucket) Take(now time.Time) (wait time.Duration) {
	if wait = b.Await(now); wait == 0 {
		b.Spend(1)
	}
	return wait
}

// Spend takes tokens, even more than there are. The next request waits longer, by at most a second.
func (b *Bucket) Spend(tokens float64) {
	if b.rate > 0 {
		b.tokens = max(b.tokens-tokens, -b.rate*mostDebt)
	}
}

// Await returns the time until the next token; zero if there is one.
func (b *Bucket) Await(now time.Time) (wait time.Duration) {
	if b.rate == 0 {
		return 0
	}
	rate := b.rate
	if b.Halved {
		rate /= 2
	}
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1-b.tokens)/rate*float64(time.Second)) + time.Microsecond
}
