package cli

import (
	"sync"

	"lockscope/inspect"
	"lockscope/lockops/act"
)

// writing allows a screen to change locks, and forbids it again, while it runs. Previews are always possible.
type writing struct {
	app  *app
	path string // of the audit file; empty is the default one
	all  *releasers
	lab  *labDriver

	mu sync.Mutex // one arming at a time
}

func (a *app) newWriting(s setup, path string, observer *inspect.Observer) *writing {
	w := &writing{app: a, path: path, all: a.newPreviewers(s)}
	w.all.forcing = observer.Forced
	w.lab = a.newLab(s, nil, observer.Forget)
	w.lab.armed = w.all.armed
	return w
}

// arm allows writing, which needs the audit file, or forbids it.
func (w *writing) arm(on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if on && !w.all.hasAudit() {
		audit, err := w.app.openAudit(w.all.setup, w.path)
		if err != nil {
			return err
		}
		w.all.record(audit)
		w.lab.trail.record(audit)
	}
	w.all.setArmed(on)
	return nil
}

func (w *writing) close() {
	w.lab.close() // what it gives back is recorded
	w.all.close()
}

// hasAudit reports whether there is an audit file.
func (r *releasers) hasAudit() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.audit != nil
}

// record has what is done from now on written to an audit file. Releasers that were made without it are left
// to previews under way.
func (r *releasers) record(audit *act.Audit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.audit = audit
	clear(r.made)
}

func (r *releasers) setArmed(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disarmed = !on
}

func (r *releasers) armed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.audit != nil && !r.disarmed
}
