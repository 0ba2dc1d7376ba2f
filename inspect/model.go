package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockscope/inspect/recipe"
)

// BackendKind is the kind of service that keeps the locks.
type BackendKind string

// The kinds of backends.
const (
	ZooKeeper BackendKind = "zookeeper"
	Redis     BackendKind = "redis"
)

// Kind of a lock.
type Kind string

// The kinds of locks, as in the JSON.
const (
	KindMutex     Kind = "mutex"
	KindRW        Kind = "rw"
	KindSemaphore Kind = "semaphore"
	KindElection  Kind = "election"
	KindRedlock   Kind = "redlock"
	KindUnknown   Kind = "unknown"
)

// State of a lock as a whole.
type State string

// The states of a lock; Split and Minority only with several Redis masters (see KeyLock).
const (
	StateFree      State = "free"
	StateHeld      State = "held"
	StateContended State = "contended"
	StateSplit     State = "split"
	StateMinority  State = "minority"
	StateUnknown   State = "unknown"
)

// Lock is one resource name on one backend. A published *Lock is never changed; a newer one replaces it.
type Lock struct {
	ID   ID
	Kind Kind
	// KindConfidence grades a kind that the recipe does not give: an election. Empty: as sure as the recipe.
	KindConfidence recipe.Confidence
	Recipe         string
	Confidence     recipe.Confidence
	State          State
	// Limit is the number of permits of a semaphore; 0 where it is none or the number is not known.
	Limit int
	// Aliens are children of a lock directory that no recipe takes for a contender, those of a semaphore's part with
	// its place before their name; the first few of them.
	Aliens []Untrusted
	// Holders, and Waiters in queue order.
	Holders, Waiters []Contender
	// WaitersAtLeast counts the client instances that are known to wait although their entries cannot be seen, from the
	// subscribers of the channel on which a Redis library wakes its waiters.
	WaitersAtLeast int
	// Masters has a vote for each master of a Redis backend; empty for ZooKeeper.
	Masters []Vote
	// Quorum and Margin (votes - quorum) are meaningful when Masters is not empty.
	Quorum, Margin int
	// ValidUntil is the end, by our clock, of a Redis holder's trust in its lock; zero when nobody holds it, the lock
	// never expires or that is unknown.
	ValidUntil time.Time
	// ReadAt is the time, by our clock, of the lock's newest reading. See AsOf for its age.
	ReadAt time.Time
	// Polled: nothing reports its changes, so that what is known of it is as old as ReadAt.
	Polled bool
	// UnseenSince is the time, by our clock, at which the lock was last seen as it was before this version, where the
	// change was not reported; zero where it was.
	UnseenSince time.Time
	// Unseen lists the refused and failed reads, whose aspects are unknown.
	Unseen   []Unseen
	Findings []Finding
	// ExpectedHold is for how long it is usually held at most, by the configuration (Expectation); 0: not said. See UsualHold.
	ExpectedHold time.Duration

	tabled   map[Untrusted]tabled // of its contenders, by name; see tabled
	permits  int                  // how many of Curator's deprecated semaphore were taken while somebody waited; see carryPermits
	reported int                  // how many of Findings, at its beginning, are the source's
	history  *History             // nil before something happened
	ttlSeen  time.Duration        // the longest time to live that was seen on it, also before something happened
}

// Contention is the number of contenders of a lock, holders and waiters.
func (l *Lock) Contention() int { return len(l.Holders) + len(l.Waiters) }

// Contender finds a contender by its name on the server.
func (l *Lock) Contender(name Untrusted) (Contender, bool) {
	for _, list := range [][]Contender{l.Holders, l.Waiters} {
		for _, c := range list {
			if c.Name == name {
				return c, true
			}
		}
	}
	return Contender{}, false
}

// ContenderState distinguishes holders from waiters. A byte in place of its word: snapshots hold a million of them.
type ContenderState uint8

// The states of a contender. Pending: a semaphore lease that exists but is not granted. The zero value is none.
const (
	Holding ContenderState = iota + 1
	Waiting
	Pending
)

var contenderStates = [...]string{Holding: "holding", Waiting: "waiting", Pending: "pending"}

// String is the word of the JSON; empty for none.
func (s ContenderState) String() string {
	if int(s) < len(contenderStates) {
		return contenderStates[s]
	}
	return "ContenderState(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText implements encoding.TextMarshaler by the word of the JSON.
func (s ContenderState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; its error names a word that is no state.
func (s *ContenderState) UnmarshalText(text []byte) error {
	i := slices.Index(contenderStates[:], string(text))
	if i < 0 {
		return fmt.Errorf("%s is no state of a contender", Escape(string(text)))
	}
	*s = ContenderState(i)
	return nil
}

// Confirmation is the answer of the server's own watch table about an expected watch.
type Confirmation int8

// The answers; the zero value is that we could not look.
const (
	Unconfirmed Confirmation = iota
	Confirmed
	Missing
)

// Contender is one entry in a lock's queue. Its small fields stand together, since padding would make a tenth of the memory
// that a large cluster's snapshot takes (BenchmarkContenderMemory).
type Contender struct {
	// Name is the znode's name, or the Redis value: force-release is guarded by it. Values longer than 1 KiB are cut
	// there and Digest holds sha256:HEX of the whole.
	Name   Untrusted
	Digest string
	// Place of its znode, seen from the lock's path, where that is not the lock's own directory: below it ("leases"), or
	// beside it (".." when the lock's path is the znode itself). See Lock.Node.
	Place string
	// Recipe is the library that wrote it where that is another than the lock's; else empty.
	Recipe string
	// Sequence is the number that the server gave a znode; meaningful when Sequential. Version is the znode's, for guarded
	// actions; zero on Redis.
	Sequence, Version int32
	Sequential        bool
	Mode              recipe.Mode
	State             ContenderState
	// Watch: the server's table of watches has, or lacks, the waiter's watch on its predecessor.
	Watch    Confirmation
	NoExpiry bool
	// Revocable: it can be asked to let go, since its program listens for that (Curator's makeRevocable).
	Revocable bool
	// Dead: its entry is still there although what its library keeps alive beside it is gone (a Redisson reader's
	// key, a fair-queue waiter's channel).
	Dead bool
	// Persistent: a znode that no session owns, so that it stays when its client is gone.
	Persistent bool
	// Count is the re-entrancy; 1 where the library does not record it.
	Count int32
	// BlockedBelow counts the contenders that cannot be granted before this one leaves.
	BlockedBelow int32
	// Czxid of the znode, for guarded actions; zero on Redis.
	Czxid int64
	Owner Owner
	// Since is the time of entering the queue and HeldSince that of the grant, both by the backend's clock; zero when
	// unknown.
	Since, HeldSince time.Time
	// Seen is since when, by our clock, an Observer has seen it in its state without interruption; zero before.
	Seen Instant
	// ExpiresAt is the expiry of a Redis key, by our clock; zero when it never expires (NoExpiry) or there is no TTL.
	ExpiresAt time.Time
	// Watches is the predecessor that a waiter should watch by its recipe's rule.
	Watches Untrusted
	// WatchesGone is a node of the lock that its session watches although it is gone: nothing will wake it. Empty: none was seen.
	WatchesGone Untrusted
	// Reenters is the write of its own session that a reader holds beside, and watches if it waits after all; else empty.
	Reenters Untrusted
}

// Owner is the client behind a contender. Empty fields are unknown.
type Owner struct {
	Label Untrusted
	// Session is the ZooKeeper session; 0 is none.
	Session int64
	// Client is the session's ip:port, Server the server it is connected to. On Redis, Client is the origin of the
	// connections that are named exactly like the owner's value, label or library id: the ip:port of a single one, the ip
	// alone where there are several from one host, or several masters.
	Client, Server    string
	Host, PID, Thread Untrusted
	// LibraryID is the id of the client's library instance.
	LibraryID Untrusted
	// SessionTimeout as negotiated.
	SessionTimeout time.Duration
}

// Vote of one Redis master about a key.
type Vote struct {
	Addr string
	// Up is false when the master did not answer; Error says why.
	Up    bool
	Error string
	// ReadAt is the time, by our clock, at which the master last answered for the key; zero when that is not known.
	ReadAt time.Time
	// LastPresent is the time, by our clock, at which the key was last seen on the master; zero when it was not, or is
	// there.
	LastPresent time.Time
	// Present: the key exists. Foreign: it holds something that is no lock (Value then names the type).
	Present, Foreign bool
	Value            Untrusted
	Digest           string
	// ExpiresAt by our clock; zero when absent, down or without expiry (NoExpiry). Within is its tolerance: half of the round
	// trip in which the time to live was read.
	ExpiresAt time.Time
	Within    time.Duration
	NoExpiry  bool
	// Agrees: the value is the one that most masters hold.
	Agrees bool
	// Held is the lock that a recipe made of more than one plain string; nil for a plain string. Value then names its
	// holders, with a space between two.
	Held *recipe.Record
	// Unseen lists the refused and failed reads of the key on this master although it answered. Without the holders
	// (AspectHolders) the master may give its vote to anybody.
	Unseen []Unseen
}

// Severity of a finding.
type Severity string

// The severities, worst last.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Rank orders severities, the worst highest; -1 for what is none.
func (s Severity) Rank() int { return slices.Index([]Severity{Info, Warning, Critical}, s) }

// Finding is one rule's diagnosis of a lock or a backend.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Subject in the lock or backend, for programs; Evidence is for people to read.
	Subject    Subject           `json:"subject,omitzero"`
	Message    string            `json:"message"`
	Evidence   map[string]any    `json:"evidence"`
	Advice     string            `json:"advice"`
	Confidence recipe.Confidence `json:"confidence"`
	// Muted: an operator knows of it, until its end. Nil: nobody said so.
	Muted *Muted `json:"muted,omitempty"`
}

// BackendState grades the reading of a backend.
type BackendState string

// The states of a backend. Degraded: a part of it does not answer.
const (
	Connected BackendState = "connected"
	Degraded  BackendState = "degraded"
	Down      BackendState = "down"
)

// Mode of learning of changes on a backend.
type Mode string

// The modes of reading.
const (
	ModeWatch Mode = "watch" // ZooKeeper watches
	ModePush  Mode = "push"  // Redis invalidations
	ModePoll  Mode = "poll"  // known keys, once a tick
	ModeOnce  Mode = "once"  // a one-shot command
)

// Backend is the state of one place where locks live.
type Backend struct {
	Name  string
	Kind  BackendKind
	State BackendState
	Mode  Mode
	Error string
	// Servers in the order of the target; of a Redis Cluster all nodes, with Sentinel the master.
	Servers []Server
	// Topology of a Redis backend's servers; empty for ZooKeeper.
	Topology Topology
	// User is our name as the access lists of its servers have it; empty when unknown, and for ZooKeeper.
	User string
	// Unseen lists the refused and failed reads beside the locks' own, which could hide some locks or a finding.
	Unseen   []Unseen
	Findings []Finding
	// Cost to its servers of our reading.
	Cost Cost
	// Reading describes the way of reading for people: the contents of a request, and what reports changes. Empty:
	// unknown.
	Reading string
	// FirstPass is true once everything has been looked at once; Scanned counts the directories or keys so far.
	FirstPass bool
	Scanned   int
	// Empty are the directories of locks that nobody uses, as of the last slow beat; zero for Redis, and before the first pass.
	Empty EmptyDirs
	// Reach of it from a command line, as the Observer was advised.
	Reach Reach
	// Spread of its locks over its masters, as counted by the Observer.
	Spread Spread
	// Outliers are its clients with far more entries in locks than their peers, as counted by the Observer.
	Outliers []Outlier
	// Lost counts how often the servers, or one of them, stopped answering while we looked.
	Lost int
	// HeardAt is the time, by our clock, at which one of its servers last answered us; zero when none did or that was not
	// reported. It is as of the report: while the backend answers it is newer than that.
	HeardAt time.Time
	// DisturbedAt is the latest time, by our clock, at which clients last had reason to connect anew: a server started,
	// another leader was elected, a server stopped answering, or we could not look. Whoever is missing from the servers'
	// tables less than a session timeout after it may be on the way back. Zero: not known to have happened.
	DisturbedAt time.Time
}

// AsOf is the instant, by our clock, up to which what is known of a lock holds; b is its backend, which may be nil. A
// lock whose changes are pushed is up to date while its backend answers.
func (l *Lock) AsOf(b *Backend, now time.Time) time.Time {
	switch {
	case l.Polled || b == nil || b.Mode != ModeWatch && b.Mode != ModePush:
		return l.ReadAt
	case b.State != Down:
		return now
	case b.HeardAt.After(l.ReadAt):
		return b.HeardAt
	}
	return l.ReadAt
}

// agreedAt is the time, by our clock, up to which its verdict is known to have stood: at which the last one of a quorum of
// masters was read that agree. ReadAt is that of one master, and the others' answers may be from before a gap.
func (l *Lock) agreedAt() time.Time {
	var read []time.Time
	for i := range l.Masters {
		if m := &l.Masters[i]; m.Agrees && !m.ReadAt.IsZero() {
			read = append(read, m.ReadAt)
		}
	}
	if len(read) == 0 || len(read) < l.Quorum {
		return l.ReadAt
	}
	slices.SortFunc(read, func(a, b time.Time) int { return b.Compare(a) })
	return read[l.Quorum-1]
}

// Topology of the servers of a Redis backend.
type Topology string

// The topologies of Redis.
const (
	Independent Topology = "independent" // masters that know nothing of each other; each has a vote on every key
	Sentinel    Topology = "sentinel"    // one master, named and replaced by sentinels
	Cluster     Topology = "cluster"     // each node has the keys of its slots
)

// Cost is our own load on a backend.
type Cost struct {
	// Requests sent to all its servers since the start, heartbeats not counted, and their rate over the last
	// seconds.
	Requests  uint64
	PerSecond float64
	// Trips are the requests, each pipeline counted as one, and their rate over the last seconds. Limit is the rate that
	// our budget allows on all servers together, short bursts not counted; 0: it sets no bound. Half of it while Slowed:
	// the servers answer much more slowly than at the start.
	Trips          uint64
	TripsPerSecond float64
	Limit          float64
	Slowed         bool
	// Items are the reads that requests for many carried, and Bytes how long their answers were, since the start; their rates
	// over the last seconds; and how many a second our budget allows, 0 where it sets no bound or no request carries many.
	Items, Bytes                   uint64
	ItemsPerSecond, BytesPerSecond float64
	ItemLimit, ByteLimit           float64
	// Heartbeats are the signs of life that we sent besides, on connections on which a server speaks by itself.
	Heartbeats uint64
	// Watches set by us on the servers now, and WatchLimit how many there may be; 0: no bound.
	Watches, WatchLimit int
	// Duty is the greatest share of a Redis master's time that looking for keys may take; 0 where there is none.
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
	// Role is leader, follower, observer, standalone, read-only (without quorum), master, replica, or empty. A replica has no vote.
	Role string
	// Cluster: it is a node of a Redis Cluster, and has only the keys of its slots.
	Cluster bool
	// Version of its software; empty when unknown.
	Version string
	// Requests and Heartbeats that we sent to it, as in Cost, and the rate of the requests over the last seconds. Zero where they
	// are counted for the backend only.
	Requests, Heartbeats uint64
	PerSecond            float64
	// Latency of the last request; negative when unknown.
	Latency time.Duration
	// ClockOffset is the server's clock minus ours, meaningful when ClockKnown. ClockWithin is its tolerance, half of the round
	// trip in which it was read; zero where that is not known.
	ClockOffset, ClockWithin time.Duration
	ClockKnown               bool
	// StartedAt is the start of the server process, by our clock; of a ZooKeeper server the beginning of its role, which
	// each election begins anew. Zero when unknown.
	StartedAt time.Time
	// Zxid is a ZooKeeper server's newest transaction, the election's number in its upper half; zero when unknown. Lagging: it
	// lacks what the leader had a second before.
	Zxid    uint64
	Lagging bool
	// Lag is for how long, at least, the leader had had the oldest transaction that it still lacked when it was last asked; zero
	// where it lacked none, or that is unknown. A one-shot look knows no more than a second of it.
	Lag time.Duration
	// NodesApart is by how many znodes it has more than the leader at the same transaction (below zero: fewer), as two looks
	// found while nothing was written; zero where it has as many, or that is unknown.
	NodesApart int
	// RunID changes when a Redis server restarts; empty when unknown.
	RunID string
	// MaxMemory in bytes, 0 when not limited or unknown, and the policy by which a full Redis server evicts keys;
	// empty when unknown.
	MaxMemory      int64
	EvictionPolicy string
	// Persistence of a Redis server over a restart: "aof" or "rdb"; empty when unknown. INFO reports neither the fsync
	// policy nor whether snapshots are configured, only whether there was one.
	Persistence string
	// Replicas that a Redis master has connected. NeedsReplicas: it takes writes only while enough of them keep up
	// (min-replicas-to-write).
	Replicas      int
	NeedsReplicas bool
	Error         string
}

// EmptyDirs are directories in ZooKeeper that had children once and have none now.
type EmptyDirs struct {
	Count int
	// Oldest of them, by the time of its making on the servers' clock.
	Oldest time.Time
	// Under is the directory that has the most of them, UnderCount.
	Under      string
	UnderCount int
}

// Session of a client, as reported by a ZooKeeper server.
type Session struct {
	ID             int64
	Client, Server string
	Timeout        time.Duration
	// LastContact is the time, by our clock, at which the server last heard of the client; Established is by the
	// server's. Both zero when unknown.
	LastContact, Established time.Time
}
