package redissource

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// Config holds the masters, the patterns and the budgets of a source.
type Config struct {
	// Backend is the backend's name, the first part of every lock's ID.
	Backend string
	// Masters has the connection options of each independent master. Options for Sentinel make a
	// backend with one master; options for a Cluster, one with all its nodes. Time limits, retries
	// and pool sizes in them are replaced.
	Masters []*redis.UniversalOptions
	// Addrs are the displayed names of the masters; by default their first address.
	Addrs []string
	// Match are the SCAN patterns; empty means recipe.RedisPatterns, and the keys that Custom owns.
	Match []string
	// Custom are recipes that find more keys, unless Match names the keys.
	Custom []recipe.Custom
	// Only is the one key to read; empty to discover keys.
	Only string
	// Once makes Run return after one pass.
	Once bool
	// Tick is the time between two reads of the known keys, default 250 ms.
	Tick time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Timeout bounds every request, the dial included; default 1 s.
	Timeout time.Duration
	// Budget bounds what reading costs the servers.
	Budget Budget

	explicit bool // Match was given
}

// Budget bounds what reading costs a server. Zero fields have defaults.
type Budget struct {
	// Unlimited disables the pauses between SCANs.
	Unlimited bool
	// Duty is the share of a master's time that SCAN may take; default 0.05, for one pass 0.25.
	Duty float64
	// ScanCount is the number of keys of one SCAN, at most 1000, because other clients wait
	// meanwhile. The default is 50, and 1000 for one pass, without pauses, or after long ones.
	ScanCount int
	// ScanEvery is the minimum time between the starts of two passes over the keys; default 2 s.
	ScanEvery time.Duration
	// KeysPerTick is the number of keys in one pipeline; default 250.
	KeysPerTick int
	// Reads limits the pipelines a second to a master for the keys that changed, after a burst of
	// ten seconds' worth; default 50. It is halved while the master answers much more slowly than
	// at the start.
	Reads int
	// Polls limits the commands a second to a master that does not push, for known keys; default
	// 35. With 10 SCANs a second for new keys after the first pass, and requests for its status,
	// that makes at most 50. It is halved while the master answers much more slowly than at the
	// start.
	Polls int
	// ReadsPerKey limits the reads a second of one key, after a burst of as many; default 20. More
	// frequent changes are not all seen.
	ReadsPerKey int
	// Pushes limits the changed keys a second that a master may push, matching or not, after a
	// burst of two seconds' worth; default 5000. A master that pushes more is polled, and asked to
	// push again after a minute.
	Pushes int
	// Keys limits the keys to read, including those that are not locks, because a SCAN need not
	// end. The default is 500,000.
	Keys int
}

const (
	freeFor     = time.Minute            // how long a deleted lock stays listed as free
	foreignFor  = time.Minute            // how long a key that is not a lock is left alone at first
	statusEvery = 11 * time.Second       // between two status requests
	sweepEvery  = 10 * time.Second       // see auditSweep
	grace       = 100 * time.Millisecond // how long a changed key waits for a running read
	settle      = 5 * time.Millisecond   // how long it waits for the other masters to push it
	afterExpiry = 2 * time.Millisecond   // a key is read this long after its expiry

	// beforeExpiry is how long before its expiry a key is read again. While a server or this
	// process is paused, changes are not seen.
	beforeExpiry = 100 * time.Millisecond

	withPolls     = 15              // other commands a second to a polled master: 10 SCANs, its status, the audit
	topologyEvery = 2 * time.Second // between two reads of a cluster's topology
	burstSeconds  = 10              // the burst of a master's reads

	// While a master pushes, passes over its keys only look for changes that are never pushed.
	restingScanEvery = 30 * time.Second
)

func (c Config) withDefaults() Config {
	if c.explicit = len(c.Match) > 0; c.explicit {
		c.Custom = nil
	} else {
		c.Match = recipe.RedisPatterns()
		c.Custom = slices.DeleteFunc(slices.Clone(c.Custom), func(r recipe.Custom) bool { return r.Backend != "redis" })
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Tick, c.Timeout = positive(c.Tick, 250*time.Millisecond), positive(c.Timeout, time.Second)
	b := &c.Budget
	if b.Duty <= 0 || b.Duty > 1 {
		b.Duty = 0.05
		if c.Once {
			b.Duty = 0.25
		}
	}
	if c.Once || b.Unlimited {
		b.ScanCount = positive(b.ScanCount, node.MostScanned)
	}
	b.ScanCount = min(b.ScanCount, node.MostScanned)
	b.ScanEvery = positive(b.ScanEvery, 2*time.Second)
	b.KeysPerTick = positive(b.KeysPerTick, 250)
	b.Reads = positive(b.Reads, 50)
	b.Polls = positive(b.Polls, 35)
	b.ReadsPerKey = positive(b.ReadsPerKey, 20)
	b.Pushes = positive(b.Pushes, 5000)
	b.Keys = positive(b.Keys, 500_000)
	return c
}

// positive returns a value above zero, or else the default.
func positive[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// patterns returns SCAN patterns that match at least all wanted keys; matcher then decides on each
// key.
func (c Config) patterns() []string {
	all := slices.Clone(c.Match)
	for _, r := range c.Custom {
		all = append(all, r.KeyPatterns()...)
	}
	return all
}

func (c Config) matcher() node.Matcher { return node.NewMatcher(c.Match, c.Custom) }

func (c Config) scanLimits() node.ScanLimits {
	b := c.Budget
	return node.ScanLimits{Unlimited: b.Unlimited, Duty: b.Duty, Count: b.ScanCount, Keys: b.Keys}
}

// settings returns the settings of requests to the masters.
func (s *Source) settings() node.Settings {
	return node.Settings{Timeout: s.cfg.Timeout, Now: s.cfg.Now, Named: s.cfg.Only, Patient: s.cfg.Once}
}

// addr returns the name of master i for the screen.
func (c Config) addr(i int) string {
	if i < len(c.Addrs) {
		return c.Addrs[i]
	}
	if name := c.Masters[i].MasterName; name != "" {
		return name // until the sentinels report its address
	}
	if len(c.Masters[i].Addrs) > 0 {
		return c.Masters[i].Addrs[0]
	}
	return "127.0.0.1:6379"
}
