package release

import (
	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
)

// Subject is the contender of a dialog or, with Vote, a value on too few masters to hold the lock.
type Subject struct {
	Lock      *inspect.Lock
	Contender *inspect.Contender
	Vote      bool
}

// Refusal explains why a verb has no dialog about a subject; empty if it has one.
func Refusal(host screen.Context, of act.Releasers, verb inspect.Verb, s Subject) string {
	switch redis := len(s.Lock.Masters) > 0; {
	case of == nil, host.Past(): // a preview would show the present
		return host.MayAct()
	case verb == inspect.VerbTTL && !redis:
		return "only keys of Redis have a TTL"
	case verb == inspect.VerbAsk && redis:
		return "only Curator's locks have a way to ask the holder"
	}
	if _, ok := of(s.Lock.ID.Backend); !ok {
		return "backend " + describe.Printable(s.Lock.ID.Backend) + " cannot be written to"
	}
	return ""
}

// Open opens the dialog of a verb that is not refused.
func Open(host screen.Context, of act.Releasers, verb inspect.Verb, s Subject) tea.Cmd {
	releaser, _ := of(s.Lock.ID.Backend)
	d := newDialog(host, releaser, s.Lock, s.Contender)
	switch {
	case verb == inspect.VerbTTL:
		d.forTTL()
	case verb == inspect.VerbAsk:
		d.forAsking()
	case s.Vote:
		d.request.Waiter = true
		d.speak(voteWords)
	}
	host.Push(d)
	return d.Start()
}
