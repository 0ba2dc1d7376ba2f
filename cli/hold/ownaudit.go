package hold

import (
	"fmt"
	"sync"

	"lockscope/cli/app"
	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/lockops"
	"lockscope/lockops/act"
)

// ownTrail writes into the audit file which locks this program's user took, and how they ended.
// What cannot be written is said once, and stops nobody: nothing of others is touched.
type ownTrail struct {
	app   *app.App
	audit *act.Audit // nil where it cannot be opened
	mine  bool       // it was opened for this

	mu    sync.Mutex
	said  bool
	holds map[*lockops.Hold]act.Owned
}

// newOwnTrail opens the default audit file.
func newOwnTrail(a *app.App, s app.Setup) *ownTrail {
	o := &ownTrail{app: a, mine: true, holds: make(map[*lockops.Hold]act.Owned)}
	var err error
	o.audit, err = a.OpenAudit(s, "")
	o.check(err)
	return o
}

func (o *ownTrail) check(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil || o.said {
		return
	}
	o.said = true
	if o.mine { // the screen has the terminal otherwise
		o.app.Say("%v (the lock is not recorded)", err)
	}
}

// record has what is taken from now on written to an audit file of somebody else's.
func (o *ownTrail) record(audit *act.Audit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.audit = audit
}

func (o *ownTrail) acquired(t connect.Target, id inspect.ID, hold *lockops.Hold) {
	o.mu.Lock()
	audit := o.audit
	o.mu.Unlock()
	if audit == nil {
		return
	}
	target := act.Target{Name: t.Name, Servers: t.Servers, Chroot: t.Chroot, DB: t.DB}
	owned, err := audit.Acquired(target, t.Service != connect.ZooKeeper, id, hold.Name())
	o.check(err)
	if err == nil {
		o.mu.Lock()
		o.holds[hold] = owned
		o.mu.Unlock()
	}
}

// of takes the hold off the list of those that have not ended.
func (o *ownTrail) of(hold *lockops.Hold) (act.Owned, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	owned, ok := o.holds[hold]
	delete(o.holds, hold)
	return owned, ok
}

func (o *ownTrail) released(hold *lockops.Hold) {
	if owned, ok := o.of(hold); ok {
		o.check(owned.Released())
	}
}

// lost records why, which the hold's context does not know where only its release has found that.
func (o *ownTrail) lost(hold *lockops.Hold, why error) {
	if owned, ok := o.of(hold); ok {
		o.check(owned.Lost(why))
	}
}

// failed records a hold that could not be given back, so that it ends by itself.
func (o *ownTrail) failed(hold *lockops.Hold, err error) {
	o.lost(hold, fmt.Errorf("not given back: %w", err))
}

func (o *ownTrail) close() {
	if o.audit != nil && o.mine {
		_ = o.audit.Close() // every line was synced when it was written
	}
}
