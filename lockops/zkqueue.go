package lockops

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// zkQueue is a directory where contenders queue for a mutex or, with readers among them, for a read-write lock.
type zkQueue struct {
	session *ZKSession
	opts    options
	lock    lockKey
	dir     string // full path
	rw      bool
	// permit builds the name of a semaphore's permit; nil if the directory has none. permitNumbered
	// means that the name is complete.
	permit         func(guid string) string
	permitNumbered bool
	dirData        []byte // of a new directory; nil means a container without data
	// nodeACL is the access list of contenders' nodes. It is nil until the directory exists and is known to have no
	// contenders of another recipe.
	nodeACL atomic.Pointer[[]zk.ACL]
}

func newZKQueue(s *ZKSession, path string, opts []Option, rw bool) *zkQueue {
	keeps, kind := zkMutexKeeps, "zk"
	if rw {
		keeps, kind = zkRWMutexKeeps, "zk-rw"
	}
	q := &zkQueue{session: s, opts: newOptions(keeps, opts), lock: lockKey{s, kind, path}, dir: s.full(path), rw: rw}
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/"):
		q.opts.refuse("a lock's path starts with a slash and does not end in one")
	case q.prefixes(recipe.Exclusive) == nil:
		q.opts.refuse("recipe %q has no %s (choose from: %s)",
			q.opts.queue.Name, q.kind(), strings.Join(zkRecipes(rw), ", "))
	}
	return q
}

func (q *zkQueue) kind() string {
	if q.rw {
		return kindWords(recipe.ReadWrite)
	}
	return kindWords(recipe.Plain)
}

// zkRecipes returns the recipes for such a lock, the usual one first.
func zkRecipes(rw bool) (names []string) {
	for _, r := range recipe.Queues() {
		if !rw && r.Prefix != nil || rw && r.WritePrefix != nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// prefixes builds the beginnings of contenders' names, by mode.
func (q *zkQueue) prefixes(mode recipe.Mode) func(guid string) string {
	switch r := q.opts.queue; {
	case !q.rw:
		return r.Prefix
	case mode == recipe.Shared:
		return r.ReadPrefix
	default:
		return r.WritePrefix
	}
}

// acquire queues and waits for its turn.
func (q *zkQueue) acquire(ctx context.Context, mode recipe.Mode) (*Hold, error) {
	return q.enqueue(ctx, attempt{mode: mode, wait: true})
}

// enqueue makes attempts until one ends with a hold or an error.
func (q *zkQueue) enqueue(ctx context.Context, a attempt) (*Hold, error) {
	if err := q.session.enter(); err != nil {
		return nil, acquireError(q.lock, err)
	}
	defer q.session.leaveWork()
	if err := q.prepare(ctx); err != nil {
		return nil, acquireError(q.lock, err)
	}
	for {
		h, err := q.contend(ctx, a)
		if !errors.Is(err, errAgain) {
			return h, err
		}
	}
}

// tryAcquire takes the lock if no contender excludes it.
func (q *zkQueue) tryAcquire(ctx context.Context, mode recipe.Mode) (*Hold, error) {
	if err := q.session.enter(); err != nil {
		return nil, acquireError(q.lock, err)
	}
	defer q.session.leaveWork()
	for {
		entries, err := q.look(ctx)
		if err != nil {
			return nil, acquireError(q.lock, err)
		}
		next := append(slices.Clip(entries), recipe.Entry{Mode: mode})
		if q.opts.queue.Blocker(next, len(entries)) >= 0 {
			return nil, acquireError(q.lock, ErrHeld)
		}
		h, err := q.contend(ctx, attempt{mode: mode})
		if !errors.Is(err, errAgain) {
			return h, err
		}
	}
}

// errAgain means that the contender's node or its session is gone: make another.
var errAgain = errors.New("queue again")

// prepare looks at the directory before the first contender of this locker.
func (q *zkQueue) prepare(ctx context.Context) error {
	if q.nodeACL.Load() != nil {
		return nil
	}
	_, err := q.look(ctx)
	return err
}

// look lists the queue, creating the directory when it is missing. It fails when others queue there by another recipe.
func (q *zkQueue) look(ctx context.Context) ([]recipe.Entry, error) {
	s := q.session
	for {
		session, err := s.alive(ctx)
		if err != nil {
			return nil, err
		}
		f := s.send(session, listRequest(q.dir), pathRequest(opGetACL, q.dir))
		if err := s.wait(ctx, f); err != nil {
			return nil, err
		}
		list, err := listingOf(f.replies[0])
		if errors.Is(err, zk.ErrNoNode) {
			if err = q.makeDir(ctx, session); err == nil || errors.Is(err, zk.ErrNoNode) && ctx.Err() == nil {
				continue // its parent may be gone again
			}
		}
		switch {
		case lostInTransit(err):
			continue
		case err != nil:
			return nil, err
		}
		entries, stranger := q.entries(list.children)
		if stranger != nil {
			return nil, stranger
		}
		if err := q.setACL(f.replies[1]); err != nil {
			if lostInTransit(err) || errors.Is(err, zk.ErrNoNode) {
				continue
			}
			return nil, err
		}
		return entries, nil
	}
}

func (q *zkQueue) makeDir(ctx context.Context, session int64) error {
	if q.dirData != nil {
		return q.session.makeNode(ctx, session, q.dir, q.dirData)
	}
	return q.session.makeDir(ctx, session, q.dir)
}

// setACL stores the access list for the directory's nodes once it has been read.
func (q *zkQueue) setACL(r zkwire.Reply) error {
	acl := q.session.opts.acl
	if acl == nil {
		var err error
		if acl, err = q.session.inherited(q.dir, r); err != nil {
			return err
		}
	}
	q.nodeACL.Store(&acl)
	return nil
}

// acl returns the access list for contenders' nodes, once the directory has been read.
func (q *zkQueue) acl() []zk.ACL { return *q.nodeACL.Load() }

// spent returns the error for a directory whose counter is exhausted: the server repeats its last
// number.
func (q *zkQueue) spent() error {
	return fmt.Errorf("directory %s has used up its numbers (2147483647 was the last): use another directory, "+
		"or delete this one while no client uses it", q.dir)
}

// list asks for the children of a directory that has a contender's node. If the directory is
// missing, another client has deleted it together with the node.
func (q *zkQueue) list(ctx context.Context, session int64) (listing, error) {
	r, err := q.session.call(ctx, session, listRequest(q.dir))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return listing{}, errAgain
	case err != nil:
		return listing{}, err
	}
	return listingOf(r)
}

// newNode names the node of an attempt.
func (q *zkQueue) newNode(a attempt) node {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	if q.permit != nil {
		return q.permitNode(random)
	}
	r := q.opts.queue
	n := node{dir: q.dir, prefix: q.dir + "/", data: []byte(q.opts.label), unique: r.CarriesGUID}
	if !n.unique {
		n.data = []byte(recipe.LockscopeToken(random, q.opts.label))
	}
	if !q.rw && !r.CarriesGUID && q.opts.prefix != "" {
		n.prefix += q.opts.prefix
	} else {
		n.prefix += q.prefixes(a.mode)(hex.EncodeToString(random[:]))
	}
	if a.inside != nil {
		n.prefix += strings.TrimPrefix(a.inside.node.path, a.inside.node.prefix)
		n.numbered = true
	}
	return n
}

// entries picks the queue's nodes from a directory's children and drops those that no recipe knows.
// stranger is a contender of an incompatible recipe.
func (q *zkQueue) entries(children []string) (entries []recipe.Entry, stranger *RecipeError) {
	own, all := q.opts.queue, []recipe.Queue(nil)
	entries = make([]recipe.Entry, 0, len(children))
	for _, child := range children {
		e, ok := own.Parse(child)
		writer := own.Name
		if !ok || !own.Certain { // assume the most certain recipe that knows the name
			if all == nil {
				all = recipe.Queues()
			}
			for _, other := range all {
				if e, ok = other.Parse(child); ok {
					writer = other.Name
					break
				}
			}
		}
		switch {
		case !ok || e.Role == recipe.Lease && !e.Live: // a semaphore's, which locks ignore
		case q.queuesWith(writer, &e):
			entries = append(entries, e)
		default:
			stranger = &RecipeError{Path: q.lock.name, Want: own.Name, Found: writer, Child: child}
			if family(writer) == family(own.Name) {
				stranger.WantKind, stranger.FoundKind = q.kind(), kindWords(e.Role)
			}
		}
	}
	recipe.Sort(entries)
	return entries, stranger
}

// queuesWith reports whether our contender and one written by a recipe's client wait for each
// other.
func (q *zkQueue) queuesWith(writer string, e *recipe.Entry) bool {
	own := q.opts.queue.Name
	if family(writer) != family(own) {
		return false
	}
	switch family(own) {
	case "curator": // a mutex and a read-write lock each sort the other's nodes to the end of the queue
		return q.rw == (e.Role == recipe.ReadWrite)
	case "sequential":
		if !q.rw {
			return e.Role != recipe.ReadWrite && e.Role != recipe.Lease
		}
		mode, ok := recipe.ReadOrWrite(e.Name)
		e.Mode = mode
		return ok
	}
	return true
}

// family maps recipes whose clients wait for each other to the same name. Curator and go-zookeeper
// order all nodes that end in "lock-" and a number. Kazoo ignores nodes that it did not write. The
// tutorials and ZooKeeper's own recipes sort whole names. madelson's readers and writers are named
// like those of the recipes page.
func family(name string) string {
	switch name {
	case "go-zookeeper":
		return "curator"
	case "zookeeper-recipes", "madelson":
		return "sequential"
	}
	return name
}

func kindWords(r recipe.Role) string {
	switch r {
	case recipe.ReadWrite:
		return "read-write lock"
	case recipe.Candidate:
		return "election"
	case recipe.Lease:
		return "semaphore"
	default:
		return "mutex"
	}
}
