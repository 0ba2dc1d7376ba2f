package zksource

import "time"

// bucket is a token bucket. The zero bucket lets everything pass.
type bucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
	halved      bool // tokens come half as fast
}

// mostDebt of a bucket, in seconds of its rate: a second where that is halved.
const mostDebt = 0.5

func newBucket(rate, burst float64) bucket { return bucket{rate: rate, burst: burst, tokens: burst} }

// take takes a token; when there is none it says how long until there is.
func (b *bucket) take(now time.Time) (wait time.Duration) {
	if wait = b.await(now); wait == 0 {
		b.spend(1)
	}
	return wait
}

// spend takes tokens, also more than there are: the next request then waits for longer, but no more than a second.
func (b *bucket) spend(tokens float64) {
	if b.rate > 0 {
		b.tokens = max(b.tokens-tokens, -b.rate*mostDebt)
	}
}

// await returns the time until the next token; zero when there is one.
func (b *bucket) await(now time.Time) (wait time.Duration) {
	if b.rate == 0 {
		return 0
	}
	rate := b.rate
	if b.halved {
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
