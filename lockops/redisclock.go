package lockops

import (
	"context"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// clockReading is a server's time, read between two times of our clock.
type clockReading struct {
	server        int64 // µs since 1970
	before, after time.Time
	dials         uint64 // connections made before it was read; a later one may lead to another server
}

// clockMaxAge bounds the age of a reading. Two clocks may differ by 2 ms for each second of it (see
// latest). An abandoned request can still take a lock that long after its limit.
const clockMaxAge = 10 * time.Second

// clockFor reads the clock of a key's server; in a Cluster each slot has its own. With brief, the limit
// includes connecting.
func (m *master) clockFor(key string, limit time.Duration, brief bool) (clockReading, error) {
	if c, ok := m.clockKnown(key); ok {
		return c, nil
	}
	ctx := m.session.ctx
	if brief {
		short, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = short
	}
	return m.readClock(ctx, key, limit)
}

func (m *master) clockKnown(key string) (clockReading, bool) {
	slot := m.clockSlot(key)
	dials := m.dials.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.clocks[slot]
	return c, ok && c.dials == dials && m.session.clock.since(c.before) < clockMaxAge
}

// near reports whether a key's server will probably answer at once: it answered in the last
// seconds, and the newest answer was quick.
func (m *master) near(key string) bool {
	_, known := m.clockKnown(key)
	return known && m.took() < nearLimit/10
}

func (m *master) clockSlot(key string) uint16 {
	if !m.cluster {
		return 0
	}
	return recipe.ClusterSlot(key)
}

// readClock asks the server that has a key for its time.
func (m *master) readClock(ctx context.Context, key string, limit time.Duration) (clockReading, error) {
	dials, before := m.dials.Load(), m.session.clock.now()
	r := m.reach(ctx, limit)
	var at int64
	var err error
	if m.cluster { // TIME has no key that would lead to the right server
		at, err = m.timeByKey(r, key)
	} else {
		m.requests.Add(1)
		var now time.Time
		now, err = m.client.Time(r).Result()
		r.done(err)
		at = now.UnixMicro()
	}
	if err != nil {
		return clockReading{}, m.failed(explain(err, clockScript, []string{key}))
	}
	return m.setClock(key, clockReading{at, before.Add(r.waited()), m.session.clock.now(), dials}), nil
}

func (m *master) setClock(key string, c clockReading) clockReading {
	slot := m.clockSlot(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clocks == nil {
		m.clocks = make(map[uint16]clockReading)
	}
	m.clocks[slot] = c
	return c
}

// latest converts a time of our clock to the server's clock, rounded up for clocks that run at
// different rates. The result is ahead by at most slack: the round trip of the reading, and two
// milliseconds for each second since.
func (c *clockReading) latest(at time.Time) (server int64, slack time.Duration) {
	drift := at.Sub(c.before) / 1000
	slack = c.after.Sub(c.before) + 2*drift
	return c.server + (at.Sub(c.before) + drift).Microseconds(), slack
}
