package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
)

const (
	sweptEvery  = 100 * time.Millisecond // after the first pass a SCAN follows the one before no sooner
	manyScans   = 20                     // of a pass: the next one looks at more keys at once
	MostScanned = 1000                   // keys in one SCAN
	fewScanned  = 50                     // while others are to wait for less
	// A pause between SCANs is at most so long, however slow the server is: during the first look, and later.
	mostFirstPause = time.Second
	mostPause      = 5 * time.Second
	longPause      = 200 * time.Millisecond // after it one SCAN looks at more keys, so that the pass ends

	Gather           = 40 * time.Millisecond // one pass reads no sooner what it found, so that pipelines are long
	restingScanPause = 2500 * time.Millisecond
)

// scanner goes over one master's keys, with pauses.
type scanner struct {
	m        *Master
	patterns []string
	match    Matcher
	limits   ScanLimits
	recent   [16]time.Duration // of the last SCANs
	// resting: the master pushes changes, so there is no hurry.
	resting func() bool
	calls   int
	rested  time.Duration // after the last SCAN
	// passes over the keys that ended; the last one was long.
	passes int
	long   bool
	keys   int // that the last pass named
}

// ScanLimits bound what looking for keys costs a server.
type ScanLimits struct {
	Unlimited bool    // no pauses
	Duty      float64 // the share of the server's time
	Count     int     // keys of one SCAN; 0: by the pauses
	Keys      int     // that match, of one pass; 0: no bound
}

// NewScanner looks for the keys that match one of the patterns; resting reports that there is no hurry.
func NewScanner(m *Master, patterns []string, match Matcher, limits ScanLimits, resting func() bool) *scanner {
	return &scanner{m: m, patterns: patterns, match: match, limits: limits, resting: resting}
}

// Pass looks at every key once and hands those that match to found, which may get one more than once. unsought is
// the server's refusal of the scan.
func (s *scanner) Pass(ctx context.Context, found func(keys []string)) (unsought *inspect.Unseen, err error) {
	match := "" // SCAN takes one pattern: of several, all names are sifted here, which costs the server the same
	if len(s.patterns) == 1 {
		match = s.patterns[0]
	}
	from, given := s.calls, 0
	s.keys = 0
	for cursor, done := uint64(0), false; !done; {
		var cmd *redis.ScanCmd
		start := s.m.now()
		err := s.m.do(ctx, func(ctx context.Context, client redis.UniversalClient) error {
			// Of any type: keys of other types cost less than another pass over all keys.
			cmd = client.Scan(ctx, cursor, match, int64(s.count()))
			return onlyBroken(cmd.Err())
		})
		if err != nil {
			return nil, err
		}
		if cmd.Err() != nil {
			u := s.m.miss(inspect.AspectLocks, cmd, rightFor(cmd, ""))
			unsought = &u
		}
		keys, next := cmd.Val() // of none if it was refused
		cursor, done = next, next == 0
		s.keys += len(keys)
		locks, _ := s.m.LockKeys(slices.DeleteFunc(keys, func(key string) bool { return !s.match.Any(key) }))
		if len(locks) > 0 {
			found(locks)
		}
		if given += len(locks); s.limits.Keys > 0 && given > 2*s.limits.Keys { // some come more than once
			unsought, done = &inspect.Unseen{
				Aspect: inspect.AspectLocks, Where: s.m.Address(), Read: "SCAN",
				Reason: fmt.Sprintf("SCAN has returned %d matching keys and does not end", given),
			}, true
		}
		s.rested = s.pause(s.m.now().Sub(start))
		if err := sourcekit.Sleep(ctx, s.rested); err != nil {
			return nil, err
		}
	}
	s.passes++
	s.long = s.calls-from > manyScans
	return unsought, nil
}

// Keys returns how many keys the last pass named; -1 where the server left out those that do not match.
func (s *scanner) Keys() int {
	if len(s.patterns) == 1 {
		return -1
	}
	return s.keys
}

// count of one SCAN, in keys. Between long pauses it may be large, unless the budget gives it.
func (s *scanner) count() int {
	switch {
	case s.limits.Count > 0:
		return s.limits.Count
	case s.rests(), s.long, s.rested >= longPause:
		return MostScanned
	default:
		return fewScanned
	}
}

func (s *scanner) rests() bool { return s.resting != nil && s.resting() }

// pause returns the rest after a SCAN: so long that SCAN takes no more than its share of the server's time,
// within a bound. The quickest of the last calls shows that time: a slow server delays every call, our own
// waiting for a processor does not.
func (s *scanner) pause(took time.Duration) time.Duration {
	s.recent[s.calls%len(s.recent)] = took
	s.calls++
	if s.limits.Unlimited {
		return 0
	}
	quickest := slices.Min(s.recent[:min(s.calls, len(s.recent))])
	// At least 1.4 µs a key, and 40 µs a call: the cost to a server, with the match, wherever it was measured.
	work := max(quickest-s.m.way(), time.Duration(s.count())*1400*time.Nanosecond+40*time.Microsecond)
	rest := time.Duration(float64(work) * (1/s.limits.Duty - 1))
	switch {
	case s.passes == 0:
		return min(rest, mostFirstPause)
	case s.rests():
		rest = max(rest, restingScanPause)
	default:
		rest = max(rest, sweptEvery)
	}
	return min(rest, mostPause)
}
