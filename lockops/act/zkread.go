package act

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
)

// errClosed means that the Releaser was closed.
var errClosed = errors.New("closed")

// request runs one request of go-zookeeper, which knows no contexts, and waits for its answer or for the end
// of ctx. The goroutine is the Releaser's: Close waits for it.
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

// synced is the Transport to a server that is up to date with the leader. Each list, and the reads
// after it, come after a new sync.
type synced struct{ z *ZooKeeper }

// Children implements zksource.Transport.
func (s synced) Children(ctx context.Context, node string) ([]string, *zk.Stat, error) {
	if err := s.z.sync(ctx, node); err != nil {
		return nil, nil, err
	}
	names, stat, err := s.z.list(ctx, node)
	return names, stat, s.z.unread("list", node, err)
}

// list returns the children of a znode.
func (z *ZooKeeper) list(ctx context.Context, node string) ([]string, *zk.Stat, error) {
	type listing struct {
		names []string
		stat  *zk.Stat
	}
	l, err := request(ctx, z, "list", node, func() (l listing, err error) {
		l.names, l.stat, err = z.conn.Children(node)
		return l, err
	})
	return l.names, l.stat, err
}

// Get implements zksource.Transport.
func (s synced) Get(ctx context.Context, node string) ([]byte, *zk.Stat, error) {
	type content struct {
		data []byte
		stat *zk.Stat
	}
	c, err := request(ctx, s.z, "read", node, func() (c content, err error) {
		c.data, c.stat, err = s.z.conn.Get(node)
		return c, err
	})
	return c.data, c.stat, s.z.unread("read", node, err)
}

// Exists implements zksource.Transport.
func (s synced) Exists(ctx context.Context, node string) (*zk.Stat, error) {
	stat, err := request(ctx, s.z, "read", node, func() (*zk.Stat, error) {
		exists, stat, err := s.z.conn.Exists(node)
		if err == nil && !exists {
			err = zk.ErrNoNode
		}
		return stat, err
	})
	return stat, s.z.unread("read", node, err)
}

// unread names the failed read in its error, unless the node is missing or may not be read.
func (z *ZooKeeper) unread(what, node string, err error) error {
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return z.failed(what, node, err)
}

// sync makes later reads at least as new as the leader's state now.
func (z *ZooKeeper) sync(ctx context.Context, node string) error {
	_, err := request(ctx, z, "sync", node, func() (string, error) { return z.conn.Sync(node) })
	return z.failed("sync", node, err)
}

// rights are ZooKeeper's ACL rights by request. A delete needs the right on the directory.
var rights = map[string]string{"delete": "DELETE", "set": "WRITE"}

// failed names the request that failed and the missing right, if any.
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
