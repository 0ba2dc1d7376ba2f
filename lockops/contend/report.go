package contend

import "time"

// Report has the figures of a run, which may still be going on.
type Report struct {
	Lock, Kind string
	// Order names the clock or counter that ordered the arrivals, as in Description.
	Order    string
	Seed     uint64
	Duration time.Duration // 0 until the run begins
	Ended    bool

	Grants uint64
	// Handoff is the time from the start of a release with a waiter to the next grant. Wait is the
	// time from the call of Acquire to the grant.
	Handoff, Wait Quantiles
	// LongestWait includes waits that have not ended or ended without a grant.
	LongestWait   time.Duration
	LongestWaiter int // -1 without waits
	// Inversions are the grants that overtook a waiter.
	Inversions uint64
	// Overlaps counts grants while another holder had the lock; TokensBack counts those with a
	// fencing token that is not greater than all previous ones.
	Overlaps, TokensBack uint64
	// Lost counts lost holds; Failed counts failed acquires and releases. LastError is the last error
	// of either.
	Lost, Failed uint64
	LastError    error
	// Requests is the number sent to the servers.
	Requests uint64
	// Dropped is the number of events that were not read in time.
	Dropped uint64

	Contenders []Contender
	// Left lists leftover keys or nodes of the run. There should be none.
	Left []string
}

// Contender has one contender's figures.
type Contender struct {
	State       State
	Since       time.Time // the start of its state
	Grants      uint64
	Held        time.Duration
	LongestWait time.Duration
	Lost        uint64
	Failed      uint64
}

// Quantiles holds quantiles of durations, within 1 %; Max is exact. All are 0 if Count is 0.
type Quantiles struct {
	Count         uint64
	P50, P99, Max time.Duration
}

// Jain returns Jain's fairness index of the grants: 1 if all contenders had the same number, 1/n if
// one had all, 0 without grants. Source: Jain, Chiu, Hawe, "A Quantitative Measure Of Fairness",
// 1984.
func (r *Report) Jain() float64 {
	var sum, squares float64
	for i := range r.Contenders {
		x := float64(r.Contenders[i].Grants)
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(r.Contenders)) * squares)
}

// RequestsPerGrant returns the mean number of requests per grant; 0 without grants.
func (r *Report) RequestsPerGrant() float64 {
	if r.Grants == 0 {
		return 0
	}
	return float64(r.Requests) / float64(r.Grants)
}

// Rate returns the number of grants per second; 0 until the run begins.
func (r *Report) Rate() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Grants) / r.Duration.Seconds()
}

// Shares returns the smallest and the largest number of grants of a contender.
func (r *Report) Shares() (least, most uint64) {
	for i := range r.Contenders {
		n := r.Contenders[i].Grants
		if i == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	return least, most
}
