package zksource

import "time"

// bucket is a token bucket. The zero bucket lets everything pass.
type bucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
	halved      bool // tokens come half as fast
	// arrears are tokens that came while the bucket was full, although there was a request to spend them on. They come later, on
	// top of the rate; more than mostArrears are lost.
	arrears, mostArrears float64
	rested               bool // there was none since it was last asked
}

// catchUp is the share of the rate by which tokens come faster while there are arrears: a server is to be asked hardly faster than ever.
const catchUp = 0.5

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
		b.come(rate * now.Sub(b.last).Seconds())
	}
	b.last, b.rested = now, false
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1-b.tokens)/rate*float64(time.Second)) + time.Microsecond
}

// come adds the tokens of the time since it was last asked. A busy program asks late, and would get less than the rate for each
// time that it is. Nothing is due for a rest, nor by a server that answers slowly.
func (b *bucket) come(tokens float64) {
	if b.rested || b.halved {
		b.arrears = 0
	}
	late := min(b.arrears, max(0, tokens*catchUp), b.burst)
	here := min(tokens, max(0, b.burst-b.tokens))
	b.tokens += here + late
	b.arrears -= late
	if !b.rested && !b.halved {
		b.arrears = min(b.mostArrears, b.arrears+tokens-here)
	}
}

// rest notes that there is nothing to spend tokens on.
func (b *bucket) rest() { b.rested, b.arrears = true, 0 }
