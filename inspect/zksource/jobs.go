package zksource

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/internal/sourcekit"
	"lockscope/internal/connect"
)

// job is one request. As many as contenders may wait: it is small.
type job struct {
	dir  *dir
	name string     // of the child to read
	of   *dir       // the lock that an access list is asked for
	seen *time.Time // when it was first listed, if it was made a moment before; else nil
	kind jobKind
	live bool // the child's data hold its state
	// denied: it may not be read, as was reported already; only what needs no right is asked for.
	denied bool
}

type jobKind uint8

const (
	jobStat jobKind = iota
	jobList
	jobGet
	jobData // of the directory itself
	jobCompare
	jobAccess // who has rights on the child or, without a name, the directory itself
	jobLogin
)

// result of a job.
type result struct {
	job      job
	link     *link // when it was sent
	sent, at time.Time
	names    []string
	data     []byte
	stat     *zk.Stat
	access   []zk.ACL
	err      error
	// sealed: it may not be read, but its Stat was.
	sealed bool
	// noChroot: the node does not exist, nor does the chroot.
	noChroot bool
}

// queue holds what is to be asked. What changed goes before what was never seen, and of that the rest of the
// walk, which finds locks, mostly before the contenders of those that were found: first the lists of
// directories that are known to be some, so that a lock shows at once however wide the tree is, then the
// Stats of others. What is only polled goes last.
type queue struct {
	urgent, reads, lists, walk, polls []job
	// alone are those that cannot share a request, where the others do.
	alone               []job
	discovering, steady bucket // requests for one read each, or for what changed
	// Of requests for many reads.
	requests, items, bytes bucket
	pace                   sourcekit.Pace
	turn                   int
	// whole: locks are read to their end before more are looked for, as far as that fills the requests.
	whole bool
}

// enoughReads: while more contenders than that wait to be read, who looks once looks for no further locks. He
// shows a lock when all of it is read, and what waits takes memory.
const enoughReads = eagerInFlight * connect.MostItems / 2

// readEvery: of so many requests to discover, one reads contenders while there is more to walk.
const readEvery = 10

// newQueue makes a queue with the budgets of a configuration.
func newQueue(cfg Config) queue {
	b := cfg.Budget
	if b.Unlimited {
		return queue{whole: cfg.Once}
	}
	return queue{
		discovering: newBucket(b.Discovering, max(1, b.Discovering/10)), steady: newBucket(b.Steady, max(1, b.Steady)),
		requests: newBucket(b.Requests, max(1, b.Requests/10)), items: newBucket(b.Items, max(1, b.Items/10)), bytes: newBucket(b.Bytes, b.Bytes/10), whole: cfg.Once,
	}
}

func (q *queue) empty() bool { return !q.shared() && len(q.alone) == 0 }

// shared reports whether there are jobs that can share a request.
func (q *queue) shared() bool { return q.discovers() || len(q.urgent)+len(q.polls) > 0 }

func (q *queue) discovers() bool { return len(q.reads)+len(q.lists)+len(q.walk) > 0 }

func (q *queue) clear() {
	q.urgent, q.reads, q.lists, q.walk, q.polls, q.alone = nil, nil, nil, nil, nil, nil
}

// takeToken returns the wait before the next request for many reads; a request that need not wait is counted.
func (q *queue) takeToken(now time.Time) time.Duration {
	if wait := max(q.items.await(now), q.bytes.await(now)); wait > 0 {
		return wait
	}
	if q.discovers() {
		return q.requests.take(now)
	}
	return q.steady.take(now)
}

// pick takes the next job for a request with others.
func (q *queue) pick() job {
	switch {
	case len(q.urgent) > 0:
		return pop(&q.urgent)
	case q.discovers():
		q.turn++
		return pop(q.discovery())
	}
	return pop(&q.polls)
}

// discovery is the list that the next job comes from of what was never seen.
func (q *queue) discovery() *[]job {
	list := &q.lists
	if len(q.lists) == 0 {
		list = &q.walk
	}
	if len(*list) == 0 || len(q.reads) > 0 && q.turn%readEvery == 0 || q.whole && len(q.reads) > enoughReads {
		list = &q.reads
	}
	return list
}

// next takes the next job; when the budget has none left it says how long to wait.
func (q *queue) next(now time.Time) (j job, wait time.Duration, ok bool) {
	if len(q.urgent) > 0 {
		if wait = q.steady.take(now); wait == 0 {
			return pop(&q.urgent), 0, true
		}
	}
	if list := q.discovery(); len(*list) > 0 {
		later := q.discovering.take(now)
		if later == 0 {
			q.turn++
			return pop(list), 0, true
		}
		if wait == 0 || later < wait {
			wait = later
		}
	}
	if wait == 0 && len(q.polls) > 0 {
		if wait = q.steady.take(now); wait == 0 {
			return pop(&q.polls), 0, true
		}
	}
	return job{}, wait, false
}

// answered takes in how long a request took: while the servers answer slowly they are asked half as often.
func (q *queue) answered(took time.Duration) {
	q.pace.Add(took)
	for _, b := range [...]*bucket{&q.discovering, &q.steady, &q.requests, &q.items, &q.bytes} {
		b.halved = q.pace.Slow
	}
}

func pop(list *[]job) job {
	j := (*list)[0]
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil // it may have been long
	}
	return j
}

// sendAlone sends a request for one read.
func (r *run) sendAlone(j job) {
	l := r.link
	r.flying++
	r.tasks.Go(func() {
		res := l.request(r.ctx, r.cfg, j)
		res.link = l
		r.deliver(res)
	})
}

// request runs a job on a link.
func (l *link) request(ctx context.Context, cfg Config, j job) result {
	if j.kind == jobAccess {
		return l.requestAccess(cfg, j)
	}
	r := request(ctx, wire{l.conn}, cfg, j)
	r.link = l
	if errors.Is(r.err, zk.ErrNoNode) && j.dir.root && cfg.Chroot != "" {
		exists, _, err := l.conn.Exists(cfg.Chroot)
		r.noChroot = err == nil && !exists
	}
	return r
}

// request runs a job. What may not be read is asked for what needs no right: its existence, its owner, its
// number of children.
func request(ctx context.Context, t Transport, cfg Config, j job) result {
	r := result{job: j, sent: cfg.Now()}
	p := cfg.onServer(j.dir.path)
	if j.kind == jobGet {
		p = join(p, j.name)
	}
	switch {
	case j.kind == jobStat || j.kind == jobCompare:
		r.stat, r.err = t.Exists(ctx, p)
	case j.denied:
		r.err = zk.ErrNoAuth
	case j.kind == jobList:
		r.names, r.stat, r.err = t.Children(ctx, p)
	default:
		r.data, r.stat, r.err = t.Get(ctx, p)
	}
	if errors.Is(r.err, zk.ErrNoAuth) && j.kind != jobStat && j.kind != jobCompare {
		if stat, err := t.Exists(ctx, p); err != nil {
			r.err = err
		} else {
			r.stat, r.sealed = stat, true
		}
	}
	r.at = cfg.Now()
	return r
}

// wire is the Transport of a connection. go-zookeeper knows no contexts: closing the connection ends its requests.
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
