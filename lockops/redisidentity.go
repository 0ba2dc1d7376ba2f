package lockops

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// ErrSameServer reports that two of a Redlock's masters are one server, which would vote twice.
var ErrSameServer = errors.New("is the same server as another of the masters")

// ErrRestarted reports a master that was started within the lock's TTL, after the others. It may
// have forgotten a lock that is still held.
var ErrRestarted = errors.New("master was restarted within the TTL, and does not vote yet")

// identity is a master's run id and start, from INFO server. A server that hides them (ACL,
// proxies, imitations) is at least shown to be distinct from the other masters; its restarts go
// unnoticed.
type identity struct {
	known bool
	runID string // empty if hidden
	// started is the latest time at which it can have started: INFO reports whole seconds.
	started time.Time
	dials   uint64 // connections made before it was read
	asked   time.Time
}

// identities distinguish a session's masters.
type identities struct {
	mu    sync.Mutex
	owner map[string]*master // by run id
}

// lentIdentity is how long an adopted client's identity is good for a vote. We do not see that
// client reconnect, so we ask again after each vote.
const lentIdentity = time.Second

// identify reads a master's identity, unless it was read on the newest connection. On an adopted
// client, the reading must also not be older than since.
func (m *master) identify(since time.Time, limit time.Duration) error {
	s := m.session
	if len(s.masters) == 1 || s.opts.unchecked {
		return nil
	}
	dials := m.dials.Load()
	m.mu.Lock()
	before := m.identity
	m.mu.Unlock()
	if before.known && before.dials == dials && (!s.lent || !before.asked.Before(since)) {
		return nil
	}
	id, err := m.askIdentity(limit)
	if err != nil {
		return m.failed(err)
	}
	id.dials = dials
	if id.runID == "" {
		if err := m.probe(limit); err != nil {
			return err
		}
	} else if other := s.identities.claim(id.runID, before.runID, m); other != nil {
		return m.failed(fmt.Errorf("%w, %s (run id %s)", ErrSameServer, other.name, id.runID))
	}
	if before.runID == id.runID && before.started.Before(id.started) {
		id.started = before.started
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.identity.asked.After(id.asked) { // ours is newer
		return nil
	}
	m.replaced = m.replaced || before.runID != "" && before.runID != id.runID
	m.identity = id
	return nil
}

// askIdentity reads INFO server. A server that refuses it hides its identity.
func (m *master) askIdentity(limit time.Duration) (identity, error) {
	id := identity{known: true, asked: m.session.clock.now()}
	m.requests.Add(1)
	r := m.reach(m.session.ctx, limit)
	info, err := m.client.Info(r, "server").Result()
	r.done(err)
	if err != nil && (!answered(err) || transient(err)) {
		return id, err
	}
	now := m.session.clock.now()
	if seconds, failed := strconv.Atoi(infoField(info, "uptime_in_seconds")); err == nil && failed == nil {
		id.runID, id.started = infoField(info, "run_id"), now.Add(-time.Duration(seconds)*time.Second)
	}
	return id, nil
}

// probeTTL is how long a probe's key lasts.
const probeTTL = 10 * time.Second

// probe sets one of the session's keys on a master. A master that already has another master's key
// is the same server.
func (m *master) probe(limit time.Duration) error {
	keys := []string{recipe.ProbePrefix + m.session.id}
	m.mu.Lock()
	probed := m.identity.known
	m.mu.Unlock()
	if probed {
		return nil
	}
	now, err := m.clockFor(keys[0], limit, false)
	if err != nil {
		return err
	}
	last, _ := now.latest(m.session.clock.now().Add(limit))
	number := slices.Index(m.session.masters, m)
	r := m.reach(m.session.ctx, limit)
	reply, err := m.eval(r, acquireScript, keys, number, probeTTL.Milliseconds(), last, notInQueue)
	switch {
	case err != nil:
		return m.failed(explain(err, acquireScript, keys))
	case !strings.HasPrefix(reply, "1 "):
		return m.failed(ErrSameServer)
	}
	return nil
}

// claim replaces a master's run id. other is the master that already has the new one.
func (i *identities) claim(runID, before string, m *master) (other *master) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.owner == nil {
		i.owner = make(map[string]*master)
	}
	if o := i.owner[runID]; o != nil && o != m {
		return o
	}
	if before != runID && i.owner[before] == m {
		delete(i.owner, before)
	}
	i.owner[runID] = m
	return nil
}

// infoField returns a field of an INFO reply.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// mayVote returns ErrRestarted for a master that was restarted within the lock's TTL. Such a master
// had another run id before, or is younger than the TTL while a majority of the masters is not.
func (m *master) mayVote(ttl time.Duration) error {
	s := m.session
	if len(s.masters) == 1 || s.opts.unchecked {
		return nil
	}
	m.mu.Lock()
	started, replaced := m.identity.started, m.replaced
	m.mu.Unlock()
	until := started.Add(ttl + time.Second)
	if started.IsZero() || s.clock.now().After(until) || !replaced && s.young(ttl) {
		return nil
	}
	m.mu.Lock()
	first := m.reported != m.identity.runID
	m.reported = m.identity.runID
	m.mu.Unlock()
	if first && s.opts.onRestart != nil {
		s.opts.onRestart(m.name, until)
	}
	return m.failed(fmt.Errorf("%w, until %s", ErrRestarted, until.Format(time.TimeOnly)))
}

// young reports whether no majority of the masters is known to be older than a TTL, as when all
// were started together.
func (s *RedisSession) young(ttl time.Duration) bool {
	old := 0
	for _, m := range s.masters {
		m.mu.Lock()
		if m.identity.runID != "" && s.clock.since(m.identity.started) > ttl+time.Second {
			old++
		}
		m.mu.Unlock()
	}
	return old < s.quorum()
}
