//go:build unix

package campaign

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

var (
	simSeeds = flag.Int("sim.seeds", 8, "how many schedules to run in one process")
	simFirst = flag.Uint64("sim.seed", 1, "seed of the first schedule")
)

// TestSchedules runs the ZooKeeper locks on an ensemble inside the process, in simulated time. Each
// seed is a one-minute schedule of cuts, lags, lost answers, expired sessions and deletions. The
// same seed draws the same faults, but the runtime chooses the order of events at the same instant.
// A failed schedule may pass hundreds of times before it fails again, so its error lists the events
// of the lock.
func TestSchedules(t *testing.T) {
	start := time.Now()
	all := counts{}
	for i := range *simSeeds {
		seed := *simFirst + uint64(i)
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { all.add(simulate(t, seed, true)) })
		})
		if !ok {
			break
		}
	}
	fmt.Printf("schedules: seeds %d to %d: %v in %v\n",
		*simFirst, *simFirst+uint64(*simSeeds)-1, all, time.Since(start).Round(time.Millisecond))
	must.True(t, all["grants"] >= 100**simSeeds && all["losses"] > 0, "the test shows little:", all)
}

// Holders that ignore the end of their lease are detected.
func TestControlSchedules(t *testing.T) {
	for seed := range uint64(20) {
		var seen counts
		synctest.Test(t, func(t *testing.T) { seen = simulate(t, seed, false) })
		if seen["overlaps"] > 0 {
			fmt.Printf("control %s with seed %d: %v\n", t.Name(), seed, seen)
			return
		}
	}
	t.Error("no overlong hold was detected")
}

const (
	simTick    = 200 * time.Millisecond
	simTimeout = 2 * time.Second
	simLength  = time.Minute
	simClients = 4
)

var simMembers = []string{member1, member2, member3}

// sim is one schedule.
type sim struct {
	t        *testing.T
	net      *network
	ensemble *zkserver.Ensemble
	random   *rand.Rand
	reports  bool // holders stop when their lease ends

	mu      sync.Mutex
	counts  counts
	holders map[string]map[*simHold]bool
	tokens  map[string]uint64
	forced  map[string]*removal // contenders of simForced removed by the schedule, by node name
	start   time.Time
	seen    []simNote
}

type simHold struct {
	hold   *lockops.Hold
	shared bool
	who    string
}

// simNote is an observation about one lock, or about all.
type simNote struct{ lock, text string }

// simulate runs a schedule. Without reports, holders ignore losses until they release the lock.
func simulate(t *testing.T, seed uint64, reports bool) counts {
	s := &sim{
		t: t, net: newNetwork(), random: rand.New(rand.NewPCG(seed, 3)), reports: reports, counts: counts{},
		holders: map[string]map[*simHold]bool{}, forced: map[string]*removal{}, tokens: map[string]uint64{}, start: time.Now(),
	}
	s.ensemble = s.net.startEnsemble(t)
	ctx, cancel := context.WithTimeout(t.Context(), simLength)
	defer cancel()
	var work sync.WaitGroup
	for i := range simClients {
		random := rand.New(rand.NewPCG(seed, uint64(100+i)))
		work.Go(func() { s.client(ctx, i, random) })
	}
	s.rage(ctx)
	s.ensemble.Heal()
	for _, addr := range simMembers {
		s.net.resume(addr)
	}
	work.Wait()
	s.nothingLeft()
	s.ensemble.Close()
	return s.counts
}

// rage injects faults until ctx ends.
func (s *sim) rage(ctx context.Context) {
	pause := func(longest time.Duration) {
		timer := time.NewTimer(time.Duration(s.random.Int64N(int64(longest))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		pause(time.Second)
		follower, addr, fault := 1+s.random.IntN(2), simMembers[s.random.IntN(3)], s.random.IntN(8)
		s.mu.Lock()
		s.counts["faults"]++
		s.note("", "fault %d: follower %d, %s", fault, follower, addr)
		s.mu.Unlock()
		switch fault {
		case 0, 1:
			toLeader := s.random.IntN(3) != 0
			s.ensemble.Cut(follower, toLeader, !toLeader || s.random.IntN(2) == 0)
		case 2: // cut the leader off from all others
			s.ensemble.Cut(1, true, true)
			s.ensemble.Cut(2, true, true)
		case 3:
			s.ensemble.Lag(follower, time.Duration(s.random.Int64N(int64(simTick))))
		case 4:
			s.net.stall(addr)
		case 5:
			if s.random.IntN(2) == 0 {
				s.net.loseAnswer(addr)
			} else {
				s.net.cut(addr)
			}
		case 6: // only in simForced
			s.force(rand.New(rand.NewPCG(s.random.Uint64(), 6)))
			continue
		case 7:
			for _, a := range simMembers {
				s.net.stall(a)
			}
		}
		pause(3 * simTimeout / 2)
		s.ensemble.Heal()
		for _, a := range simMembers {
			s.net.resume(a)
		}
	}
}

// client plays a process that uses one lock after another in its session.
func (s *sim) client(ctx context.Context, number int, random *rand.Rand) {
	for ctx.Err() == nil {
		session, err := lockops.NewZKSession(ctx, simMembers, lockops.WithSessionTimeout(simTimeout), lockops.WithDialContext(s.net.dial))
		if err != nil {
			must.True(s.t, ctx.Err() != nil, "client", number, err)
			return
		}
		var goroutines sync.WaitGroup
		working, cancel := context.WithTimeout(ctx, time.Duration(1+random.IntN(15))*time.Second)
		for i := range 2 {
			r := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
			goroutines.Go(func() {
				for working.Err() == nil {
					s.attempt(working, session, fmt.Sprintf("client %d.%d", number, i), r)
				}
			})
		}
		if random.IntN(3) > 0 {
			goroutines.Wait()
		} else {
			<-working.Done()
		}
		cancel()
		session.Close()
		goroutines.Wait()
	}
}

// attempt acquires a lock, holds it for a while and releases it.
func (s *sim) attempt(ctx context.Context, session *lockops.ZKSession, who string, random *rand.Rand) {
	recipes := []string{"curator", "kazoo", "go-zookeeper", "sequential"}
	var name string
	var locker lockops.Locker
	shared := false
	switch i := random.IntN(6); i {
	case 4:
		rw := lockops.NewZKRWMutex(session, "/sim/rw")
		name, locker = "/sim/rw", rw.Write()
		if shared = random.IntN(2) == 0; shared {
			locker = rw.Read()
		}
	case 5:
		name = simForced
		locker = lockops.NewZKMutex(session, name)
	default:
		name = "/sim/" + recipes[i]
		locker = lockops.NewZKMutex(session, name, lockops.WithRecipe(recipes[i]))
	}
	wait := 5 * time.Second
	if random.IntN(4) == 0 {
		wait = time.Duration(random.Int64N(int64(simTick)))
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	hold, err := locker.Acquire(waiting)
	if err != nil {
		expected := []error{context.DeadlineExceeded, context.Canceled, lockops.ErrClosed}
		fine := slices.ContainsFunc(expected, func(one error) bool { return errors.Is(err, one) })
		must.True(s.t, fine, who, name, err)
		return
	}
	h := &simHold{hold, shared, who}
	s.granted(name, h)
	for d := random.IntN(20); d >= 0; d-- {
		over := hold.Context().Done()
		if !s.reports {
			over = nil
		}
		timer := time.NewTimer(time.Duration(random.Int64N(int64(simTick))))
		select {
		case <-timer.C:
		case <-over:
			d = 0
		}
		timer.Stop()
	}
	s.left(name, h)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	_ = hold.Release(releasing) // a loss shows in the hold's context
}

// granted checks that every earlier holder that h excludes learned of its loss before this grant.
func (s *sim) granted(name string, h *simHold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["grants"]++
	if s.holders[name] == nil {
		s.holders[name] = map[*simHold]bool{}
	}
	token, ordered := h.hold.Token()
	s.note(name, "%s was granted the lock (shared %v, %s, token %#x)", h.who, h.shared, h.hold.Name(), token)
	late := s.removed(name, h.hold.Name(), grantedLate)
	for other := range s.holders[name] {
		relies := !s.reports || other.hold.Context().Err() == nil
		if relies && !(h.shared && other.shared) && !late && !s.removed(name, other.hold.Name(), reportedLate) {
			s.counts["overlaps"]++
			if s.reports {
				deadline, _ := other.hold.Deadline()
				s.fail(name, "%s was granted to %s (shared %v, %s) while %s (shared %v, %s) holds it, for another %v", name, h.who, h.shared, h.hold.Name(),
					other.who, other.shared, other.hold.Name(), time.Until(deadline))
			}
		}
	}
	s.holders[name][h] = true
	if ordered && !h.shared {
		if token <= s.tokens[name] && !late {
			s.fail(name, "%s was granted to %s with token %#x after %#x", name, h.who, token, s.tokens[name])
		}
		s.tokens[name] = max(s.tokens[name], token)
	}
}

func (s *sim) left(name string, h *simHold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := context.Cause(h.hold.Context())
	if errors.Is(cause, lockops.ErrLost) {
		s.counts["losses"]++
	}
	delete(s.holders[name], h)
	s.note(name, "%s left it (%s, %v)", h.who, h.hold.Name(), cause)
	if s.reports && cause == nil && s.removed(name, h.hold.Name(), never) && !s.removed(name, h.hold.Name(), reportedLate) {
		s.fail(name, "%s: %s released the lock without knowing of the deletion of %s", name, h.who, h.hold.Name())
	}
}

// nothingLeft waits for the end of all sessions, and checks that they left nothing behind.
func (s *sim) nothingLeft() {
	time.Sleep(3 * simTimeout) // simulated
	var left []string
	for _, lock := range s.ensemble.Children("/sim") {
		for _, name := range s.ensemble.Children("/sim/" + lock) {
			left = append(left, lock+"/"+name)
		}
	}
	must.Same(s.t, left, nil, "nodes left behind")
	must.Same(s.t, s.ensemble.Sessions(), nil, "sessions left behind")
}
