package tui

import (
	"cmp"
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/release"
	"github.com/lockscope/lockscope/tui/screen"
)

// permission is what the user may write.
type permission struct {
	all bool // until :read-only
	// one is the dialog whose action is allowed while it is open; nil without one.
	one screen.Dialog
	// own allows locks and runs of the Lab, until none is left.
	own bool
}

func (p permission) any() bool { return p.all || p.one != nil || p.own }

// armedMsg is the outcome of allowing or, with none, forbidding writing.
type armedMsg struct {
	permission
	err error
}

// ReadOnly explains why no lock may be acquired; empty if one may be.
func (w *world) ReadOnly() string {
	if w.pastEvents == nil && w.options.Lab != nil && (w.options.Arm == nil || w.may.all || w.may.own) {
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
	if w.pastEvents == nil && allowed && (w.options.Arm == nil || w.may.all || w.may.one != nil) {
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

// Arm allows writing, unless something else forbids it: in the Lab its own locks and runs, and
// elsewhere the action of the dialog in front.
func (w *world) Arm() tea.Cmd {
	if w.may.all || w.options.Arm == nil || w.options.Replay || w.Past() || w.options.ReadOnly != "" {
		return nil
	}
	switch {
	case w.inFront != screen.Lab && w.may.one == nil:
		return arm(w, permission{one: w.top()})
	case w.inFront == screen.Lab && !w.may.own:
		return arm(w, permission{own: true})
	}
	return nil
}

func arm(w *world, what permission) tea.Cmd {
	set := w.options.Arm
	return w.Command(armLimit, func(context.Context) tea.Msg { return armedMsg{what, set(what.any())} })
}

// disarm forbids writing that was allowed for something that is over.
func disarm(w *world) {
	before := w.may.any()
	if !slices.Contains(w.dialogs, w.may.one) {
		w.may.one = nil
	}
	held, waiting := w.inHand()
	s, ok := w.screens[screen.Lab].(*lab.Screen)
	w.may.own = w.may.own && (held+waiting > 0 || ok && s.Runs.Running())
	if before && !w.may.any() {
		w.Later(arm(w, permission{}))
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
			if w.may.all {
				w.Flash("writing is already allowed; :read-only forbids it")
				return nil
			}
			return arm(w, permission{all: true})
		},
	}, {
		Shown: ":read-only", Hint: "read-only", Help: "forbid actions on locks",
		Run: func() tea.Cmd { return arm(w, permission{}) },
		Disabled: func() string {
			switch held, waiting := w.inHand(); {
			case !w.may.all:
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
		return nil
	case !msg.any():
		if w.may.all {
			w.Flash("read-only")
		}
		w.may.all = false
		return nil
	case msg.all:
		w.may.all = true
		w.Flash("writing is allowed: each action is recorded; :read-only forbids it again")
	default:
		w.may.one, w.may.own = cmp.Or(msg.one, w.may.one), w.may.own || msg.own
		if w.HasDialog() { // else the user has left it
			w.Flash("writing is allowed for this only; it is recorded")
		}
	}
	return w.toDialogs(screen.ArmedMsg{})
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
