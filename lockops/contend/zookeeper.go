package contend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/internal/zkpath"
	"github.com/lockscope/lockscope/lockops"
)

// ZooKeeper is a lock in ZooKeeper for a run.
type ZooKeeper struct {
	Site
	Servers []string
	// Chroot precedes the path. Session has the other options of each session.
	Chroot  string
	Session []lockops.ZKOption
}

// NewZooKeeper makes the target of such a lock. The lock's directory and missing parents are created
// at the start of the run and removed at its end.
func NewZooKeeper(z ZooKeeper) Target {
	z.Label = labelOf(z.Label)
	return &zkTarget{ZooKeeper: z}
}

type zkTarget struct {
	ZooKeeper
	adminClient *lockops.ZKSession
	made        []string // full paths of directories, topmost first

	mu   sync.Mutex
	ours map[int64]bool // sessions of contenders
}

// tokenIsKnown is Description.TokenAfter. Package lockops reads the czxid of a hold after 5 ms; the
// rest is for the answer.
const tokenIsKnown = 15 * time.Millisecond

func (a *zkTarget) Describe() Description {
	d := a.describe("ZooKeeper's sequence numbers")
	if d.Permits > 1 {
		d.Order = OrderOfCalls // a permit's name does not show the arrival
	}
	d.TokenAfter = tokenIsKnown
	return d
}

func (a *zkTarget) session(ctx context.Context) (*lockops.ZKSession, error) {
	return lockops.NewZKSession(ctx, a.Servers, append(slices.Clone(a.Session), lockops.WithChroot(a.Chroot))...)
}

func (a *zkTarget) full() string { return strings.TrimRight(a.Chroot, "/") + a.Name }

// Open creates the directory unless it exists.
func (a *zkTarget) Open(ctx context.Context) (err error) {
	if err := zkpath.Check(a.Name); err != nil {
		return fmt.Errorf("%s: no znode can have this path: %w", text.Escape(a.Name), err)
	}
	if a.adminClient, err = a.session(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, a.adminClient.Close)() // go-zookeeper's requests have no context
	path := a.full()
	there, _, err := a.adminClient.Conn().Exists(path)
	if err == nil && there && !a.Existing {
		err = ErrExists
	}
	parent := "/"
	for _, dir := range upTo(path) {
		if err == nil && !there {
			err = a.make(ctx, parent, dir, dir == path)
		}
		parent = dir
	}
	if err != nil {
		return fmt.Errorf("zookeeper %s: %w", a.Name, err)
	}
	return nil
}

// upTo lists a path and its ancestors, topmost first.
func upTo(path string) (all []string) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return append(all, path)
}

// make creates a missing directory as a container, so that the server removes it if we are killed. If
// another client has created the lock's own directory meanwhile, that is an error.
func (a *zkTarget) make(ctx context.Context, parent, path string, own bool) error {
	conn := a.adminClient.Conn()
	there, _, err := conn.Exists(path)
	if err != nil || there && !own {
		return err
	}
	acl, err := a.adminClient.ACL(ctx, parent)
	if err != nil {
		return err
	}
	_, err = conn.CreateContainer(path, nil, zk.FlagContainer, acl)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoAuth) {
		_, err = conn.Create(path, nil, zk.FlagPersistent, acl) // servers before 3.5.3
	}
	switch {
	case err == nil:
		a.made = append(a.made, path)
	case errors.Is(err, zk.ErrNodeExists) && own:
		return ErrExists
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	}
	return err
}

// Join opens a session and makes the lock on it.
func (a *zkTarget) Join(ctx context.Context, contender int) (Member, error) {
	session, err := a.session(ctx)
	if err != nil {
		return nil, err
	}
	m := &zkMember{target: a, session: session}
	options := append(slices.Clone(a.Options), lockops.WithLabel(labelled(a.Label, contender)),
		lockops.OnWaiting(m.place))
	m.byCall = a.Kinds[0].Permits > 1
	if m.lock, err = a.kind(contender).New(session, a.Name, options...); err != nil {
		session.Close()
		return nil, err
	}
	m.recordSession()
	return m, nil
}

// zkMember is a contender with its session.
type zkMember struct {
	target  *zkTarget
	session *lockops.ZKSession
	lock    lockops.Locker
	byCall  bool              // its names do not show the order of arrival
	arrived func(place int64) // of the current Acquire
}

func (m *zkMember) Acquire(ctx context.Context, arrived func(place int64)) (Hold, error) {
	m.arrived = arrived
	h, err := m.lock.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	m.place(h.Name())
	return h, nil
}

// place reports a node's number as the arrival. It uses the upper half of 64 bits, so that differences
// stay correct when the server's counter of 32 bits wraps.
func (m *zkMember) place(name string) {
	if _, seq, ok := recipe.SplitSequence(name); ok && !m.byCall {
		m.arrived(int64(seq) << 32)
	}
}

func (m *zkMember) Requests() uint64 { return m.session.Requests() }

// recordSession remembers the session, to find its leftovers.
func (m *zkMember) recordSession() {
	m.target.mu.Lock()
	defer m.target.mu.Unlock()
	if m.target.ours == nil {
		m.target.ours = make(map[int64]bool)
	}
	m.target.ours[m.session.Conn().SessionID()] = true
}

func (m *zkMember) Close() {
	m.recordSession() // the session may have changed
	m.session.Close()
}

// Close removes the directories, unless another client uses them, and looks for contenders' nodes.
func (a *zkTarget) Close(ctx context.Context) (left []string, err error) {
	if a.adminClient == nil {
		return nil, nil
	}
	defer a.adminClient.Close()
	defer context.AfterFunc(ctx, a.adminClient.Close)()
	if left, err = a.leftBelow(a.full()); err == nil && len(left) == 0 {
		for _, path := range slices.Backward(a.made) {
			if err = a.remove(path); err != nil {
				break
			}
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("zookeeper %s: %w", a.Name, err)
	}
	return left, err
}

// leftBelow lists the contenders' nodes below a path, at most two levels deep.
func (a *zkTarget) leftBelow(path string) (left []string, err error) {
	conn := a.adminClient.Conn()
	if _, err := conn.Sync(path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.walk(path, 2, func(path string, stat *zk.Stat) {
		// A new connection reports session 0, which is also the owner of persistent nodes.
		if stat.EphemeralOwner != 0 && a.ours[stat.EphemeralOwner] {
			left = append(left, path)
		}
	})
	return left, err
}

// walk visits the nodes below a path.
func (a *zkTarget) walk(path string, depth int, visit func(path string, stat *zk.Stat)) error {
	children, _, err := a.adminClient.Conn().Children(path)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range children {
		full := path + "/" + child
		there, stat, err := a.adminClient.Conn().Exists(full)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		visit(full, stat)
		if depth > 1 && stat.NumChildren > 0 {
			if err := a.walk(full, depth-1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes a directory that a run made, with the recipe's directories in it. A directory with
// other nodes is in use and stays.
func (a *zkTarget) remove(path string) error {
	var inner []string
	used := false
	err := a.walk(path, 2, func(path string, stat *zk.Stat) {
		inner = append(inner, path)
		used = used || stat.EphemeralOwner != 0 && stat.EphemeralOwner != containerOwner
	})
	if err != nil || used {
		return err
	}
	slices.Reverse(inner)
	for _, p := range append(inner, path) {
		err := a.adminClient.Conn().Delete(p, -1)
		if errors.Is(err, zk.ErrNotEmpty) {
			return nil
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// containerOwner is the ephemeralOwner of a container (EphemeralType.CONTAINER_EPHEMERAL_OWNER).
const containerOwner = -1 << 63
