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

	"lockscope/inspect/recipe"
)

// zkQueue is a directory in which contenders queue for a mutex or, with readers among them, for a read-write lock.
type zkQueue struct {
	session *ZKSession
	opts    options
	lock    lockKey
	dir     string // full path
	rw      bool
	known   atomic.Bool // the directory was looked at: it exists and has no contenders of another recipe
}

func newZKQueue(s *ZKSession, path string, opts []Option, rw bool) *zkQueue {
	keeps, kind := zkMutexKeeps, "zk"
	if rw {
		keeps, kind = zkRWMutexKeeps, "zk-rw"
	}
	q := &zkQueue{session: s, opts: newOptions(keeps, opts), lock: lockKey{s, kind, path}, dir: s.full(path), rw: rw}
	switch {
	case q.opts.err != nil:
	case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/"):
		q.opts.err = errors.New("a lock's path starts with a slash and does not end in one")
	case q.prefixes(recipe.Exclusive) == nil:
		q.opts.err = fmt.Errorf("recipe %q has no %s that can be queued with (there are: %s)",
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

// zkRecipes are the recipes that have such a lock, the usual one first.
func zkRecipes(rw bool) (names []string) {
	for _, r := range recipe.Queues() {
		if !rw && r.Prefix != nil || rw && r.WritePrefix != nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// prefixes builds what names of contenders of a mode start with.
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
	if !q.known.Load() {
		if _, err := q.look(ctx); err != nil {
			return nil, acquireError(q.lock, err)
		}
	}
	for {
		h, err := q.contend(ctx, attempt{mode: mode, wait: true})
		if !errors.Is(err, errAgain) {
			return h, err
		}
	}
}

// tryAcquire takes the lock if nobody is there who excludes it.
func (q *zkQueue) tryAcquire(ctx context.Context, mode recipe.Mode) (*Hold, error) {
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

// errAgain: the contender's node is gone, or its session; make another.
var errAgain = errors.New("queue again")

// look lists the queue, creating the directory when it is missing. It fails when others queue there by another recipe.
func (q *zkQueue) look(ctx context.Context) ([]recipe.Entry, error) {
	for {
		if _, err := q.session.alive(ctx); err != nil {
			return nil, err
		}
		children, err := q.children(ctx)
		if errors.Is(err, zk.ErrNoNode) {
			err = q.makeDir(ctx)
		}
		switch {
		case lostInTransit(err):
			continue
		case err != nil:
			return nil, err
		}
		entries, stranger := q.entries(children)
		if stranger != nil {
			return nil, stranger
		}
		q.known.Store(true)
		return entries, nil
	}
}

func (q *zkQueue) makeDir(ctx context.Context) error {
	err, ctxErr := ask(ctx, q.session, func() error { return q.session.makeDir(q.dir) })
	if ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, zk.ErrNoNode) { // the parent container was removed in between
		return nil
	}
	return err
}

type listing struct {
	children []string
	err      error
}

func (q *zkQueue) children(ctx context.Context) ([]string, error) {
	l, err := ask(ctx, q.session, func() listing {
		children, _, err := q.session.conn.Children(q.dir)
		return listing{children, err}
	})
	if err != nil {
		return nil, err
	}
	return l.children, l.err
}

// newNode names the node of an attempt.
func (q *zkQueue) newNode(a attempt) node {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	r := q.opts.queue
	n := node{dir: q.dir, prefix: q.dir + "/", unique: r.CarriesGUID}
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
