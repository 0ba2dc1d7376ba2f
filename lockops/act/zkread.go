package act

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"lockscope/inspect"
)

// errClosed: the Releaser was closed.
var errClosed = errors.New("closed")

// request runs one request of go-zookeeper, which knows no contexts, and waits for its answer or for the end of ctx. The
// goroutine is the Releaser's: Close waits for it.
func request[T any](ctx context.Context, z *ZooKeeper, what, node string, ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, z.unreachable(what, node, context.Cause(ctx))
	}
	answers := make(chan answer, 1)
	if !z.goDo(func() {
		value, err := ask()
		answers <- answer{value, err}
	}) {
		return none, z.unreachable(what, node, errClosed)
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, z.unreachable(what, node, context.Cause(ctx))
	}
}

// goDo runs f in a goroutine that Close waits for; after Close it does not run.
func (z *ZooKeeper) goDo(f func()) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.closed {
		return false
	}
	z.work.Go(f)
	return true
}

// sync makes what is read next at least as new as the leader's state now.
func (z *ZooKeeper) sync(ctx context.Context, node string) error {
	_, err := request(ctx, z, "sync", node, func() (string, error) { return z.conn.Sync(node) })
	return z.failed("sync", node, err)
}

// node reads a znode; one that is gone is not Known. The stat of one whose data may not be read needs no right.
func (z *ZooKeeper) node(ctx context.Context, node string) (inspect.Znode, error) {
	n, err := request(ctx, z, "read", node, func() (inspect.Znode, error) {
		data, stat, err := z.conn.Get(node)
		if err != nil {
			return inspect.Znode{}, err
		}
		return znode(path.Base(node), data, stat), nil
	})
	if errors.Is(err, zk.ErrNoAuth) {
		n, err = request(ctx, z, "read", node, func() (inspect.Znode, error) {
			exists, stat, err := z.conn.Exists(node)
			if err != nil || !exists {
				return inspect.Znode{}, err
			}
			return znode(path.Base(node), nil, stat), nil
		})
	}
	if errors.Is(err, zk.ErrNoNode) {
		return inspect.Znode{}, nil
	}
	return n, z.failed("read", node, err)
}

// inFlight bounds the requests for children that wait for an answer.
const inFlight = 32

// children reads every child of a directory; nil when there is no such directory.
func (z *ZooKeeper) children(ctx context.Context, dir string) ([]inspect.Znode, error) {
	names, err := request(ctx, z, "list", dir, func() ([]string, error) {
		names, _, err := z.conn.Children(dir)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, z.failed("list", dir, err)
	}
	nodes := make([]inspect.Znode, len(names))
	var g errgroup.Group
	g.SetLimit(inFlight)
	for i, name := range names {
		g.Go(func() (err error) {
			nodes[i], err = z.node(ctx, path.Join(dir, name))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	present := nodes[:0]
	for _, n := range nodes {
		if n.Known {
			present = append(present, n)
		}
	}
	return present, nil
}

func znode(name string, data []byte, stat *zk.Stat) inspect.Znode {
	return inspect.Znode{
		Name: name, Known: true, Data: data, Czxid: stat.Czxid, Version: stat.Version, EphemeralOwner: stat.EphemeralOwner,
		Created: time.UnixMilli(stat.Ctime), Modified: time.UnixMilli(stat.Mtime),
	}
}

// rights of ZooKeeper's ACLs by what is asked for; for a delete it is the directory's.
var rights = map[string]string{"read": "READ", "list": "READ", "delete": "DELETE", "set": "WRITE"}

// failed names the request that failed and, where a right is missing, that.
func (z *ZooKeeper) failed(what, node string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnreachable):
		return err
	case errors.Is(err, zk.ErrNoAuth):
		at := node
		if what == "delete" {
			at = path.Dir(node)
		}
		return z.unreachable(what, node, fmt.Errorf("%w: grant %s on %s", err, rights[what], inspect.Escape(at)))
	default:
		return z.unreachable(what, node, err)
	}
}

func (z *ZooKeeper) unreachable(what, node string, err error) error {
	return fmt.Errorf("%w: %s %s: %w", ErrUnreachable, what, inspect.Escape(node), err)
}
