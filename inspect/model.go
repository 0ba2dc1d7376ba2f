package inspect

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
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

// The states of a lock. Split and Minority occur only with several Redis masters (see KeyLock).
const (
	StateFree      State = "free"
	StateHeld      State = "held"
	StateContended State = "contended"
	StateSplit     State = "split"
	StateMinority  State = "minority"
	StateUnknown   State = "unknown"
)

// Lock is one resource name on one backend. A published *Lock is never changed; a newer one
// replaces it. Like Backend it has many fields, each one fact.
type Lock struct {
	ID   ID
	Kind Kind
	// KindConfidence grades a kind that the recipe does not determine: an election, or a mutex
	// that may be the queue of a semaphore. Empty means as sure as the recipe.
	KindConfidence recipe.Confidence
	Recipe         string
	Confidence     recipe.Confidence
	State          State
	// Limit is the number of permits of a semaphore; 0 for other locks or if the number is unknown.
	Limit int
	// Aliens are the first few children of a lock directory that no recipe recognises as contenders.
	// A child of a semaphore's part directory is listed with that directory before its name.
	Aliens []Untrusted
	// Holders, and Waiters in queue order.
	Holders, Waiters []Contender
	// WaitersAtLeast counts the client instances that must be waiting although their entries
	// cannot be seen. It comes from the subscribers of the channel that a Redis library uses to
	// wake waiters.
	WaitersAtLeast int
	// Masters has a vote for each master of a Redis backend; empty for ZooKeeper.
	Masters []Vote
	// Quorum and Margin (votes - quorum) are meaningful when Masters is not empty.
	Quorum, Margin int
	// ValidUntil is the time, by our clock, until which a Redis holder may trust its lock. It is
	// zero if there is no holder, if the lock never expires, or if unknown.
	ValidUntil time.Time
	// ReadAt is the time, by our clock, of the lock's newest reading. See AsOf for its age.
	ReadAt time.Time
	// Polled is set if the lock's changes are not pushed, so its state is as old as ReadAt.
	Polled bool
	// UnseenSince is the time, by our clock, at which the previous version was last seen, if the
	// change was not reported; else zero. NeverSeen means that we had not looked there before.
	UnseenSince time.Time
	// Unseen lists the refused and failed reads, whose aspects are unknown.
	Unseen   []Unseen
	Findings []Finding
	// ExpectedHold is the longest usual hold according to the configuration (Expectation); 0 if
	// not given. See UsualHold.
	ExpectedHold time.Duration
	// Custom is the configured recipe that read it (ReadBy); nil for other locks.
	Custom *recipe.Custom `json:"-"`

	// Observed is filled in by an Observer; sources leave it empty.
	Observed Observed
}

// Observed is what an Observer remembers about a lock.
type Observed struct {
	// History is nil until something happens.
	History *History
	// LongestTTL is the longest TTL seen, even if nothing has happened yet.
	LongestTTL time.Duration
	// Reported is the number of Findings that came from the source; these come first.
	Reported int
	// Unwatched names the contenders whose watch is missing from the newest table.
	Unwatched map[Untrusted]bool
}

// NeverSeen is the UnseenSince of a lock that was found where we had not looked before. An example
// is a cluster node that did not answer while the others were scanned. The lock may be much older.
var NeverSeen = time.Unix(0, 0)

// Contention is the number of contenders of a lock, holders and waiters.
func (l *Lock) Contention() int { return len(l.Holders) + len(l.Waiters) }

// Waiting is the number of known waiters: the Waiters that are not Dead, and
// WaitersAtLeast. More may wait where AspectWaiters is unknown.
func (l *Lock) Waiting() int {
	n := l.WaitersAtLeast
	for i := range l.Waiters {
		if !l.Waiters[i].Dead {
			n++
		}
	}
	return n
}

// AsOf is the time, by our clock, up to which the state of a lock is known. b is its backend, which
// may be nil. A lock whose changes are pushed is up to date while its backend answers.
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

// agreedAt is the time, by our clock, up to which the lock's verdict is known to be true. By then a
// quorum of agreeing masters had been read. ReadAt is the time of one master; the others' answers
// may be from before a gap.
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

// Contenders are the holders, then the waiters in queue order: range over l.Contenders.
func (l *Lock) Contenders(yield func(*Contender) bool) {
	for _, list := range [...][]Contender{l.Holders, l.Waiters} {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// Contender finds a contender by its name on the server.
func (l *Lock) Contender(name Untrusted) (Contender, bool) {
	for c := range l.Contenders {
		if c.Name == name {
			return *c, true
		}
	}
	return Contender{}, false
}

// ContenderState distinguishes holders from waiters.
type ContenderState uint8

// The states of a contender. Pending is a semaphore lease that exists but is not granted. Zero is
// no state.
const (
	Holding ContenderState = iota + 1
	Waiting
	Pending
)

var contenderStates = [...]string{Holding: "holding", Waiting: "waiting", Pending: "pending"}

// String is the word used in the JSON; empty for none.
func (s ContenderState) String() string {
	if int(s) < len(contenderStates) {
		return contenderStates[s]
	}
	return "ContenderState(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText implements encoding.TextMarshaler with the JSON word.
func (s ContenderState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Its error names an unknown word.
func (s *ContenderState) UnmarshalText(text []byte) error {
	i := slices.Index(contenderStates[:], string(text))
	if i < 0 {
		return fmt.Errorf("%s is not a state of a contender", Escape(string(text)))
	}
	*s = ContenderState(i)
	return nil
}

// Confirmation is what the server's watch table says about an expected watch.
type Confirmation int8

// The answers. The zero value means that we could not look.
const (
	Unconfirmed Confirmation = iota
	Confirmed
	Missing
)

// Contender is one entry in a lock's queue.
type Contender struct {
	// Name is the znode's name, or the Redis value, which guards force-release. Values longer than
	// 1 KiB are truncated, and Digest holds sha256:HEX of the whole.
	Name Untrusted
	Special
	// Sequence is the number that the server gave a znode; meaningful when Sequential. Version is the
	// znode's, for guarded actions; zero on Redis.
	Sequence, Version int32
	Sequential        bool
	Mode              recipe.Mode
	State             ContenderState
	// Watch says whether the server's watch table has the waiter's watch on its predecessor.
	Watch    Confirmation
	NoExpiry bool
	// Revocable means that its program listens for requests to release the lock (Curator's
	// makeRevocable).
	Revocable bool
	// Dead is set if only its entry remains. The key or channel that its library keeps alive for it
	// is gone (a Redisson reader's key, a fair-queue waiter's channel).
	Dead bool
	// Persistent is set for a znode without a session, which stays when its client is gone.
	Persistent bool
	// Count is how often a re-entrant holder has acquired the lock; 1 if not recorded.
	Count int32
	// BlockedBelow counts the contenders that cannot be granted until this one leaves.
	BlockedBelow int32
	// Czxid of the znode, for guarded actions; zero on Redis.
	Czxid int64
	Owner Owner
	// Since is when it entered the queue, HeldSince when it was granted, both by the backend's
	// clock; zero if unknown.
	Since, HeldSince time.Time
	// Seen is the time, by our clock, since which an Observer has seen it in this state without a
	// gap; zero if no Observer has.
	Seen time.Time
	// ExpiresAt is the expiry of a Redis key, by our clock; zero if it never expires (NoExpiry) or
	// has no TTL.
	ExpiresAt time.Time
	// Watches is the predecessor that a waiter should watch by its recipe's rule.
	Watches Untrusted
}

// Special holds fields that at most one contender in a hundred needs: a lock of several parts,
// libraries that share a directory, long values.
type Special struct {
	// Digest is the digest of a truncated Name; else empty.
	Digest string
	// Place is its znode's directory relative to the lock's path, if that is another one: a child
	// ("leases"), a sibling, or ".." if the lock's path is the znode itself. See Lock.Node.
	Place string
	// Recipe is the library that wrote it, if that differs from the lock's; else empty.
	Recipe string
	// WatchesGone is a deleted node of the lock that the contender's session still watches, so
	// nothing will wake it. Empty if none was seen.
	WatchesGone Untrusted
	// Reenters is the write entry of this reader's session, if the session holds that as well; else
	// empty. The reader watches it if it has to wait.
	Reenters Untrusted
}

// Follows reports whether the server numbered a contender after the node of that name, which may
// no longer exist.
func (c *Contender) Follows(node Untrusted) bool {
	_, number, ok := recipe.SplitSequence(node.Raw())
	return ok && c.Sequential && number-c.Sequence < 0
}

// Owner is the client behind a contender. Empty fields are unknown.
type Owner struct {
	Label Untrusted
	// Session is the ZooKeeper session; 0 for no session.
	Session int64
	// Client is the session's ip:port, Server the server it is connected to. On Redis, Client is
	// the origin of the connections named exactly like the owner's value, label or library id. It
	// is ip:port for a single connection, and the ip alone for several from one host or several
	// masters.
	Client, Server string
	Process
	// SessionTimeout as negotiated with the server.
	SessionTimeout time.Duration
}

// Process is the program behind a contender, with its thread and library instance.
type Process struct {
	Host, PID, Thread Untrusted
	// LibraryID is the id of the client's library instance.
	LibraryID Untrusted
}

// HostIsMAC reports whether the host is known only as a MAC address, as redis-py writes it into its
// tokens. All programs on the host share it, and in containers often those of several hosts, so it
// identifies no client.
func (o *Owner) HostIsMAC() bool {
	host := o.Host.Raw()
	if len(host) != len("00:00:00:00:00:00") {
		return false
	}
	mac, err := net.ParseMAC(host)
	return err == nil && len(mac) == 6
}

// Vote is what one Redis master says about a key.
type Vote struct {
	Addr string
	// Up is false if the master did not answer, for the reason in Error.
	Up    bool
	Error string
	// ReadAt is when, by our clock, the master last answered for the key; zero if unknown.
	ReadAt time.Time
	// LastPresent is when, by our clock, the key was last seen on the master; zero if it never
	// was, or is there now.
	LastPresent time.Time
	// Present means that the key exists. Foreign means that it holds something that is not a lock;
	// then Value names the type.
	Present, Foreign bool
	Value            Untrusted
	Digest           string
	// Unsure is set if the key is gone, or now has another value, and we do not know why. The
	// master may evict keys, have deleted all of them, or not have pushed the change.
	Unsure bool
	// ExpiresAt by our clock; zero if absent, down or without expiry (NoExpiry).
	ExpiresAt time.Time
	NoExpiry  bool
	// Agrees means that its value is the one that most masters hold.
	Agrees bool
	// Held is the lock decoded from more than one plain string; nil for a plain string. Value then
	// names its holders, separated by spaces.
	Held *recipe.Record
	// Unseen lists the refused and failed reads of the key on this master although it answered. If
	// the holders (AspectHolders) are unknown, its vote may be for any value.
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

// Rank orders severities, the worst highest; -1 for an unknown one.
func (s Severity) Rank() int { return slices.Index([]Severity{Info, Warning, Critical}, s) }

// Finding is one rule's diagnosis of a lock or a backend.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Subject is for programs; Evidence is for people.
	Subject  Subject        `json:"subject,omitzero"`
	Message  string         `json:"message"`
	Evidence map[string]any `json:"evidence"`
	// Steps are what to do, in order; [Finding.Advice] is their text.
	Steps      []Step            `json:"steps"`
	Confidence recipe.Confidence `json:"confidence"`
	// Muted is set while an operator's mute applies; else nil.
	Muted *Muted `json:"muted,omitempty"`
}
