package zksource

import (
	"context"
	"errors"
	"math"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
)

// Transport sends single reads to a server. Paths are the server's. The error for a missing node is
// zk.ErrNoNode, and for an unreadable one zk.ErrNoAuth, perhaps wrapped. Other errors mean that the
// server could not be asked.
type Transport interface {
	Exists(ctx context.Context, path string) (*zk.Stat, error)
	Children(ctx context.Context, path string) ([]string, *zk.Stat, error)
	Get(ctx context.Context, path string) ([]byte, *zk.Stat, error)
}

type Reading struct {
	// Lock lists its failed reads in Unseen. It is free if there is no lock.
	Lock *inspect.Lock

	dir *tree.Dir
	own []byte // the node's own data, uncut
	// stat is the newest of the lock's own node; nil if it does not exist or could not be read.
	stat *tree.Stat
}

// ReadLock reads the lock at cfg.Only as a Source does: with the same reads in the same order, and
// the same unknowns. The transport decides how new the answers are: ReadLock lists a directory
// before it reads its children, and sends no other request first. From cfg it uses Backend, Chroot,
// Only and Now, and Servers as the name of the servers asked. Errors are the transport's.
func ReadLock(ctx context.Context, t Transport, cfg Config) (*Reading, error) {
	cfg.Once = true
	cfg.Budget = Budget{Unlimited: true, Children: math.MaxInt32} // an action reads every lock in full
	cfg = cfg.withDefaults()
	nodes := tree.New(cfg.tree(usualBeats()))
	nodes.Ask(strings.Join(cfg.Servers, ","))
	out := &Reading{}
	for !nodes.Queue.Empty() {
		for _, reply := range requestAtOnce(ctx, t, cfg, nodes) {
			if reply.Err != nil && !errors.Is(reply.Err, tree.ErrGone) && !errors.Is(reply.Err, tree.ErrDenied) {
				return nil, reply.Err
			}
			if reply.Dir.Path == cfg.Only {
				out.took(&reply)
			}
			nodes.Apply(&reply)
		}
		nodes.Build(cfg.Now())
	}
	out.dir = nodes.Dir(cfg.Only)
	if out.Lock = nodes.Changes().Put[cfg.Only]; out.Lock == nil {
		out.Lock = inspect.FreeDirectory(inspect.ID{Backend: cfg.Backend, Path: cfg.Only}, nil, cfg.Now())
	}
	return out, nil
}

// took keeps the part of an answer about the lock's own node.
func (r *Reading) took(reply *tree.Reply) {
	switch reply.Kind {
	case tree.JobData:
		r.own = reply.Data
	case tree.JobStat, tree.JobList:
	default:
		return
	}
	if r.stat = nil; reply.HasStat() {
		stat := reply.Stat
		r.stat = &stat
	}
}

// readAtOnce limits the reads in flight.
const readAtOnce = 32

// requestAtOnce sends all queued reads, but only one list at a time, and returns the answers in
// order.
func requestAtOnce(ctx context.Context, t Transport, cfg Config, nodes *tree.Tree) []tree.Reply {
	var jobs []tree.Job
	for nodes.Queue.Shared() {
		if j := nodes.Queue.Pick(); nodes.Wanted(j) {
			jobs = append(jobs, j)
		}
	}
	replies := make([]tree.Reply, len(jobs))
	var others errgroup.Group
	others.SetLimit(readAtOnce)
	for i, j := range jobs {
		read := func() error { replies[i] = request(ctx, t, cfg, j); return nil }
		if j.Kind == tree.JobList {
			_ = read()
		} else {
			others.Go(read)
		}
	}
	_ = others.Wait() // errors are in the replies
	return replies
}

// Node returns the znode of a contender; false if it is not in the lock.
func (r *Reading) Node(c *inspect.Contender) (inspect.Znode, bool) {
	return r.dir.Find(c.Name.Raw(), func(n inspect.Znode) bool { return n.Czxid == c.Czxid })
}

// Own returns the uncut data of the lock's own znode; false if that is not the contender's node,
// or is unreadable.
func (r *Reading) Own(c *inspect.Contender) ([]byte, bool) {
	n := r.dir.Own()
	return r.own, r.dir.Lone() && n.Known && !n.Sealed && isContender(n, c)
}

// EphemeralNode returns the czxid of the ephemeral node with a contender's name, at the lock's node or
// among its contenders; false if none. The node may exist although the lock has no such
// contender, because of a second node next to a lone one, or impossible sequence numbers.
func (r *Reading) EphemeralNode(name string) (czxid int64, ok bool) {
	if r.stat != nil && r.stat.EphemeralOwner != 0 && name == path.Base(r.dir.Path) {
		return r.stat.Czxid, true
	}
	n, ok := r.dir.Find(name, func(n inspect.Znode) bool { return n.EphemeralOwner != 0 })
	return n.Czxid, ok
}

// Without returns the lock without the contender; nil if nothing is left.
func (r *Reading) Without(c *inspect.Contender) *inspect.Lock {
	return r.dir.Without(r.Lock.ID, r.Lock.ReadAt, func(n inspect.Znode) bool { return isContender(n, c) })
}

func isContender(n inspect.Znode, c *inspect.Contender) bool {
	return n.Name == c.Name.Raw() && n.Czxid == c.Czxid
}
