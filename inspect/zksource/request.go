package zksource

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// result is the outcome of a single-read request, or of the login.
type result struct {
	tree.Reply
	link  *link // the link on which it was sent
	login bool
}

// dispatch sends as many requests as the budgets allow, first for the jobs that can share requests.
func (r *run) dispatch(now time.Time) {
	p, q := &r.pacing, &r.tree.Queue
	if p.throttle = max(0, p.paused.until.Sub(now)); p.throttle > 0 || !r.conn.ready {
		return
	}
	if r.conn.many {
		for p.batches < p.mayFly(q, &r.conn.link.distance) && q.Shared() {
			if p.throttle = p.takeMany(q.Discovers(), now); p.throttle > 0 {
				break
			}
			r.sendMany(r.gather(), now)
		}
	}
	for p.flying < inFlight {
		j, wait, ok := p.next(q, r.conn.many, r.tree.FirstPass, now)
		if !ok {
			if wait > 0 && (p.throttle == 0 || wait < p.throttle) {
				p.throttle = wait
			}
			return
		}
		if r.tree.Wanted(j) {
			r.sendAlone(j)
		}
	}
}

// sendAlone sends a single-read request.
func (r *run) sendAlone(j tree.Job) {
	l := r.conn.link
	r.pacing.flying++
	r.tasks.Go(func() { r.deliver(result{Reply: l.request(r.ctx, r.cfg, j), link: l}) })
}

// result handles the outcome of a single-read request.
func (r *run) result(res result) {
	r.pacing.flying--
	switch {
	case res.link != r.conn.link:
	case res.login:
		r.loggedIn(res)
	case isBroken(res.Err):
		r.conn.link.broken = true // the link's own event follows, and then everything is read again
	case zkwire.Throttled(res.Err):
		list := &r.tree.Queue.Reads
		if r.conn.many {
			list = &r.tree.Queue.Alone
		}
		r.requestedTooMuch(list, res.At, res.Job)
	default:
		r.progress = res.At
		r.pacing.answered(res.At.Sub(res.Sent))
		if errors.Is(res.Err, tree.ErrDenied) && res.Kind == tree.JobList && (res.Dir.Root() || res.Dir.WasListed()) {
			r.conn.refusedAt = res.At // refusals of other nodes may be normal
		}
		r.apply(&res.Reply)
	}
}

// apply puts a reply into the tree, and learns the leader's clock from it.
func (r *run) apply(reply *tree.Reply) {
	wanted := reply.Kind == tree.JobList || reply.Kind == tree.JobGet && r.tree.Wanted(reply.Job)
	r.tree.Apply(reply)
	if !wanted || !reply.HasStat() {
		return
	}
	stat := &reply.Stat
	created := time.UnixMilli(stat.Ctime)
	r.ensemble.Dated(stat.Czxid, created, reply.At)
	r.ensemble.Dated(stat.Mzxid, time.UnixMilli(stat.Mtime), reply.At)
	if reply.Seen != nil {
		r.ensemble.Created(stat.Czxid, created, *reply.Seen, reply.At)
	}
}

// request runs a job on a link.
func (l *link) request(ctx context.Context, cfg Config, j tree.Job) tree.Reply {
	r := request(ctx, wire{l.conn}, cfg, j)
	if errors.Is(r.Err, tree.ErrGone) && j.Dir.Root() && cfg.Chroot != "" {
		exists, _, err := l.conn.Exists(cfg.Chroot)
		r.NoChroot = err == nil && !exists
	}
	return r
}

// request runs a job. If a node is unreadable, it requests the Stat, which needs no right.
func request(ctx context.Context, t Transport, cfg Config, j tree.Job) tree.Reply {
	r := tree.Reply{Job: j, Sent: cfg.Now()}
	p := cfg.onServer(j.Node())
	var stat *zk.Stat
	var err error
	switch {
	case j.Kind == tree.JobStat || j.Kind == tree.JobCompare:
		stat, err = t.Exists(ctx, p)
	case j.Denied:
		err = zk.ErrNoAuth
	case j.Kind == tree.JobList:
		r.Names, stat, err = t.Children(ctx, p)
	default:
		r.Data, stat, err = t.Get(ctx, p)
	}
	if errors.Is(err, zk.ErrNoAuth) && j.Kind != tree.JobStat && j.Kind != tree.JobCompare {
		var failed error
		if stat, failed = t.Exists(ctx, p); failed != nil {
			err = failed
		} else {
			r.Sealed = true
		}
	}
	if r.Err = replyError(err); err == nil || r.Sealed {
		r.Stat = statOf(stat)
	}
	r.At = cfg.Now()
	return r
}

// replyError maps an error to the tree's own.
func replyError(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return tree.ErrGone
	case errors.Is(err, zk.ErrNoAuth):
		return tree.ErrDenied
	}
	return err
}

func statOf(s *zk.Stat) tree.Stat {
	return tree.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: s.Ctime, Mtime: s.Mtime,
		EphemeralOwner: s.EphemeralOwner,
		Version:        s.Version, Cversion: s.Cversion, Aversion: s.Aversion, NumChildren: s.NumChildren,
	}
}

// wire is the Transport of a connection. go-zookeeper has no contexts, so requests end when the
// connection is closed.
type wire struct{ conn *zk.Conn }

func (w wire) Exists(_ context.Context, p string) (*zk.Stat, error) {
	exists, stat, err := w.conn.Exists(p)
	if err == nil && !exists {
		err = zk.ErrNoNode
	}
	return stat, err
}

func (w wire) Children(_ context.Context, p string) ([]string, *zk.Stat, error) {
	return w.conn.Children(p)
}

func (w wire) Get(_ context.Context, p string) ([]byte, *zk.Stat, error) { return w.conn.Get(p) }
