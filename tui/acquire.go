package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

// acquireAction opens the form that takes a lock, from any screen.
func (w *world) acquireAction() screen.Action {
	hint := "acquire"
	if w.Past() {
		hint = ""
	}
	return screen.Action{
		Keys: []string{"a"}, Shown: "a", Hint: hint, Late: true, Help: "acquire a lock",
		Writes: w.ReadOnly() == "", Disabled: w.CannotAcquire,
		Run: func() tea.Cmd {
			w.Go(screen.Lab, w.front().Selected())
			return func() tea.Msg { return answeredMsg{screen.Lab, lab.AcquireMsg{}} }
		},
	}
}

// notYours says that r releases no other client's lock; empty on a lock that the user holds here.
func (a acting) notYours() string {
	listed := a.inFront == screen.Locks || a.inFront == screen.Chain
	_, c, _ := a.selected()
	if listed && c != nil && c.State == inspect.Holding && screen.You(a.theme, &c.Owner) != nil {
		return a.ReadOnly()
	}
	return "r releases a lock of yours, and x another client's"
}

// releaseOwn releases a lock that the user holds here. Help does not list it.
func (a acting) releaseOwn() screen.Action {
	return screen.Action{
		Keys: []string{"r"}, Hint: "release yours", Writes: true, Disabled: a.notYours,
		Run: func() tea.Cmd {
			l, c, _ := a.selected()
			return func() tea.Msg { return answeredMsg{screen.Lab, lab.ReleaseMsg{Lock: l.ID, Name: c.Name}} }
		},
	}
}
