package inspect

import (
	"slices"
	"strings"
	"time"
)

// BackendKind is the kind of lock service.
type BackendKind string

// The kinds of backends.
const (
	ZooKeeper BackendKind = "zookeeper"
	Redis     BackendKind = "redis"
)

// BackendState says how well a backend can be read.
type BackendState string

// The states of a backend. Degraded means that a part of it does not answer.
const (
	Connected BackendState = "connected"
	Degraded  BackendState = "degraded"
	Down      BackendState = "down"
)

// Mode is how we learn about changes on a backend.
type Mode string

// The modes of reading.
const (
	ModeWatch Mode = "watch" // ZooKeeper watches
	ModePush  Mode = "push"  // Redis invalidations
	ModePoll  Mode = "poll"  // known keys, once a tick
	ModeOnce  Mode = "once"  // a one-shot command
)

// Backend is the state of one place where locks live. Like Server, Lock and Contender it has many
// fields, each one fact for rules, screens and JSON.
type Backend struct {
	Name  string
	Kind  BackendKind
	State BackendState
	Mode  Mode
	Error string
	// Servers in the order of the target. A Redis Cluster lists all nodes; with Sentinel it is the
	// master.
	Servers []Server
	// Topology of a Redis backend's servers; empty for ZooKeeper.
	Topology Topology
	// Voters is the number of servers of a ZooKeeper ensemble, named in the target or not. It is 0 if that is
	// unknown, or if some have no vote or more than one.
	Voters int
	// Clock is the clock that dates entries on a ZooKeeper backend; zero for Redis.
	Clock LeaderClock
	// User is our name in the servers' access lists; empty if unknown, and for ZooKeeper.
	User string
	// Unseen lists refused and failed reads that no lock lists itself; they could hide some locks
	// or a finding.
	Unseen   []Unseen
	Findings []Finding
	// Cost is the load of our reading on its servers.
	Cost Cost
	// Reading describes how the backend is read: what one request fetches, and what reports
	// changes. It is empty if unknown.
	Reading string
	// FirstPass is true once everything has been read once; Scanned counts the directories or keys
	// so far.
	FirstPass bool
	Scanned   int
	Sought    Sought
	// Empty counts the unused lock directories, as of the last slow beat; zero for Redis and before
	// the first pass.
	Empty EmptyDirs
	// Reach says how to reach it from a command line, as configured.
	Reach Reach
	// Spread of its locks over its masters, counted by the Observer.
	Spread Spread
	// Outliers are clients with far more entries in locks than their peers, found by the Observer.
	Outliers []Outlier
	// Lost counts how often one or all of the servers stopped answering while we looked.
	Lost int
	// HeardAt is when, by our clock, one of its servers last answered us; zero if none did or it
	// was not reported. While the backend answers, the true time may be newer than this report.
	HeardAt time.Time
	// DisturbedAt is the latest time, by our clock, at which clients may have had to reconnect.
	// That is when a server started or stopped answering, another leader was elected, or we could
	// not look. A client that is missing from the servers' tables less than a session timeout later
	// may be reconnecting. It is zero if no such time is known.
	DisturbedAt time.Time
}

// Sought is what a source looks for on a backend. It is shown if nothing was found.
type Sought struct {
	// For holds the patterns of keys, the generic words first, or the roots. It is empty if
	// unknown, or for one named lock.
	For []string
	// Among is the number of keys or nodes that were checked, if Counted.
	Among   int
	Counted bool
	// Database of a Redis backend, and the other databases of its servers that hold keys.
	Database  int
	Elsewhere []Database
}

// Database of a Redis server.
type Database struct{ Index, Keys int }

// Topology of the servers of a Redis backend.
type Topology string

// The topologies of Redis.
const (
	Independent Topology = "independent" // independent masters; each has a vote on every key
	Sentinel    Topology = "sentinel"    // one master, named and replaced by sentinels
	Cluster     Topology = "cluster"     // each node has the keys of its slots
)

// Cost is our own load on a backend.
type Cost struct {
	// Requests counts those sent to all its servers since the start, without heartbeats.
	// PerSecond is the rate over the last few seconds.
	Requests  uint64
	PerSecond float64
	// Limit is the rate that our budget allows on all servers together, without short bursts; 0
	// means no limit. It is halved while Slowed: the servers answer much more slowly than at the
	// start.
	Limit  float64
	Slowed bool
	// Quickest is the shortest response time per read among our last requests, for the slowest
	// server. StartQuickest is the same for the first requests, but at least a millisecond. Both
	// are zero until enough were sent. We are Slowed while Quickest is more than three times
	// StartQuickest.
	Quickest, StartQuickest time.Duration
	// Items are the reads within multi-read requests, and Bytes the length of their answers, since
	// the start. Their rates cover the last few seconds. The limit is what our budget allows per
	// second; 0 means no limit or no multi-read requests.
	Items, Bytes                   uint64
	ItemsPerSecond, BytesPerSecond float64
	ItemLimit, ByteLimit           float64
	// Heartbeats counts the extra pings and syncs that we sent on connections where the server pushes.
	Heartbeats uint64
	// Watches set by us on the servers now.
	Watches int
	// Duty is the largest share of a Redis master's time that we may spend on looking for keys; 0
	// for ZooKeeper.
	Duty float64
}

// ServerState grades the answers of a server.
type ServerState string

// The states of a server.
const (
	ServerUp      ServerState = "up"
	ServerDown    ServerState = "down"
	ServerUnknown ServerState = "unknown"
)

// Server is one ZooKeeper server or Redis master.
type Server struct {
	Addr  string
	State ServerState
	// Role is leader, follower, observer, standalone, read-only (without quorum), master, replica,
	// active-replica (KeyDB), or empty. A replica has no vote.
	Role string
	// Cluster is set for a node of a Redis Cluster, which has only the keys of its slots.
	Cluster bool
	// Version of its software; empty if unknown.
	Version string
	// Requests and Heartbeats that we sent to it, as in Cost, and the recent rate of requests.
	// They are zero if counted only for the whole backend.
	Requests, Heartbeats uint64
	PerSecond            float64
	// Latency of the last request; negative when unknown.
	Latency time.Duration
	// ClockOffset is the server's clock minus ours, meaningful when ClockKnown. ClockWithin is its
	// tolerance, half the round trip of the request; zero if unknown.
	ClockOffset, ClockWithin time.Duration
	ClockKnown               bool
	// StartedAt is the start of the server process, by our clock. For a ZooKeeper server it is the
	// start of its role, which every election restarts. Zero if unknown.
	StartedAt time.Time
	// Zxid is a ZooKeeper server's newest transaction, with the election's number in its upper
	// half; zero if unknown. Lagging means that it lacks what the leader had a second ago.
	Zxid    uint64
	Lagging bool
	// Lag is the least time for which the leader has had a transaction that this server still
	// lacked when last asked. It is zero if none was lacking, or if unknown. A one-shot look sees
	// at most a second of it.
	Lag time.Duration
	// NodesApart is how many more znodes it has than the leader at the same transaction; negative
	// if fewer. Two looks without a write between them must agree. Zero means equal or unknown.
	NodesApart int
	// LeadsFor is the time between the first and the newest consecutive answers in which a
	// ZooKeeper server said that it leads in the same election. It is zero if it said so once or
	// never.
	LeadsFor time.Duration
	// RunID changes when a Redis server restarts; empty if unknown. Several means that connections
	// to its address reach different servers in turn.
	RunID   string
	Several bool
	// MaxMemory in bytes, 0 if unlimited or unknown, and the eviction policy of a full Redis server;
	// empty if unknown.
	MaxMemory      int64
	EvictionPolicy string
	// Persistence of a Redis server over a restart: "aof" or "rdb"; empty if unknown. INFO reports
	// neither the fsync policy nor whether snapshots are configured, only whether one was made.
	Persistence string
	// Replicas connected to a Redis master. NeedsReplicas means that it accepts writes only while
	// enough of them keep up (min-replicas-to-write).
	Replicas      int
	NeedsReplicas bool
	// WritesRefused is the reason why a Redis master refuses writes; empty if it accepts them, or
	// does not say.
	WritesRefused WriteRefusal
	Error         string
	// Fault is why it is ServerDown; empty if it does not answer, or is up.
	Fault ServerFault
}

// ServerFault is why a server counts as ServerDown although it answered, or may serve others.
type ServerFault string

const (
	// FaultOurs means that our login, certificate or network path failed. It may serve other
	// clients.
	FaultOurs ServerFault = "ours"
	// FaultNoQuorum means that a ZooKeeper server runs, but is not part of a quorum.
	FaultNoQuorum ServerFault = "no-quorum"
)

// WriteRefusal is why a Redis master answers reads but refuses writes.
type WriteRefusal string

// The reasons for a refusal, as tried on Redis 7. In all cases but the last it refuses DEL,
// PEXPIRE and scripts as well as SET. In the last it refuses only commands that need memory, such
// as SET and HINCRBY.
const (
	// its last snapshot failed, and stop-writes-on-bgsave-error is on (MISCONF)
	RefusedForSave     WriteRefusal = "save"
	RefusedForAOF      WriteRefusal = "aof"      // its append-only file cannot be written (MISCONF)
	RefusedForReplicas WriteRefusal = "replicas" // min-replicas-to-write is set and no replica keeps up (NOREPLICAS)
	RefusedForMemory   WriteRefusal = "memory"   // it is over maxmemory and has nothing to evict (OOM)
)

// EmptyDirs are directories in ZooKeeper that once had children and have none now.
type EmptyDirs struct {
	Count int
	// Oldest is when the oldest of them was created, by the servers' clock.
	Oldest time.Time
	// Under is the directory with the most of them, UnderCount.
	Under      string
	UnderCount int
}

// Session of a client, as reported by a ZooKeeper server.
type Session struct {
	ID             int64
	Client, Server string
	Timeout        time.Duration
	// LastContact is when, by our clock, the server last heard from the client. Established is by
	// the server's clock. Both are zero if unknown.
	LastContact, Established time.Time
}

// Evicts reports whether a Redis server deletes keys when its memory is full: all keys, or those
// with a time to live.
func (s *Server) Evicts() bool {
	return s.MaxMemory > 0 &&
		(strings.HasPrefix(s.EvictionPolicy, "allkeys-") || strings.HasPrefix(s.EvictionPolicy, "volatile-"))
}

// MayEvict reports whether it may evict the key of a vote.
func (s *Server) MayEvict(v *Vote) bool {
	return s.Evicts() && (v.Present || v.Held != nil) &&
		!(v.NoExpiry && strings.HasPrefix(s.EvictionPolicy, "volatile-"))
}

// LeaderClock is the clock that dates the entries on a ZooKeeper backend: its leader's or only
// server's. The zero value, as for Redis, leaves times unchanged.
type LeaderClock struct {
	// Offset is that clock minus ours, accurate to Within; meaningful when Known. Otherwise it is
	// 0, or the minimum by which that clock is ahead of ours.
	Offset, Within time.Duration
	Known          bool
	// From is the first transaction that it is known to have dated. Earlier ones were dated by another
	// leader, or by this one before its clock stepped.
	From int64
	// Oldest and Newest are the earliest and latest known instants by that clock; zero if none are
	// known.
	Oldest, Newest time.Time
}

func (k *LeaderClock) isZero() bool { return !k.Known && k.Newest.IsZero() && k.From == 0 }

// Dates reports whether a transaction can be dated by our clock, because the clock that dated it
// is known.
func (b *Backend) Dates(czxid int64) bool {
	return b == nil || b.Clock.isZero() || b.Clock.Known && czxid >= b.Clock.From
}

// AgeAtLeast is the minimum age of a transaction that the backend dated with this instant. If its
// clock is not known, the age is measured against later instants by the same clock.
func (b *Backend) AgeAtLeast(instant time.Time, czxid int64, now time.Time) time.Duration {
	if b == nil || b.Clock.isZero() {
		return max(0, now.Add(b.ClockOffset()).Sub(instant))
	}
	k := &b.Clock
	if czxid < k.From { // it is older than everything that this clock has dated
		if instant = k.Oldest; instant.IsZero() {
			return 0
		}
	}
	least := k.Newest.Sub(instant)
	if k.Known {
		least = max(least, now.Add(k.Offset-k.Within).Sub(instant))
	}
	return max(0, least)
}

// ClockOffset is the backend's clock minus ours. For ZooKeeper it is the leader's clock, else that
// of the first server with a known clock. It is 0 if unknown, or the minimum by which the clock
// is ahead.
func (b *Backend) ClockOffset() time.Duration {
	if b == nil {
		return 0
	}
	if !b.Clock.isZero() {
		return b.Clock.Offset
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.ClockKnown {
			return s.ClockOffset
		}
	}
	return 0
}

// clockOf is the clock of one of its servers minus ours. It returns the backend's and false if
// that is unknown.
func (b *Backend) clockOf(server string) (time.Duration, bool) {
	if b == nil {
		return 0, false
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.Addr == server && s.ClockKnown {
			return s.ClockOffset, true
		}
	}
	return b.ClockOffset(), len(b.Servers) == 1 && b.ClockKnown()
}

// ClockKnown reports whether ClockOffset is known, rather than assumed to be 0.
func (b *Backend) ClockKnown() bool {
	if b == nil || !b.Clock.isZero() {
		return b != nil && b.Clock.Known
	}
	return slices.ContainsFunc(b.Servers, func(s Server) bool { return s.ClockKnown })
}
