package hold

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/act"
)

// ownAudit records in the audit file which locks this program's user took, and how they ended. A
// failure to write is reported once and stops nothing, since no other user's lock is touched.
type ownAudit struct {
	report func(error) // nil: a screen has the terminal

	mu    sync.Mutex
	audit *act.Audit // nil: nothing is recorded
	said  bool
}

// newOwnAudit opens the default audit file.
func newOwnAudit(a *app.App, s app.Setup) *ownAudit {
	o := &ownAudit{report: func(err error) { a.Say("%v (this lock is not in the audit file)", err) }}
	var err error
	o.audit, err = a.OpenAudit(s, "")
	o.check(err)
	return o
}

func (o *ownAudit) check(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && !o.said && o.report != nil {
		o.report(err)
		o.said = true
	}
}

// acquired records a hold. The first call of ended records its end, with the error of the release
// or the cause of a loss.
func (o *ownAudit) acquired(t connect.Target, id inspect.ID, hold *lockops.Hold) (ended func(error)) {
	o.mu.Lock()
	audit := o.audit
	o.mu.Unlock()
	if audit == nil {
		return func(error) {}
	}
	target := act.Target{Name: t.Name, Servers: t.Servers, Chroot: t.Chroot, DB: t.DB}
	owned, err := audit.Acquired(target, t.Service != connect.ZooKeeper, id, hold.Name())
	o.check(err)
	if err != nil {
		return func(error) {}
	}
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			switch {
			case err == nil:
				o.check(owned.Released())
			case errors.Is(err, lockops.ErrLost):
				o.check(owned.Lost(err))
			default:
				o.check(owned.Lost(fmt.Errorf("not released: %w", err)))
			}
		})
	}
}

func (o *ownAudit) close() {
	if o.audit != nil {
		_ = o.audit.Close() // every line was synced when it was written
	}
}
