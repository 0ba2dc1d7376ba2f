package hold

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/lab"
)

// Lab takes locks of a setup's backends for the screen. It connects to each at the first use, so
// that a viewer has no writing connection. Close releases everything.
type Lab struct {
	app   *app.App
	setup app.Setup
	label string
	// forget drops the lock that was made for a run.
	forget func(inspect.ID)
	audit  *ownAudit
	armed  func() bool // nil: always

	mu       sync.Mutex
	closed   bool
	sessions map[string]*labSession
	holds    map[*labHold]bool
	runs     map[*contend.Run]bool
}

// labSession is a session with a backend, which all locks taken by hand there share.
type labSession struct {
	mu      sync.Mutex // while it connects
	session lockops.Session
}

// NewLab returns a lab on a setup's backends. forget is called with the lock of a run that ended;
// armed says whether a lock may be taken, nil means always.
func NewLab(a *app.App, s app.Setup, forget func(inspect.ID), armed func() bool) *Lab {
	host, _ := os.Hostname()
	return &Lab{
		app: a, setup: s, forget: forget, armed: armed, label: fmt.Sprintf("%s:%d", host, os.Getpid()),
		audit: &ownAudit{}, sessions: make(map[string]*labSession),
		holds: make(map[*labHold]bool), runs: make(map[*contend.Run]bool),
	}
}

// onFirst is the name of a contention on the first of several masters.
const onFirst = "mutex on one master"

// Backends returns the targets' backends.
func (l *Lab) Backends() []lab.Backend {
	list := make([]lab.Backend, len(l.setup.Targets))
	for i, t := range l.setup.Targets {
		q := lockChoice{target: t}
		b := lab.Backend{Name: t.Name, ZooKeeper: t.Service == connect.ZooKeeper, Recipes: make(map[string][]string)}
		if !b.ZooKeeper {
			b.Masters = 1
		}
		if q.servers() == lockops.OnRedisMasters {
			b.Masters = len(t.Servers)
			b.Targets = []string{onFirst}
		}
		for _, k := range lockops.KindsOn(q.servers()) {
			b.Kinds = append(b.Kinds, k.Name)
			switch {
			case k.Readers != "":
				b.Targets = append(b.Targets, k.Readers+","+k.Name)
			case !k.Shared:
				b.Targets = append(b.Targets, k.Name)
			}
			b.Recipes[k.Name] = k.Recipes
		}
		list[i] = b
	}
	return list
}

// choice prepares a lock of this kind on a backend.
func (l *Lab) choice(backend, kind string) (*lockChoice, lockops.Kind, error) {
	target, err := l.setup.Backend(backend)
	if err != nil {
		return nil, lockops.Kind{}, err
	}
	q := &lockChoice{App: l.app, setup: l.setup, target: target, kind: kind, label: l.label, ttl: 30 * time.Second}
	k, err := q.kindNamed(kind)
	return q, k, err
}

// Acquire takes a lock.
func (l *Lab) Acquire(ctx context.Context, o lab.Order, waiting func(name string)) (lab.Held, error) {
	if err := l.mayWrite(); err != nil {
		return nil, err
	}
	q, kind, err := l.choice(o.Lock.Backend, o.Kind)
	if err != nil {
		return nil, err
	}
	q.id, q.recipe, q.prefix = o.Lock, o.Recipe, o.Prefix
	if o.TTL > 0 {
		q.ttl = o.TTL
	}
	options := append(q.options(), lockops.OnWaiting(waiting), lockops.WithReentry())
	if q.servers() == lockops.OnZooKeeper {
		options = append(options, lockops.WithRecipe(q.recipe))
	}
	session, err := l.session(ctx, q)
	if err != nil {
		return nil, q.setup.Explain(err)
	}
	locker, err := kind.New(session, o.Lock.Path, options...)
	if err != nil {
		return nil, err
	}
	acquire := locker.Acquire
	if o.Try {
		acquire = locker.TryAcquire
	}
	return l.held(ctx, taken{q.target, o.Lock, locker}, acquire)
}

// taken is a lock that is taken by hand, and its backend.
type taken struct {
	target connect.Target
	id     inspect.ID
	locker lockops.Locker
}

// mayWrite returns the reason why no lock may be taken now.
func (l *Lab) mayWrite() error {
	if l.armed != nil && !l.armed() {
		return errors.New("writing is not allowed (:write allows it)")
	}
	return l.setup.MayWrite()
}

// held takes a lock and remembers the hold.
func (l *Lab) held(
	ctx context.Context, of taken, acquire func(context.Context) (*lockops.Hold, error),
) (lab.Held, error) {
	hold, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	h := &labHold{hold, l, of, l.audit.acquired(of.target, of.id, hold)}
	l.mu.Lock()
	closed := l.closed
	var lost []*labHold
	for other := range l.holds {
		if other.Context().Err() != nil {
			lost = append(lost, other)
			delete(l.holds, other)
		}
	}
	l.holds[h] = true
	l.mu.Unlock()
	for _, other := range lost {
		other.ended(context.Cause(other.Context()))
	}
	if closed {
		l.release(h)
		return nil, lockops.ErrClosed
	}
	return h, nil
}

// session returns a backend's session, and connects the first time.
func (l *Lab) session(ctx context.Context, q *lockChoice) (lockops.Session, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, lockops.ErrClosed
	}
	s := l.sessions[q.target.Name]
	if s == nil {
		s = new(labSession)
		l.sessions[q.target.Name] = s
	}
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		return s.session, nil
	}
	connecting, cancel := context.WithTimeout(ctx, l.app.Timeout)
	defer cancel()
	var err error
	s.session, err = q.session(connecting)
	return s.session, err
}

// Record sets the audit file for locks that are acquired from now on.
func (l *Lab) Record(audit *act.Audit) {
	l.audit.mu.Lock()
	defer l.audit.mu.Unlock()
	l.audit.audit = audit
}

// labHold is a hold that knows its lock.
type labHold struct {
	*lockops.Hold
	lab   *Lab
	of    taken
	ended func(error)
}

// Reenter takes the lock again within the hold.
func (h *labHold) Reenter(ctx context.Context) (lab.Held, error) {
	inside, cancel := context.WithCancel(h.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return h.lab.held(inside, h.of, h.of.locker.Acquire)
}

// Release ends the hold and records its end.
func (h *labHold) Release(ctx context.Context) error {
	h.lab.mu.Lock()
	delete(h.lab.holds, h)
	h.lab.mu.Unlock()
	err := h.Hold.Release(ctx)
	h.ended(err)
	return err
}

// Contend starts a run on a temporary lock.
func (l *Lab) Contend(ctx context.Context, c lab.RunOptions) (lab.Run, error) {
	if err := l.mayWrite(); err != nil {
		return nil, err
	}
	target, err := l.contendTarget(ctx, c)
	if err != nil {
		return nil, err
	}
	run, err := contend.Start(ctx, target, contend.Config{
		Contenders: c.Contenders, Hold: c.Hold, Think: c.Think, For: c.For, Seed: c.Seed, Connect: l.app.Timeout,
	})
	if err != nil {
		return nil, l.setup.Explain(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.runs, func(r *contend.Run, _ bool) bool { return ended(r) })
	l.runs[run] = true
	if l.closed {
		run.Stop()
	}
	return labRun{run, l}, nil
}

// labRun is a run on a lock that is made for it.
type labRun struct {
	*contend.Run
	lab *Lab
}

// Wait waits for the end of the run and of its lock.
func (r labRun) Wait() (contend.Report, error) {
	report, err := r.Run.Wait()
	if id, wrong := inspect.ParseID(report.Lock); wrong == nil {
		r.lab.forget(id)
	}
	return report, err
}

func ended(r *contend.Run) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

func (l *Lab) contendTarget(ctx context.Context, c lab.RunOptions) (contend.Target, error) {
	kind, first := c.Target, c.Target == onFirst
	if first {
		kind = lockops.KindsOn(lockops.OnRedisMasters)[0].Name
	}
	var q *lockChoice
	var kinds []lockops.Kind
	for name := range strings.SplitSeq(kind, ",") {
		var k lockops.Kind
		var err error
		if q, k, err = l.choice(c.Backend, name); err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	if first {
		kinds = lockops.KindsOn(lockops.OnRedis)[:1]
		q.target.Servers = q.target.Servers[:1]
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	name := hex.EncodeToString(random[:])
	site := contend.Site{Backend: c.Backend + ":", Name: lab.TemporaryNode + name, Kinds: kinds}
	if q.target.Service != connect.ZooKeeper {
		site.Name, site.Options = lab.TemporaryKey+name, []lockops.Option{lockops.WithTTL(q.ttl)}
	}
	return q.contendTarget(ctx, site, "curator")
}

// labClose limits the time for releasing everything.
const labClose = 5 * time.Second

func (l *Lab) release(h *labHold) {
	ctx, cancel := context.WithTimeout(context.Background(), labClose)
	defer cancel()
	_ = h.Release(ctx) // if it is lost or unreachable, it expires
}

// Close ends the runs, releases every lock, and ends the sessions.
func (l *Lab) Close() {
	l.mu.Lock()
	l.closed = true
	runs, holds := slices.Collect(maps.Keys(l.runs)), slices.Collect(maps.Keys(l.holds))
	sessions := slices.Collect(maps.Values(l.sessions))
	l.mu.Unlock()
	var all sync.WaitGroup
	for _, r := range runs {
		r.Stop()
		all.Go(func() { _, _ = r.Wait() }) // the result is not needed any more
	}
	for _, h := range holds {
		all.Go(func() { l.release(h) })
	}
	all.Wait()
	for _, s := range sessions {
		s.mu.Lock()
		if s.session != nil {
			s.session.Close()
		}
		s.mu.Unlock()
	}
}
