package zksource

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/internal/sourcekit"
)

// job is one request.
type job struct {
	kind jobKind
	dir  *dir
	name string    // of the child to read
	seen time.Time // when it was first listed, if it was made a moment before; else zero
	live bool      // the child's data change while it is there
	// onFirst: no other connection than the first one may ask it.
	onFirst bool
}

type jobKind uint8

const (
	jobStat jobKind = iota
	jobList
	jobGet
	jobData // of the directory itself
	jobLogin
)

// result is what came of a job.
type result struct {
	job      job
	link     *link // the first one when it was sent
	onReader bool  // it was sent on another
	sent, at time.Time
	names    []string
	data     []byte
	stat     *zk.Stat
	err      error
	// sealed: it may not be read, but its Stat was.
	sealed bool
	// noChroot: the node does not exist, nor does the chroot.
	noChroot bool
}

// queue holds what is to be asked. What changed goes before what was never seen, and of that the rest of the walk,
// which finds locks, mostly before the contenders of those that were found: first the lists of directories that are known to
// be some, so that a lock shows at once however wide the tree is, then the Stats of others. What is only polled goes last.
type queue struct {
	urgent, reads, lists, walk, polls []job
	discovering, steady               bucket
	pace                              sourcekit.Pace
	turn                              int
}

// readEvery: of so many requests to discover, one reads contenders while there is more to walk.
const readEvery = 10

func newQueue(b Budget) queue {
	if b.Unlimited {
		return queue{}
	}
	return queue{discovering: newBucket(b.Discovering, max(1, b.Discovering/10)), steady: newBucket(b.Steady, max(1, b.Steady))}
}

func (q *queue) empty() bool {
	return len(q.urgent)+len(q.reads)+len(q.lists)+len(q.walk)+len(q.polls) == 0
}

func (q *queue) clear() { q.urgent, q.reads, q.lists, q.walk, q.polls = nil, nil, nil, nil, nil }

// next takes the next job; when the budget has none left it says how long to wait.
func (q *queue) next(now time.Time) (j job, wait time.Duration, ok bool) {
	if len(q.urgent) > 0 {
		if wait = q.steady.take(now); wait == 0 {
			return pop(&q.urgent), 0, true
		}
	}
	list := &q.lists
	if len(q.lists) == 0 {
		list = &q.walk
	}
	if len(*list) == 0 || len(q.reads) > 0 && q.turn%readEvery == 0 {
		list = &q.reads
	}
	if len(*list) > 0 {
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
	q.discovering.halved, q.steady.halved = q.pace.Slow, q.pace.Slow
}

func pop(list *[]job) job {
	j := (*list)[0]
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil // it may have been long
	}
	return j
}

// ask runs a job on a link.
func (l *link) ask(cfg Config, j job, watch bool) result {
	r := result{job: j, link: l, sent: l.now()}
	p := cfg.onServer(j.dir.path)
	switch j.kind {
	case jobStat:
		var exists bool
		exists, r.stat, r.err = l.conn.Exists(p)
		if r.err == nil && !exists {
			r.err = zk.ErrNoNode
		}
	case jobList:
		if watch {
			r.names, r.stat, _, r.err = l.conn.ChildrenW(p)
		} else {
			r.names, r.stat, r.err = l.conn.Children(p)
		}
	case jobGet:
		r.data, r.stat, r.err = l.get(join(p, j.name), watch)
	case jobData:
		r.data, r.stat, r.err = l.get(p, watch)
	}
	if errors.Is(r.err, zk.ErrNoAuth) && j.kind != jobStat {
		l.askSealed(&r, p, j.name, watch)
	}
	if errors.Is(r.err, zk.ErrNoNode) && j.dir.root && cfg.Chroot != "" {
		exists, _, err := l.conn.Exists(cfg.Chroot)
		r.noChroot = err == nil && !exists
	}
	r.at = l.now()
	return r
}

// askSealed asks for what needs no right of a node that may not be read: whether it exists, who owns it, how many children
// it has. A watch for its data tells of its end, too.
func (l *link) askSealed(r *result, p, name string, watch bool) {
	var exists bool
	var stat *zk.Stat
	var err error
	if name != "" {
		p = join(p, name)
	}
	if watch && r.job.kind != jobList {
		exists, stat, _, err = l.conn.ExistsW(p)
	} else {
		exists, stat, err = l.conn.Exists(p)
	}
	switch {
	case err != nil:
		r.err = err
	case !exists:
		r.err = zk.ErrNoNode
	default:
		r.stat, r.sealed = stat, true
	}
}

func (l *link) get(p string, watch bool) (data []byte, stat *zk.Stat, err error) {
	if watch {
		data, stat, _, err = l.conn.GetW(p)
		return data, stat, err
	}
	return l.conn.Get(p)
}

// watch says whether a request sets a watch, and counts it from now on. One-shot commands set none.
func (r *run) watch(j job) bool {
	d, set := j.dir, false
	switch j.kind {
	case jobList:
		set = d.watched
	case jobData:
		set = d.dataWatched
	case jobGet:
		set = d.live[j.name]
		if !j.live {
			return false
		}
	default:
		return false
	}
	if r.cfg.Once || !set && r.watches >= r.cfg.Budget.Watches {
		return false
	}
	if !set {
		r.watches++
	}
	switch j.kind {
	case jobList:
		d.watched = true
	case jobData:
		d.dataWatched = true
	default:
		if d.live == nil {
			d.live = map[string]bool{}
		}
		d.live[j.name] = true
	}
	return true
}
