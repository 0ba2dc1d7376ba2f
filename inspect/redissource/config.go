// Package redissource is an inspect.Source that reads locks from Redis: it finds keys with SCAN and reads the known
// ones again with one pipeline a tick, on all masters of a backend at the same time. A master that is slow or gone
// never holds up the others. Nothing but reading commands can leave it: see ErrRefused.
package redissource

import (
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
)

// Config says what to read and how gently.
type Config struct {
	// Backend is its name, the first part of every lock's ID.
	Backend string
	// Masters has the connection options of each independent master. Options for Sentinel or Cluster are a backend of
	// one master. Time limits, retries and pool sizes in them are replaced.
	Masters []*redis.UniversalOptions
	// Addrs are the masters' names as they are shown; by default their first address.
	Addrs []string
	// Match are the SCAN patterns; empty means recipe.RedisPatterns.
	Match []string
	// Only is a key to read, and nothing else; empty to discover.
	Only string
	// Once makes Run return after one pass.
	Once bool
	// Tick is the time between two readings of the known keys, default 250 ms.
	Tick time.Duration
	// Timeout bounds every request, the dial included; default 1 s.
	Timeout time.Duration
	// Budget bounds what reading costs the servers.
	Budget Budget
}

// Budget bounds what reading costs a server. Zero fields have defaults.
type Budget struct {
	// Unlimited: no pauses between SCANs.
	Unlimited bool
	// Duty is the share of a master's time that SCAN may take; default 0.05, for one pass 0.25.
	Duty float64
	// ScanCount is how many keys one SCAN looks at; default and at most 1000.
	ScanCount int
	// ScanEvery is the least time between the starts of two passes over the keys; default 2 s.
	ScanEvery time.Duration
	// KeysPerTick is how many keys are read in one tick, those in focus first; default 250.
	KeysPerTick int
}

// How long a lock that is gone is still listed as free, how often a dead master is tried, how long a tick waits for a
// master before it goes on without it, how often servers are asked about themselves, and which share of a changed
// rate is worth telling.
const (
	freeFor     = time.Minute
	retryEvery  = time.Second
	grace       = 100 * time.Millisecond
	statusEvery = 10 * time.Second
	foreignFor  = time.Minute
)

func (c Config) withDefaults() Config {
	if len(c.Match) == 0 {
		c.Match = recipe.RedisPatterns()
	}
	if c.Tick <= 0 {
		c.Tick = 250 * time.Millisecond
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Second
	}
	b := &c.Budget
	if b.Duty <= 0 || b.Duty > 1 {
		b.Duty = 0.05
		if c.Once {
			b.Duty = 0.25
		}
	}
	if b.ScanCount <= 0 || b.ScanCount > 1000 {
		b.ScanCount = 1000
	}
	if b.ScanEvery <= 0 {
		b.ScanEvery = 2 * time.Second
	}
	if b.KeysPerTick <= 0 {
		b.KeysPerTick = 250
	}
	return c
}

// addr is how master i is shown.
func (c Config) addr(i int) string {
	if i < len(c.Addrs) {
		return c.Addrs[i]
	}
	if len(c.Masters[i].Addrs) > 0 {
		return c.Masters[i].Addrs[0]
	}
	return "127.0.0.1:6379"
}
