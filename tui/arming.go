package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/release"
	"github.com/lockscope/lockscope/tui/screen"
)

// armedMsg is the outcome of allowing or forbidding writing.
type armedMsg struct {
	on    bool
	while func() bool // writing is allowed while it returns true; nil: until :read-only
	err   error
}

// ReadOnly explains why no lock may be acquired; empty if one may be.
func (w *world) ReadOnly() string {
	if w.pastEvents == nil && w.options.Lab != nil && (w.options.Arm == nil || w.armed) {
		return ""
	}
	return w.whyReadOnly()
}

// CannotAcquire implements screen.Context.
func (w *world) CannotAcquire() string {
	if w.options.Lab != nil && w.Arm() != nil {
		return ""
	}
	return w.ReadOnly()
}

// MayAct explains why no action on other clients' locks is allowed; empty if one is.
func (w *world) MayAct() string {
	allowed := w.options.Release != nil && w.options.ReadOnly == ""
	if w.pastEvents == nil && allowed && (w.options.Arm == nil || w.armed) {
		return ""
	}
	return w.whyReadOnly()
}

func (w *world) whyReadOnly() string {
	switch {
	case w.options.Replay:
		return "this is a recording"
	case w.pastEvents != nil:
		return "this is the past: backspace returns to live"
	case w.options.ReadOnly != "":
		return w.options.ReadOnly
	case w.options.Arm != nil:
		return "read-only: type :write to enable"
	default:
		return "read-only: start with --write"
	}
}

// Production reports whether an action needs a reason.
func (w *world) Production() bool { return w.options.Environment == "production" }

// armLimit bounds opening the audit file.
const armLimit = 10 * time.Second

// Arm allows writing, unless something else forbids it: in the Lab until nothing is left to release
// or to stop there, and elsewhere until the dialog in front closes.
func (w *world) Arm() tea.Cmd {
	if w.armed || w.options.Arm == nil || w.options.Replay || w.Past() || w.options.ReadOnly != "" {
		return nil
	}
	if w.inFront == screen.Lab {
		return arm(w, true, func() bool {
			held, waiting := w.inHand()
			s, ok := w.screens[screen.Lab].(*lab.Screen)
			return w.HasDialog() || held+waiting > 0 || ok && s.Runs.Running()
		})
	}
	d := w.top()
	return arm(w, true, func() bool { return slices.Contains(w.dialogs, d) })
}

func arm(w *world, on bool, while func() bool) tea.Cmd {
	set := w.options.Arm
	return w.Command(armLimit, func(context.Context) tea.Msg { return armedMsg{on, while, set(on)} })
}

// disarm forbids writing that was allowed for something that is over.
func disarm(w *world) {
	if w.armed && w.armedWhile != nil && !w.armedWhile() {
		w.armed = false
		w.Later(arm(w, false, nil))
	}
}

// writeActions allow and forbid writing, if the user may choose. All holds must be released first,
// since they could not be released afterwards.
func (w *world) writeActions() []screen.Action {
	if w.options.Arm == nil {
		return nil
	}
	return []screen.Action{{
		Shown: ":write", Hint: "write", Help: "allow actions on locks",
		Run: func() tea.Cmd {
			if w.armed {
				w.armedWhile = nil
				w.Flash("writing is already allowed; :read-only forbids it")
				return nil
			}
			return arm(w, true, nil)
		},
	}, {
		Shown: ":read-only", Hint: "read-only", Help: "forbid actions on locks",
		Run: func() tea.Cmd { return arm(w, false, nil) },
		Disabled: func() string {
			switch held, waiting := w.inHand(); {
			case !w.armed:
				return "already read-only"
			case held > 0:
				return "you hold locks here: release them first"
			case waiting > 0:
				return "you are waiting for locks here: stop that first"
			}
			return ""
		},
	}}
}

func (w *world) arming(msg armedMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		w.Flash("unchanged: " + msg.err.Error())
	case msg.on && w.armed: // by :write meanwhile
		return w.toDialogs(screen.ArmedMsg{})
	case msg.on && msg.while != nil && !msg.while(): // the user has left the dialog
		return arm(w, false, nil)
	case msg.on:
		w.armed, w.armedWhile = true, msg.while
		w.Flash("writing is allowed: each action is recorded; :read-only forbids it again")
		if msg.while != nil {
			w.Flash("writing is allowed for this only; it is recorded")
		}
		return w.toDialogs(screen.ArmedMsg{})
	case w.armed:
		w.armed = false
		w.Flash("read-only")
	}
	return nil
}

// muted handles the result of muting; a dialog's result goes to that dialog.
func (w *world) muted(msg release.MutedMsg) tea.Cmd {
	switch {
	case msg.Generation != 0:
		return w.toDialogs(msg)
	case msg.Err != nil:
		w.Flash(describe.OneLine(msg.Err))
	default:
		w.Flash(msg.Text)
	}
	return nil
}
