package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/release"
	"github.com/lockscope/lockscope/tui/screen"
)

// armedMsg is the outcome of allowing or forbidding writing.
type armedMsg struct {
	on   bool
	once screen.Dialog // writing is only allowed while it is open; nil for no such limit
	err  error
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

// Arm allows writing, unless something else forbids it. A dialog about another client's lock allows
// only its own action.
func (w *world) Arm() tea.Cmd {
	if w.armed || w.options.Arm == nil || w.options.Replay || w.Past() || w.options.ReadOnly != "" {
		return nil
	}
	if w.inFront == screen.Lab {
		return arm(w, true, nil)
	}
	return arm(w, true, w.top())
}

func arm(w *world, on bool, once screen.Dialog) tea.Cmd {
	set := w.options.Arm
	return w.Command(armLimit, func(context.Context) tea.Msg { return armedMsg{on, once, set(on)} })
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
	case msg.on && msg.once != nil && !slices.Contains(w.dialogs, msg.once): // the user has left it
		return arm(w, false, nil)
	case msg.on:
		w.armed, w.armedFor = true, msg.once
		w.Flash("writing is allowed: each action is recorded; :read-only forbids it again")
		if msg.once != nil {
			w.Flash("writing is allowed for this action, which is recorded")
		}
		return w.toDialogs(screen.ArmedMsg{})
	default:
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
