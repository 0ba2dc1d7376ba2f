package contend

import "time"

// Report has a run's figures, so far while it runs; a field for each.
type Report struct {
	Lock, Kind string
	// Order names the clock or counter that ordered the arrivals, as in Description.
	Order    string
	Seed     uint64
	Duration time.Duration // 0 before the run has begun
	Ended    bool

	Grants uint64
	// Handoff is from the begin of a release to the next grant, with a waiter; Wait from asking to the grant.
	Handoff, Wait Quantiles
	// LongestWait includes contenders that were never granted the lock, and those that still wait.
	LongestWait   time.Duration
	LongestWaiter int // -1 without waits
	// Inversions are the grants that overtook a waiter.
	Inversions uint64
	// Overlaps are the grants next to another holder; TokensBack those of them that were noticed by their
	// fencing token.
	Overlaps, TokensBack uint64
	// Lost are the holds that were lost, Failed the acquires and releases that went wrong;
	// LastError is the last error.
	Lost, Failed uint64
	LastError    error
	// Requests that were sent to the servers.
	Requests uint64
	// Dropped are the events that were not read in time.
	Dropped uint64

	Contenders []Contender
	// Left lists keys or nodes of the run found on the servers after its end. There should be none.
	Left []string
}

// Contender has one contender's figures.
type Contender struct {
	State       State
	Since       time.Time // it is in that state
	Grants      uint64
	Held        time.Duration
	LongestWait time.Duration
	Lost        uint64
	Failed      uint64
}

// Quantiles are of times, exact to one percent (the greatest exactly), none of them when Count is 0.
type Quantiles struct {
	Count         uint64
	P50, P99, Max time.Duration
}

// Jain is Jain's fairness index of the grants: 1 when all contenders got as many, 1/n when one got all (Jain,
// Chiu, Hawe: "A Quantitative Measure Of Fairness", 1984). It is 0 without grants.
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

// RequestsPerGrant is the mean; 0 without grants.
func (r *Report) RequestsPerGrant() float64 {
	if r.Grants == 0 {
		return 0
	}
	return float64(r.Requests) / float64(r.Grants)
}

// Rate is the grants a second; 0 before there can be one.
func (r *Report) Rate() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Grants) / r.Duration.Seconds()
}

// Shares are the least and the most grants that a contender got.
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
