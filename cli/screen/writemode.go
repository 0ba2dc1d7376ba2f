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

// LabMaker makes the lab of a setup. The lab calls forget with each lock that it made for a run;
// armed reports whether it may take locks.
type LabMaker func(s app.Setup, forget func(inspect.ID), armed func() bool) Lab

// writing turns write mode on and off while the screen runs. Previews are always possible.
type writing struct {
	path string // of the audit file; empty means the default
	all  *app.Releasers
	lab  Lab
}

func newWriting(a *app.App, s app.Setup, path string, observer *inspect.Observer, newLab LabMaker) *writing {
	w := &writing{path: path, all: a.NewPreviewers(s)}
	w.all.Forcing = observer.Forced
	w.lab = newLab(s, observer.Forget, w.all.Armed)
	return w
}

// arm turns write mode on, which needs the audit file, or off.
func (w *writing) arm(on bool) error {
	audit, err := w.all.Arm(on, w.path)
	if audit != nil {
		w.lab.Record(audit)
	}
	return err
}

func (w *writing) close() {
	w.lab.Close() // before the audit file, which records the releases
	w.all.Close()
}
