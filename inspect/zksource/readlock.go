package zksource

import (
	"context"
	"errors"
	"maps"
	"math"
	"path"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// Transport carries single reads to a server. Paths are the server's. A node that does not exist is
// zk.ErrNoNode, one that may not be read zk.ErrNoAuth, wrapped or not; other errors mean that the server
// could not be asked.
type Transport interface {
	Exists(ctx context.Context, path string) (*zk.Stat, error)
	Children(ctx context.Context, path string) ([]string, *zk.Stat, error)
	Get(ctx context.Context, path string) ([]byte, *zk.Stat, error)
}

// Reading is one lock as it was read at one time.
type Reading struct {
	// Lock has what could not be read in its Unseen; it is free where no lock is there.
	Lock *inspect.Lock

	dir *dir
	own []byte // the node's own data, uncut
	// stat is the newest of the lock's own node; nil where that is not there, or could not be looked at.
	stat *zk.Stat
}

// ReadLock reads the lock at cfg.Only as a Source does: the same reads in the same order, and unknown is what
// becomes so there. The transport decides how new the answers are: ReadLock lists a directory before it reads
// what is in it, and asks for nothing else before. Of cfg, Backend, Chroot, Only and Now count, and Servers,
// as the name of what was asked. An error is the transport's.
func ReadLock(ctx context.Context, t Transport, cfg Config) (*Reading, error) {
	cfg.Once, cfg.Budget = true, Budget{Unlimited: true, Children: math.MaxInt32} // who acts on a lock reads it however long it is
	r := New(cfg).newRun(ctx, func(inspect.Update) {})
	defer r.ensemble.Close()
	list := func(p string) {
		r.root(p)
		r.push(&r.queue.urgent, job{kind: jobList, dir: r.dirs[p]})
	}
	list(r.cfg.Only)
	if r.cfg.Only != "/" {
		list(recipe.KazooQueuePath(r.cfg.Only))
	}
	out := &Reading{}
	for !r.queue.empty() {
		for _, res := range r.requestAtOnce(ctx, t) {
			if res.err != nil && !errors.Is(res.err, zk.ErrNoNode) && !errors.Is(res.err, zk.ErrNoAuth) {
				return nil, res.err
			}
			if res.job.dir.path == r.cfg.Only {
				out.took(res)
			}
			r.apply(res)
		}
	}
	out.dir = r.dirs[r.cfg.Only]
	if out.Lock = r.puts[r.cfg.Only]; out.Lock == nil {
		out.Lock = inspect.FreeDirectory(r.id(out.dir), nil, r.cfg.Now())
	}
	return out, nil
}

// took keeps what an answer tells of the lock's own node.
func (r *Reading) took(res result) {
	switch res.job.kind {
	case jobData:
		r.own = res.data
	case jobStat, jobList:
	default:
		return
	}
	if r.stat = nil; res.err == nil || res.sealed {
		r.stat = res.stat
	}
}

// readAtOnce limits the reads of ReadLock that wait for an answer.
const readAtOnce = 32

// requestAtOnce asks for all that is queued, lists one after the other, and returns the answers in the order
// of the queue.
func (r *run) requestAtOnce(ctx context.Context, t Transport) []result {
	var jobs []job
	for r.queue.shared() {
		if j := r.queue.pick(); r.wanted(j) {
			jobs = append(jobs, j)
		}
	}
	results := make([]result, len(jobs))
	slots := make(chan struct{}, readAtOnce)
	var wg sync.WaitGroup
	for i, j := range jobs {
		if j.kind == jobList {
			results[i] = request(ctx, t, r.cfg, j)
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			results[i] = request(ctx, t, r.cfg, j)
			<-slots
		})
	}
	wg.Wait()
	return results
}

// Node is the znode of a contender as it was read; false for one of which the lock says nothing.
func (r *Reading) Node(c *inspect.Contender) (inspect.Znode, bool) {
	dirs := append([]*dir{r.dir}, slices.Collect(maps.Values(r.dir.parts))...)
	for _, d := range dirs {
		if n, ok := d.of(c.Name.Raw()); ok && n.Czxid == c.Czxid {
			return n, true
		}
	}
	return inspect.Znode{}, false
}

// Own is the data of the lock's own znode, uncut; false where that is not the contender's node, or may not be read.
func (r *Reading) Own(c *inspect.Contender) ([]byte, bool) {
	n := r.dir.own()
	return r.own, r.dir.single && n.Known && !n.Sealed && n.Name == c.Name.Raw() && n.Czxid == c.Czxid
}

// Stands returns the czxid of the ephemeral node of a contender's name, where the lock's node or its
// contenders are; false where none is. Where the lock has no such contender it is there all the same, and is
// none by what is around it now: another node beside the one that was alone, or names in its queue that no
// server can have numbered.
func (r *Reading) Stands(name string) (czxid int64, ok bool) {
	if r.stat != nil && r.stat.EphemeralOwner != 0 && name == path.Base(r.dir.path) {
		return r.stat.Czxid, true
	}
	for _, d := range append([]*dir{r.dir}, slices.Collect(maps.Values(r.dir.parts))...) {
		if n, read := d.of(name); read && n.EphemeralOwner != 0 && !n.IsLease() {
			return n.Czxid, true
		}
	}
	return 0, false
}

// Without is the lock as it would be without the contender; nil when nothing is left of it.
func (r *Reading) Without(c *inspect.Contender) *inspect.Lock {
	gone := func(n inspect.Znode) bool { return n.Name == c.Name.Raw() && n.Czxid == c.Czxid }
	if gone(r.dir.own()) {
		return nil
	}
	whole := r.dir.directory(r.Lock.ReadAt, nil)
	whole.Children = slices.DeleteFunc(whole.Children, gone)
	for place, children := range whole.Parts {
		whole.Parts[place] = slices.DeleteFunc(children, gone)
	}
	l, _ := whole.Lock(r.Lock.ID, r.Lock.ReadAt)
	return l
}
