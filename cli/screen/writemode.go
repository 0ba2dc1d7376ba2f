package screen

import (
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/lab"
)

// Lab takes locks for the screen, and records them in an audit file.
type Lab interface {
	lab.Driver
	Record(*act.Audit)
	Close()
}

// LabMaker makes the lab of a setup. forget gets a lock that was made for a run; armed says
// whether one may be taken.
type LabMaker func(s app.Setup, forget func(inspect.ID), armed func() bool) Lab

// writing allows a screen to change locks, and forbids it again, while it runs. Previews are always
// possible.
type writing struct {
	path string // of the audit file; empty is the default one
	all  *app.Releasers
	lab  Lab
}

func newWriting(a *app.App, s app.Setup, path string, observer *inspect.Observer, newLab LabMaker) *writing {
	w := &writing{path: path, all: a.NewPreviewers(s)}
	w.all.Forcing = observer.Forced
	w.lab = newLab(s, observer.Forget, w.all.Armed)
	return w
}

// arm allows writing, which needs the audit file, or forbids it.
func (w *writing) arm(on bool) error {
	audit, err := w.all.Arm(on, w.path)
	if audit != nil {
		w.lab.Record(audit)
	}
	return err
}

func (w *writing) close() {
	w.lab.Close() // what it gives back is recorded
	w.all.Close()
}
