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
	sweptEvery  = 100 * time.Millisecond // the shortest pause between SCANs after the first pass
	manyScans   = 20                     // after a pass with more SCANs, a SCAN covers more keys
	MostScanned = 1000                   // most keys in one SCAN
	fewScanned  = 50                     // keys in one SCAN that delays other clients little
	// The longest pauses between SCANs in the first pass and later, however slow the server is.
	mostFirstPause = time.Second
	mostPause      = 5 * time.Second
	longPause      = 200 * time.Millisecond // after it, a SCAN covers more keys, so that the pass ends

	Gather           = 40 * time.Millisecond // how long a pass collects found keys before it reads them
	restingScanPause = 2500 * time.Millisecond
)

// scanner passes over one master's keys, with pauses.
type scanner struct {
	m        *Master
	patterns []string
	match    Matcher
	limits   ScanLimits
	recent   [16]time.Duration // durations of the last SCANs
	// resting reports whether the master pushes changes; then there is no hurry.
	resting func() bool
	calls   int
	rested  time.Duration // the pause after the last SCAN
	passes  int           // finished passes
	long    bool          // the last pass was long
	keys    int           // number of keys in the last pass
}

// ScanLimits bounds what finding keys costs a server.
type ScanLimits struct {
	Unlimited bool    // no pauses
	Duty      float64 // the share of the server's time
	Count     int     // keys of one SCAN; 0 lets the pauses decide
	Keys      int     // limit of matching keys in one pass; 0 means no limit
}

// NewScanner returns a scanner for keys that match a pattern. resting reports whether there is no
// hurry.
func NewScanner(m *Master, patterns []string, match Matcher, limits ScanLimits, resting func() bool) *scanner {
	return &scanner{m: m, patterns: patterns, match: match, limits: limits, resting: resting}
}

// Pass reads all keys once and hands the matching ones to found, possibly more than once.
// unsought is set if the server refuses SCAN.
func (s *scanner) Pass(ctx context.Context, found func(keys []string)) (unsought *inspect.Unseen, err error) {
	match := "" // SCAN takes one pattern; filtering several here costs the server the same
	if len(s.patterns) == 1 {
		match = s.patterns[0]
	}
	from, given := s.calls, 0
	s.keys = 0
	for cursor, done := uint64(0), false; !done; {
		var cmd *redis.ScanCmd
		start := s.m.now()
		err := s.m.do(ctx, func(ctx context.Context, client redis.UniversalClient) error {
			// TYPE is not set, since keys of other types cost less than another pass.
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
		keys, next := cmd.Val() // no keys if it was refused
		cursor, done = next, next == 0
		s.keys += len(keys)
		locks, _ := s.m.LockKeys(slices.DeleteFunc(keys, func(key string) bool { return !s.match.Any(key) }))
		if len(locks) > 0 {
			found(locks)
		}
		if given += len(locks); s.limits.Keys > 0 && given > 2*s.limits.Keys { // SCAN may repeat keys
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

// Keys returns how many keys the last pass returned; -1 if the server filtered them.
func (s *scanner) Keys() int {
	if len(s.patterns) == 1 {
		return -1
	}
	return s.keys
}

// count returns the COUNT of one SCAN. It may be large if the pauses are long, unless the budget
// sets it.
func (s *scanner) count() int {
	switch {
	case s.limits.Count > 0:
		return s.limits.Count
	case s.limits.Unlimited, s.rests(), s.long, s.rested >= longPause:
		return MostScanned
	default:
		return fewScanned
	}
}

func (s *scanner) rests() bool { return s.resting != nil && s.resting() }

// pause returns how long to rest after a SCAN, so that SCAN uses no more than its share of the
// server's time. It uses the fastest recent call: a slow server delays every call, but our
// own scheduling delays only some.
func (s *scanner) pause(took time.Duration) time.Duration {
	s.recent[s.calls%len(s.recent)] = took
	s.calls++
	if s.limits.Unlimited {
		return 0
	}
	quickest := slices.Min(s.recent[:min(s.calls, len(s.recent))])
	// Assume at least 1.4 µs a key and 40 µs a call, the lowest cost measured on a server,
	// matching included.
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
