//go:build unix

package campaign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// simForced is the lock whose nodes the schedule deletes, as an operator does. docs/locks.md promises two
// things fewer for it: the holder hears of it, but not before the next is granted the lock; and a contender
// may be granted the lock by what its member, or an answer on its way, still shows, though others have had it
// since.
const simForced = "/sim/forced"

// How late that may be, after the leader has executed the deletion. Of what a session has sent since, no
// answer comes before the client hears of the deletion. So its lease, which ends ¾ of the timeout after it
// has sent the newest request that a quorum has committed, ends ¾ of the timeout after the deletion at the
// latest. A hold begins only with more than ¼ left.
const (
	reportedLate = simTimeout * 3 / 4
	grantedLate  = simTimeout / 2
)

// removal is the deletion of a contender's node by the schedule.
type removal struct {
	done    bool // there is an answer, the other two fields
	deleted bool // there was such a node
	at      time.Time
}

// late reports whether a node was deleted, at most within ago; present: the leader has it. A deletion of
// which there is no answer yet, and after which the leader has no such node, is of this instant: what it is
// answered takes no time.
func (r *removal) late(now time.Time, within time.Duration, present bool) bool {
	switch {
	case r == nil || present:
		return false
	case !r.done:
		return true
	}
	return r.deleted && now.Sub(r.at) <= within
}

// removed reports whether the schedule has deleted the node of a contender, at most within ago. Callers hold s.mu.
func (s *sim) removed(lock, name string, within time.Duration) bool {
	r := s.forced[name]
	if lock != simForced || r == nil {
		return false
	}
	return r.late(time.Now(), within, slices.Contains(s.ensemble.Children(simForced), name))
}

// force deletes half of the nodes of simForced.
func (s *sim) force(random *rand.Rand) {
	for _, name := range s.ensemble.Children(simForced) {
		if random.IntN(2) != 0 {
			continue
		}
		r := s.toRemove(name)
		if r == nil {
			continue
		}
		s.ensemble.Delete(simForced+"/"+name, func(deleted bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			r.done, r.deleted, r.at = true, deleted, time.Now()
			s.note(simForced, "%s was deleted: %v", name, deleted)
		})
	}
}

// toRemove begins the deletion of a node. It returns nil while an earlier one is unanswered or
// succeeded: another would find nothing, and must not replace the answer that excuses.
func (s *sim) toRemove(name string) *removal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.forced[name]; before != nil && (!before.done || before.deleted) {
		return nil
	}
	r := &removal{}
	s.forced[name] = r
	s.note(simForced, "%s is to be deleted", name)
	return r
}

// note keeps the events of a lock, or of all if it is empty. Callers hold s.mu.
func (s *sim) note(lock, format string, args ...any) {
	s.seen = append(s.seen, simNote{lock, fmt.Sprintf("%v ", time.Since(s.start)) + fmt.Sprintf(format, args...)})
}

// fail reports a violation, with the newest that was seen of the lock. Callers hold s.mu.
func (s *sim) fail(lock, format string, args ...any) {
	const newest = 40
	var lines []string
	for _, n := range s.seen {
		if n.lock == lock || n.lock == "" {
			lines = append(lines, n.text)
		}
	}
	s.t.Errorf(format+"\n%s", append(args, strings.Join(lines[max(0, len(lines)-newest):], "\n"))...)
}

// Only deletions of the node itself excuse an older token or a second holder, and only for so long.
func TestDeletionsThatExcuse(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name    string
		r       *removal
		present bool
		want    bool
	}{
		{"deleted just now", &removal{true, true, now}, false, true},
		{"deleted, the answer on its way", &removal{}, false, true},
		{"deleted a lease's rest ago", &removal{true, true, now.Add(-grantedLate)}, false, true},
		{"deleted longer ago", &removal{true, true, now.Add(-grantedLate - 1)}, false, false},
		{"not deleted", nil, false, false},
		{"to be deleted, and still there", &removal{}, true, false},
		{"gone by itself before", &removal{true, false, now}, false, false},
		{"refused, since nobody leads", &removal{true, false, now.Add(-1)}, false, false},
		{"there, whatever the answer says", &removal{true, true, now}, true, false},
	} {
		must.Equal(t, tt.r.late(now, grantedLate, tt.present), tt.want, tt.name, "excused")
	}
	s := &sim{forced: map[string]*removal{"n": {true, true, now}, "due": {}, "refused": {true, false, now}}}
	for name, want := range map[string]bool{"n": false, "due": false, "refused": true, "another": true} {
		must.Equal(t, s.toRemove(name) != nil, want, name, "to be deleted again")
	}
	must.True(t, !s.removed("/sim/curator", "n", never), "excused in a lock whose nodes nobody deletes")
}

// A waiter whose node was deleted is granted the lock by a member that lags, after another who has a newer
// token, and hears of it as soon as that member has caught up (docs/locks.md, operators).
func TestAWaiterRemovedBehindALagIsTold(t *testing.T) {
	onEnsemble(t, func(t *testing.T, e *zkserver.Ensemble, _ *network, session func(addr string) *lockops.ZKSession) {
		const lag = simTick / 2
		grants := make(chan *lockops.Hold, 3)
		var names []string
		for i, addr := range []string{member1, member2, member1} { // the second alone on a follower
			s := session(addr)
			defer s.Close()
			waits := make(chan struct{}, 1)
			m := lockops.NewZKMutex(s, simForced, lockops.OnWaiting(func(string) { waits <- struct{}{} }))
			go func() {
				h, err := m.Acquire(t.Context())
				must.Be(t, err, nil)
				grants <- h
			}()
			if i > 0 {
				<-waits
			} else {
				grants <- <-grants // it has it
			}
			for _, name := range e.Children(simForced) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		first := <-grants
		e.Lag(1, lag)
		start := time.Now()
		e.Delete(simForced+"/"+names[0], func(bool) {})
		time.Sleep(lag / 2) // by the clock that jumps: its member shows the first as gone and the second as there
		e.Delete(simForced+"/"+names[1], func(bool) {})
		newer, older := <-grants, <-grants
		a, _ := newer.Token()
		if b, _ := older.Token(); older.Name() != names[1] || a <= b {
			t.Fatalf("granted to %s (token %#x) and then to %s (token %#x)", newer.Name(), a, older.Name(), b)
		}
		<-older.Context().Done()
		if took := time.Since(start); took > 2*lag { // the first heartbeat, which its member answers behind the deletion
			t.Errorf("told after %v", took)
		}
		for _, h := range []*lockops.Hold{first, older} {
			must.Be(t, h.Release(t.Context()), lockops.ErrLost, "the release of", h.Name())
		}
		must.Be(t, newer.Release(t.Context()), nil)
	})
}
