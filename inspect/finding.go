package inspect

import (
	"cmp"
	"strings"
	"time"
)

// Rule diagnoses locks or backends. Package finding has one a file.
type Rule struct {
	// Name as the command line's contract lists it.
	Name string
	// NeedsHistory: one-shot commands do not ask it.
	NeedsHistory bool
	// AsOf: one look may see halfway what it finds (an acquisition that asks one master after the other), so
	// that it is reported only when two looks SettleFor apart have found it. AsOf is the time, by our clock,
	// at which what it rests on was last seen. A rule without is believed at once.
	AsOf func(*Case) time.Time
	// Lock diagnoses one lock, Backend one backend; either may be nil. Nothing found is nil. Neither Lock nor AsOf
	// may keep the Case: that of the next lock takes its place.
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
	// Sessions of the lock's backend; nil when no server reported. All of them only when AllSessions.
	Sessions    map[int64]Session
	AllSessions bool
	// SessionsAt is the time, by our clock, at which Sessions were read; zero when unknown.
	SessionsAt time.Time
	// Watches is the newest watch table that covers the lock; nil if none was read.
	Watches *WatchTable
	// WatchesAre is TableOfNow unless they were read a minute ago, or before clients may have set
	// theirs again.
	WatchesAre TableAge
	// History of the lock so far; nil in a one-shot command.
	History *History
	// Spread of the backend's locks over its masters.
	Spread Spread
	// Cycle are the locks of a wait-for cycle that this one is in, and the owners between them; nil when in none.
	Cycle *Cycle
	// Led are former leaders of the lock that most likely still lead while their sessions live.
	Led []Led
	// StuckAfter is how long a holder may hold while others wait before that is reported.
	StuckAfter time.Duration
	// Reach of each backend from a command line, by the backend's name.
	Reach map[string]Reach
}

// History of one lock while we watched.
type History struct {
	// Since when, by our clock, it was watched.
	Since time.Time
	// Grants, and of these the ones that followed another holder at once.
	Grants, Handovers int
	// Holds and Waits are complete spans, from grant to end and from entering the queue to grant.
	Holds, Waits Spans
	// Overtaken counts for each waiter now in the queue the grants to contenders that came after it.
	Overtaken map[Untrusted]int
	// Renewal of the present holder's key.
	Renewal Renewal
	// LongestTTL is the longest time to live that was seen on a Redis lock.
	LongestTTL time.Duration
	// Recent are the last holds that have ended, the oldest first; at most 32.
	Recent []Span
}

// Span is one contender's time with a lock, by the backend's clock. Granted is zero when it held before we
// looked, Ended when it ended while we could not.
type Span struct {
	Contender, Label       Untrusted
	Queued, Granted, Ended time.Time
}

// Spans summarise many durations of one kind; the percentiles are those of the last hundred.
type Spans struct {
	Count         int
	P50, P99, Max time.Duration
}

// Renewal of a holder's key, read from its times to live.
type Renewal struct {
	// Count of renewals that were seen, Every is the usual time between two, Last the newest.
	Count int
	Every time.Duration
	Last  time.Time
	// TTL that a renewal sets.
	TTL time.Duration
	// Skipped counts the renewals that should have been between two others and were not. Those that are
	// missing since the last one are not among them: the finding renewal-stopped is about these.
	Skipped int
}

// Subject of a finding within its lock or backend, which distinguishes it from others of its rule. The zero
// value is the lock or backend as a whole.
type Subject struct {
	// Contender by its name on the server, and Digest where that is cut. See [Contender].
	Contender Untrusted `json:"contender,omitzero"`
	Digest    string    `json:"value_digest,omitzero"`
	// Server is a master or server, by its address.
	Server Untrusted `json:"server,omitzero"`
	// Node is the path of a znode.
	Node Untrusted `json:"node,omitzero"`
	// Locks of a finding that is about several: each of them has it.
	Locks []ID `json:"locks,omitzero"`
	// Unseen are the aspects that a blind finding speaks of.
	Unseen []Aspect `json:"unseen,omitzero"`
	// Reason distinguishes findings of one rule, such as a [WriteRefusal]: another reason is another finding.
	Reason string `json:"reason,omitzero"`
}

// Subject is a contender as what a finding is about.
func (c *Contender) Subject() Subject { return Subject{Contender: c.Name, Digest: c.Digest} }

// Is reports whether the finding is about a contender.
func (s *Subject) Is(c *Contender) bool {
	return s.Contender != "" && s.Contender == c.Name && s.Digest == c.Digest
}

// Key distinguishes a finding from the others on the same lock or backend. It leaves out the locks
// of a deadlock, each with the finding once.
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

// Verb is what a step does.
type Verb string

// The verbs, as in the JSON. The first five are commands of the command line.
const (
	VerbRelease    Verb = "release"
	VerbTTL        Verb = "ttl"
	VerbAsk        Verb = "ask"
	VerbKillClient Verb = "kill-client"
	VerbSweep      Verb = "sweep"
	// VerbWait changes nothing: look first, or let time pass.
	VerbWait Verb = "wait"
	// VerbRestart restarts a client or a server.
	VerbRestart Verb = "restart"
	// VerbConfigure changes servers, clients, rights or the target.
	VerbConfigure Verb = "configure"
)

// Step is one thing that a finding advises to do.
type Step struct {
	Verb Verb `json:"verb"`
	// Lock and Owner are what it acts on. Owner is the [Contender.Argument] of a contender or vote. Either
	// may be empty.
	Lock  ID        `json:"lock"`
	Owner Untrusted `json:"owner"`
	// Waiter allows the removal of an owner that does not hold the lock.
	Waiter bool `json:"waiter"`
	// Why has the words for people: what to do, when or why. Names in it are escaped.
	Why string `json:"why"`
	// Command is a line for a shell that does it; empty where none does.
	Command string `json:"command,omitempty"`
}

// Argument names a contender to a command: by the digest of its value where that was cut, else by its name.
func (c *Contender) Argument() Untrusted { return cmp.Or(Untrusted(c.Digest), c.Name) }

// Argument names a master's value to a command, as for a contender.
func (v *Vote) Argument() Untrusted { return cmp.Or(Untrusted(v.Digest), v.Value) }

// Step returns the first step of a kind that a finding advises.
func (f *Finding) Step(v Verb) (Step, bool) {
	for _, s := range f.Steps {
		if s.Verb == v {
			return s, true
		}
	}
	return Step{}, false
}

// Phrase is a part of an advice: words, or a command for a shell.
type Phrase struct {
	Text    string
	Command bool
}

// Phrases are the steps as sentences and commands, so that each command can be shown alone and copied.
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
