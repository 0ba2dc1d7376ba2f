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

// simForced is the lock whose nodes the schedule deletes, as an operator does. docs/locks.md
// promises less for it. The holder notices the deletion, but perhaps after the next grant. A
// contender may also be granted the lock because its member lags or an answer was delayed, even if
// others have held the lock since.
const simForced = "/sim/forced"

// The maximum delays, counted from the deletion by the leader, of the report to the holder and of a
// late grant. A client learns of the deletion before any answer to requests that it sent later. Its
// lease ends ¾ of the timeout after it sent the newest committed request, so at the latest ¾ of the
// timeout after the deletion. A hold begins only with more than ¼ left.
const (
	reportedLate = simTimeout * 3 / 4
	grantedLate  = simTimeout / 2
)

// removal is the deletion of a contender's node by the schedule.
type removal struct {
	done    bool // the other two fields have the answer
	deleted bool // the node existed
	at      time.Time
}

// late reports whether a node was deleted within the given time before now. present is set if the
// leader still has the node. If it does not, an unanswered deletion counts as done now.
func (r *removal) late(now time.Time, within time.Duration, present bool) bool {
	switch {
	case r == nil || present:
		return false
	case !r.done:
		return true
	}
	return r.deleted && now.Sub(r.at) <= within
}

// removed reports whether the schedule recently deleted a contender's node. Callers hold s.mu.
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

// toRemove begins the deletion of a node. It returns nil if an earlier one is unanswered or
// succeeded, since another would fail and overwrite the answer that excuses a violation.
func (s *sim) toRemove(name string) *removal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.forced[name]; before != nil && (!before.done || before.deleted) {
		return nil
	}
	r := &removal{}
	s.forced[name] = r
	s.note(simForced, "%s will be deleted", name)
	return r
}

// note records an observation about a lock, or about all if lock is empty. Callers hold s.mu.
func (s *sim) note(lock, format string, args ...any) {
	s.seen = append(s.seen, simNote{lock, fmt.Sprintf("%v ", time.Since(s.start)) + fmt.Sprintf(format, args...)})
}

// fail reports a violation with the newest observations about the lock. Callers hold s.mu.
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

// Only deletions of the node itself excuse an older token or a second holder, and only for a while.
func TestOnlyRecentDeletionsExcuse(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name    string
		r       *removal
		present bool
		want    bool
	}{
		{"deleted just now", &removal{true, true, now}, false, true},
		{"deleted, the answer on its way", &removal{}, false, true},
		{"deleted grantedLate ago", &removal{true, true, now.Add(-grantedLate)}, false, true},
		{"deleted longer ago", &removal{true, true, now.Add(-grantedLate - 1)}, false, false},
		{"not deleted", nil, false, false},
		{"to be deleted, and still there", &removal{}, true, false},
		{"already gone", &removal{true, false, now}, false, false},
		{"refused for lack of a leader", &removal{true, false, now.Add(-1)}, false, false},
		{"still there despite the answer", &removal{true, true, now}, true, false},
	} {
		must.Equal(t, tt.r.late(now, grantedLate, tt.present), tt.want, tt.name, "excused")
	}
	s := &sim{forced: map[string]*removal{"n": {true, true, now}, "due": {}, "refused": {true, false, now}}}
	for name, want := range map[string]bool{"n": false, "due": false, "refused": true, "another": true} {
		must.Equal(t, s.toRemove(name) != nil, want, name, "to be deleted again")
	}
	must.True(t, !s.removed("/sim/curator", "n", never), "excused in a lock without deletions")
}

// A lagging member grants the lock to a waiter whose node was deleted, after a grant with a newer
// token. The waiter notices the loss once the member has caught up (docs/locks.md, operators).
func TestWaiterRemovedDuringLagIsNotified(t *testing.T) {
	onFakeClock(t, func(t *testing.T, e *zkserver.Ensemble, _ *network, session func(addr string) *lockops.ZKSession) {
		const lag = simTick / 2
		grants := make(chan *lockops.Hold, 3)
		var names []string
		for i, addr := range []string{member1, member2, member1} { // only the second is on a follower
			waits := make(chan struct{}, 1)
			m := lockops.NewZKMutex(session(addr), simForced, lockops.OnWaiting(func(string) { waits <- struct{}{} }))
			go func() {
				h, err := m.Acquire(t.Context())
				must.Be(t, err, nil)
				grants <- h
			}()
			if i > 0 {
				<-waits
			} else {
				grants <- <-grants // once it is granted
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
		time.Sleep(lag / 2) // its member shows the first node as gone and the second as present
		e.Delete(simForced+"/"+names[1], func(bool) {})
		newer, older := <-grants, <-grants
		a, _ := newer.Token()
		b, _ := older.Token()
		must.Equal(t, older.Name(), names[1], "granted last")
		must.True(t, a > b, "granted with token", a, "and then with", b)
		<-older.Context().Done()
		took := time.Since(start) // its member answers the first heartbeat after the deletion
		must.True(t, took <= 2*lag, "noticed after", took)
		for _, h := range []*lockops.Hold{first, older} {
			must.Be(t, h.Release(t.Context()), lockops.ErrLost, "the release of", h.Name())
		}
		must.Be(t, newer.Release(t.Context()), nil)
	})
}
