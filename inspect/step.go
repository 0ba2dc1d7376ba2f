package inspect

import (
	"cmp"
	"strings"
)

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
