package act

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// ZKConn is what a release needs of a ZooKeeper connection; *zk.Conn has it.
type ZKConn interface {
	Sync(path string) (string, error)
	Children(path string) ([]string, *zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	Delete(path string, version int32) error
}

// zooKeeper releases locks of one ensemble.
type zooKeeper struct {
	conn    ZKConn
	servers []string
	chroot  string
	audit   *Audit
	recipes []recipe.Custom
}

// NewZooKeeper releases locks of the ensemble behind conn. servers are named in the audit file; chroot is put before
// every path. recipes say who holds and who waits in locks of theirs.
func NewZooKeeper(conn ZKConn, servers []string, chroot string, audit *Audit, recipes ...recipe.Custom) Releaser {
	return &zooKeeper{conn: conn, servers: servers, chroot: chroot, audit: audit, recipes: recipes}
}

// Preview implements Releaser.
func (z *zooKeeper) Preview(ctx context.Context, r Request) (Preview, error) {
	return await(ctx, func() (Preview, error) { return z.preview(r) })
}

func (z *zooKeeper) preview(r Request) (Preview, error) {
	p := Preview{Request: r}
	d, err := z.look(r.ID)
	if err != nil {
		return p, err
	}
	l := d.lock()
	if l == nil {
		l = inspect.FreeDirectory(r.ID, nil, d.at)
	}
	if c, ok := find(l, r.Owner); ok {
		p.Seen = &c
	}
	if p.Refused = refusal(r, p.Seen); p.Seen == nil {
		p.Alike = alike(l, r.Owner)
		return p, nil
	}
	p.Next = d.next(l, p.Seen)
	node := inspect.Escape(z.node(r, p.Seen))
	owned := "no session owns it"
	if id := p.Seen.Owner.Session; id != 0 {
		owned = "the session is " + inspect.SessionID(id)
	}
	p.Sends = []string{
		"sync " + node,
		fmt.Sprintf("get %s (go on only if czxid is %#x and %s)", node, p.Seen.Czxid, owned),
		fmt.Sprintf("delete -v %d %s", p.Seen.Version, node),
	}
	p.Warnings = zkWarnings(p.Seen, d.writer)
	return p, nil
}

func zkWarnings(seen *inspect.Contender, recipeName string) []string {
	if seen.State != inspect.Holding {
		return []string{"this contender waits: removing it frees nothing, and clients of go-zookeeper's Lock whose " +
			"waiting node is removed believe that they hold the lock once the node before it goes"}
	}
	warnings := []string{keepsRunning}
	if q, ok := recipe.QueueByName(recipeName); ok && !q.CarriesGUID {
		warnings = append(warnings, "names of this recipe can come again when the directory is made anew; czxid and "+
			"session are compared right before the delete, but not in one step with it")
	}
	return warnings
}

func (z *zooKeeper) path(p string) string { return path.Join("/", z.chroot, p) }

// node is the znode of a contender.
func (z *zooKeeper) node(r Request, c *inspect.Contender) string {
	return z.path((&inspect.Lock{ID: r.ID}).Node(c))
}

// read lists a lock directory as the leader has it, and reads every child. A directory that is gone is empty.
func (z *zooKeeper) read(dir string) ([]inspect.Znode, error) {
	dir = z.path(dir)
	if _, err := z.conn.Sync(dir); err != nil {
		return nil, z.unreachable("sync", dir, err)
	}
	names, _, err := z.conn.Children(dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, z.unreachable("list", dir, err)
	}
	nodes := make([]inspect.Znode, len(names))
	var g errgroup.Group
	g.SetLimit(32)
	for i, name := range names {
		g.Go(func() error {
			data, stat, err := z.conn.Get(path.Join(dir, name))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			if err != nil {
				return z.unreachable("read", path.Join(dir, name), err)
			}
			nodes[i] = znode(name, data, stat)
			return nil
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

func (z *zooKeeper) unreachable(what, path string, err error) error {
	return fmt.Errorf("%w: %s %s: %w", ErrUnreachable, what, inspect.Escape(path), err)
}

// Execute implements Releaser.
func (z *zooKeeper) Execute(ctx context.Context, p Preview, confirmed string) (Result, error) {
	if p.Refused != "" || p.Seen == nil {
		return Result{Reason: p.Refused, Seen: p.Seen}, nil
	}
	intent := line{
		Servers: z.servers, Lock: p.Request.ID.String(), Confirmed: confirmed,
		Owner: evidence{
			Name: p.Seen.Name.String(), Czxid: fmt.Sprintf("%#x", p.Seen.Czxid),
			Session: inspect.SessionID(p.Seen.Owner.Session), Version: &p.Seen.Version,
		},
	}
	return audited(z.audit, intent, func() (Result, error) {
		return await(ctx, func() (Result, error) { return z.release(p) })
	})
}

func (z *zooKeeper) release(p Preview) (Result, error) {
	result := Result{Seen: p.Seen, Next: p.Next}
	reason, err := z.compareAndDelete(z.node(p.Request, p.Seen), p.Seen)
	if err != nil {
		return result, err
	}
	result.Reason, result.Released = reason, reason == ""
	d, err := z.look(p.Request.ID)
	if err != nil {
		return result, err
	}
	if l := d.lock(); l != nil {
		result.HoldersAfter = l.Holders
	}
	return result, nil
}

// compareAndDelete deletes a node if it is still the one that was seen. Its version alone does not tell: a node of
// the same name made anew starts at version 0 again.
func (z *zooKeeper) compareAndDelete(node string, seen *inspect.Contender) (Reason, error) {
	if _, err := z.conn.Sync(node); err != nil {
		return "", z.unreachable("sync", node, err)
	}
	_, stat, err := z.conn.Get(node)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return Gone, nil
	case err != nil:
		return "", z.unreachable("read", node, err)
	case stat.Czxid != seen.Czxid || stat.EphemeralOwner != seen.Owner.Session:
		return Changed, nil
	}
	switch err := z.conn.Delete(node, seen.Version); {
	case err == nil:
		return "", nil
	case errors.Is(err, zk.ErrNoNode):
		return Gone, nil
	case errors.Is(err, zk.ErrBadVersion):
		return Changed, nil
	default:
		return "", z.unreachable("delete", node, err)
	}
}

// await runs f, whose requests know no context, and gives up waiting for it when ctx ends.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%w: %w (whether it was done is not known: look again)", ErrUnreachable, context.Cause(ctx))
	}
}
