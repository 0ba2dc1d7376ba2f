package describe

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// stateWords has all texts for one state of a lock, and how bad it is.
type stateWords struct {
	state inspect.State
	level Level
	// brief names the holder in a few words, or the reason for no holder. detail adds a figure and
	// may be nil.
	brief, detail func(*inspect.Lock) string
	verdict       func(View, *inspect.Lock) string
}

var states = []stateWords{
	{state: inspect.StateFree, level: LevelFree, brief: named, verdict: View.free},
	{state: inspect.StateHeld, level: LevelHeld, brief: holder, detail: votes, verdict: View.holding},
	{state: inspect.StateContended, level: LevelContended, brief: holder, detail: votes, verdict: View.holding},
	{state: inspect.StateUnknown, level: LevelUnknown, brief: silent, verdict: View.unknown},
	{state: inspect.StateMinority, level: LevelUnknown, brief: minority, verdict: View.minority},
	{state: inspect.StateSplit, level: LevelUnknown, brief: split, verdict: View.split},
}

// wordsOf returns the texts for a lock's state; an unrecognised one reads as held.
func wordsOf(s inspect.State) stateWords {
	if i := slices.IndexFunc(states, func(w stateWords) bool { return w.state == s }); i >= 0 {
		return states[i]
	}
	return states[1]
}

// States lists all states of a lock, as in the JSON.
func States() []inspect.State {
	return each.Of(states, func(w stateWords) inspect.State { return w.state })
}

// Summary names a lock's holder in a few words, or the reason for no holder. detail may be empty.
func Summary(l *inspect.Lock) (brief, detail string) {
	w := wordsOf(l.State)
	if w.detail != nil {
		detail = w.detail(l)
	}
	return w.brief(l), detail
}

// StateLevel returns the level of a lock's state, without its findings. No state alone is a
// warning: a split or a minority may pass, be muted, or not be a lock, as the findings say.
func StateLevel(l *inspect.Lock) Level { return wordsOf(l.State).level }

// Verdict is a sentence about a lock's holder, the time of its hold and the waiters, or about why
// they are unknown.
func (v View) Verdict(l *inspect.Lock) string { return wordsOf(l.State).verdict(v, l) + doubt(l) }

// Doubtful reports whether a held lock is only possibly a lock.
func Doubtful(l *inspect.Lock) bool {
	return l.Confidence == recipe.Possible && (l.State == inspect.StateHeld || l.State == inspect.StateContended)
}

// doubt returns the text after the verdict on a doubtful lock; empty for others.
func doubt(l *inspect.Lock) string {
	if Doubtful(l) {
		return " (may not be a lock)"
	}
	return ""
}

// State is a lock's state in a word, with a question mark if it is doubtful.
func State(l *inspect.Lock) string {
	if Doubtful(l) {
		return StateWord(l.State) + "?"
	}
	return StateWord(l.State)
}

// StateWord is the word for a state, the same as in the JSON and in filters.
func StateWord(s inspect.State) string { return string(s) }

// named is for a state whose name says it all.
func named(l *inspect.Lock) string { return StateWord(l.State) }

func holder(l *inspect.Lock) string {
	switch n := len(l.Holders); {
	case n == 0: // only waiters
		return "no holder"
	case l.Kind == inspect.KindSemaphore && l.Limit > 0:
		return fmt.Sprintf("%d of %s", n, Count(l.Limit, "permit"))
	case l.Kind == inspect.KindSemaphore:
		return Count(n, "permit")
	case n > 1 && l.Holders[0].Mode == recipe.Shared:
		return fmt.Sprintf("%d readers", n)
	case n > 1:
		return fmt.Sprintf("%d holders", n)
	default:
		return Owner(&l.Holders[0])
	}
}

// votes formats the holder's votes as n/m.
func votes(l *inspect.Lock) string {
	if len(l.Masters) < 2 || len(l.Holders) != 1 || l.Kind == inspect.KindSemaphore {
		return ""
	}
	return fmt.Sprintf("%d/%d", l.Votes(), len(l.Masters))
}

func split(l *inspect.Lock) string { return "split " + l.Ballot() }

func minority(l *inspect.Lock) string {
	return fmt.Sprintf("minority %d/%d", l.Votes(), len(l.Masters))
}

// silent says how many masters did not answer, or names the holder if all did.
func silent(l *inspect.Lock) string {
	if n := Tally(l).Silent; n > 0 {
		return fmt.Sprintf("%d of %d down", n, len(l.Masters))
	}
	return named(l)
}

// KindOf is the kind of a lock, with a question mark if it is only a guess.
func KindOf(l *inspect.Lock) string {
	if l.KindConfidence == recipe.Likely || l.KindConfidence == recipe.Possible {
		return string(l.Kind) + "?"
	}
	return string(l.Kind)
}
