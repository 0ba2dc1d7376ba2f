package inspect

import (
	"cmp"
	"strings"
	"time"
)

// Rule diagnoses locks or backends. Package finding has one rule per file.
type Rule struct {
	// Name is the rule's name on the command line.
	Name string
	// NeedsHistory makes one-shot commands skip the rule.
	NeedsHistory bool
	// AsOf is for findings that one look may catch halfway, such as an acquisition that asks the
	// masters one by one. They are reported once two looks SettleFor apart agree. AsOf returns the
	// time, by our clock, of the newest evidence. Without AsOf a finding is reported at once.
	AsOf func(*Case) time.Time
	// Lock diagnoses one lock, Backend one backend; either may be nil. They return nil if nothing
	// is wrong. Neither Lock nor AsOf may keep the Case, which is reused.
	Lock    func(*Case) []Finding
	Backend func(*Backend, time.Time) []Finding
}

// TableAge distinguishes a current table of watches from an old one. Only the tables of locks that
// a viewer has open are read repeatedly.
type TableAge uint8

// The ages of a table.
const (
	TableOfNow TableAge = iota
	TableOld            // it was read a minute ago or earlier
	TableVoid           // clients may have reconnected since, and set their watches again
)

// Case is a lock with its context.
type Case struct {
	Lock    *Lock
	Backend *Backend // nil while it has not reported its state
	// Now is by our clock. Offset is the backend's clock minus ours.
	Now    time.Time
	Offset time.Duration
	// Sessions of the lock's backend; nil if no server reported any. They are complete only with
	// AllSessions.
	Sessions    map[int64]Session
	AllSessions bool
	// SessionsAt is the time, by our clock, at which Sessions were read; zero if unknown.
	SessionsAt time.Time
	// Watches is the newest watch table that covers the lock; nil if none was read.
	Watches *WatchTable
	// WatchesAre is the age of Watches.
	WatchesAre TableAge
	// History of the lock so far; nil in a one-shot command.
	History *History
	// Spread of the backend's locks over its masters.
	Spread Spread
	// Cycle is the wait-for cycle that includes this lock; nil for none.
	Cycle *Cycle
	// Led are former leaders of the lock that most likely still lead while their sessions live.
	Led []Led
	// StuckAfter is how long a lock may be held while others wait before that is reported.
	StuckAfter time.Duration
	// Reach says how to reach each backend from a command line, by its name.
	Reach map[string]Reach
}

// History is one lock's history while we watched it.
type History struct {
	// Since is when we began to watch it, by our clock.
	Since time.Time
	// Grants, and how many of them directly followed another holder.
	Grants, Handovers int
	// Holds and Waits are complete spans, from grant to end and from entering the queue to grant.
	Holds, Waits Spans
	// Overtaken counts, for each waiter, the grants to contenders that came later.
	Overtaken map[Untrusted]int
	// Renewal of the current holder's key.
	Renewal Renewal
	// LongestTTL is the longest TTL seen on a Redis lock.
	LongestTTL time.Duration
	// Recent are the last holds that ended, oldest first; at most 32.
	Recent []Span
}

// Span is one contender's time with a lock, by the backend's clock. Granted is zero if it already
// held when we began to watch. Ended is zero if we missed the end.
type Span struct {
	Contender, Label       Untrusted
	Session                int64 // of ZooKeeper; 0 if none
	Queued, Granted, Ended time.Time
}

// Spans summarises durations of one kind. The percentiles are those of the last hundred.
type Spans struct {
	Count         int
	P50, P99, Max time.Duration
}

// Renewal of a holder's key, derived from its TTLs.
type Renewal struct {
	// Count is the number of renewals seen, Every the usual interval, Last the newest.
	Count int
	Every time.Duration
	Last  time.Time
	// TTL that a renewal sets.
	TTL time.Duration
	// Skipped counts the renewals missing between others. The finding renewal-stopped covers those
	// missing since the last one.
	Skipped int
}

// Subject is what a finding is about within its lock or backend. It distinguishes findings of one
// rule. The zero value is the lock or backend itself.
type Subject struct {
	// Contender is its name on the server, with the Digest of a truncated one. See [Contender].
	Contender Untrusted `json:"contender,omitzero"`
	Digest    string    `json:"value_digest,omitzero"`
	// Server is a server's address.
	Server Untrusted `json:"server,omitzero"`
	// Node is the path of a znode.
	Node Untrusted `json:"node,omitzero"`
	// Locks of a finding about several locks; each of them has the finding.
	Locks []ID `json:"locks,omitzero"`
	// Unseen are the aspects of a blind finding.
	Unseen []Aspect `json:"unseen,omitzero"`
	// Reason distinguishes findings of one rule, such as a [WriteRefusal].
	Reason string `json:"reason,omitzero"`
}

// Subject returns a contender as a finding's subject.
func (c *Contender) Subject() Subject { return Subject{Contender: c.Name, Digest: c.Digest} }

// Is reports whether the finding is about a contender.
func (s *Subject) Is(c *Contender) bool {
	return s.Contender != "" && s.Contender == c.Name && s.Digest == c.Digest
}

// Key distinguishes a finding from others on the same lock or backend. It leaves out the locks of a
// deadlock, each of which has the finding.
func (f *Finding) Key() string {
	s := &f.Subject
	var b strings.Builder
	for _, part := range [...]string{f.Rule, s.Contender.Raw(), s.Digest, s.Server.Raw(), s.Node.Raw()} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	for _, a := range s.Unseen {
		b.WriteString(string(a))
		b.WriteByte(0)
	}
	b.WriteString(s.Reason)
	return b.String()
}

// Verb is the kind of a step.
type Verb string

// The verbs, as in the JSON. The first five are commands of the command line.
const (
	VerbRelease    Verb = "release"
	VerbTTL        Verb = "ttl"
	VerbAsk        Verb = "ask"
	VerbKillClient Verb = "kill-client"
	VerbSweep      Verb = "sweep"
	// VerbWait changes nothing: look first, or wait.
	VerbWait Verb = "wait"
	// VerbRestart restarts a client or a server.
	VerbRestart Verb = "restart"
	// VerbConfigure changes servers, clients, rights or the target.
	VerbConfigure Verb = "configure"
)

// Step is one piece of a finding's advice.
type Step struct {
	Verb Verb `json:"verb"`
	// Lock and Owner are what the step acts on; both may be empty. Owner is the
	// [Contender.Argument] of a contender or vote.
	Lock  ID        `json:"lock"`
	Owner Untrusted `json:"owner"`
	// Waiter allows removing an owner that does not hold the lock.
	Waiter bool `json:"waiter"`
	// Why says what to do, and when or why. Names in it are escaped.
	Why string `json:"why"`
	// Command is the shell command for the step; empty if none.
	Command string `json:"command,omitempty"`
}

// Argument names a contender in a command. It is the value's digest if the value was truncated,
// else the name.
func (c *Contender) Argument() Untrusted { return cmp.Or(Untrusted(c.Digest), c.Name) }

// Argument names a master's value in a command, as for a contender.
func (v *Vote) Argument() Untrusted { return cmp.Or(Untrusted(v.Digest), v.Value) }

// Step returns the finding's first step with this verb.
func (f *Finding) Step(v Verb) (Step, bool) {
	for _, s := range f.Steps {
		if s.Verb == v {
			return s, true
		}
	}
	return Step{}, false
}

// Phrase is part of the advice: text, or a shell command.
type Phrase struct {
	Text    string
	Command bool
}

// Phrases are the steps as sentences and commands, so that each command can be copied.
func (f *Finding) Phrases() []Phrase {
	var list []Phrase
	words := ""
	for i, s := range f.Steps {
		why := s.Why
		if i > 0 && why != "" && why[0] >= 'a' && why[0] <= 'z' {
			why = strings.ToUpper(why[:1]) + why[1:]
		}
		if words != "" {
			words += ". "
		}
		if words += why; s.Command != "" {
			list = append(list, Phrase{Text: words + ":"}, Phrase{Text: s.Command, Command: true})
			words = ""
		}
	}
	if words != "" {
		list = append(list, Phrase{Text: words})
	}
	return list
}

// Advice is the text of the steps on one line.
func (f *Finding) Advice() string {
	var b strings.Builder
	between := ""
	for _, p := range f.Phrases() {
		b.WriteString(between + p.Text)
		if between = " "; p.Command {
			between = ". "
		}
	}
	return b.String()
}
