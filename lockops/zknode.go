package lockops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// makeDir creates a lock's directory and what is missing above it, as containers, which servers remove when they have
// been emptied, or as persistent nodes where there are no containers.
func (s *ZKSession) makeDir(path string) error {
	_, err := s.conn.CreateContainer(path, nil, zk.FlagContainer, s.opts.acl)
	if err != nil && !lostInTransit(err) && !expectedOfCreate(err) {
		_, err = s.conn.Create(path, nil, zk.FlagPersistent, s.opts.acl) // a server before 3.5.3
	}
	if !errors.Is(err, zk.ErrNoNode) {
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	}
	parent := path[:strings.LastIndexByte(path, '/')]
	if parent == "" {
		return fmt.Errorf("the root of %s: %w", path, err)
	}
	if err := s.makeDir(parent); err != nil {
		return err
	}
	_, err = s.conn.CreateContainer(path, nil, zk.FlagContainer, s.opts.acl)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err // also NoNode, when the parent was removed at once: the caller tries again
}

func expectedOfCreate(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoAuth) ||
		errors.Is(err, zk.ErrNoChildrenForEphemerals) || errors.Is(err, zk.ErrInvalidPath) || errors.Is(err, zk.ErrInvalidACL)
}

// creation is the outcome of creating a contender's node.
type creation struct {
	path string
	err  error
}

// create asks for an ephemeral node.
func (s *ZKSession) create(n node, data []byte) creation {
	if !n.unique {
		s.creating.RLock()
		defer s.creating.RUnlock()
	}
	flags := int32(zk.FlagEphemeralSequential)
	if n.numbered {
		flags = zk.FlagEphemeral
	}
	path, err := s.conn.Create(n.prefix, data, flags, s.opts.acl)
	if err == nil && !n.unique {
		s.mu.Lock()
		s.ours[path] = struct{}{}
		s.mu.Unlock()
	}
	return creation{path: path, err: err}
}

// node is a contender's node, or what is known of it.
type node struct {
	dir      string
	prefix   string // full path without the number that the server appends
	unique   bool   // the prefix has a GUID
	numbered bool   // the prefix has a number: the server appends none
	path     string // "" when not known
	maybe    bool   // a node of this prefix may exist although path is not known
}

// removal says what became of a node.
type removal struct {
	was bool // the node was there, or may have been, until it was removed
	err error
}

// remove deletes a node for as long as it takes: until a server says that it is gone, or the session is closed, which
// removes it too. It is what Curator calls a guaranteed delete (CURATOR-45).
func (s *ZKSession) remove(n *node) removal {
	var result removal
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.removeOnce(n)
		switch {
		case err == nil:
			return removal{was: true}
		case errors.Is(err, zk.ErrNoNode):
			return result
		case !lostInTransit(err):
			result.err = err
			return result
		}
		result.was = true // perhaps: the answer was lost
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return removal{err: ErrClosed}
		}
		if _, err := s.alive(s.ctx); err != nil {
			return removal{err: ErrClosed}
		}
	}
}

// removeOnce returns nil when the node was deleted, zk.ErrNoNode when there is none.
func (s *ZKSession) removeOnce(n *node) error {
	if n.path == "" {
		if !n.maybe {
			return zk.ErrNoNode
		}
		return s.removeUnconfirmed(n)
	}
	if n.unique {
		return s.conn.Delete(n.path, -1)
	}
	// Such a name can come again when the directory is made anew (its numbers start at 0): look whose node it is.
	exists, stat, err := s.conn.Exists(n.path)
	if err != nil {
		return err
	}
	if id, _, _ := s.tap.Lease(); !exists || stat.EphemeralOwner != id {
		err = zk.ErrNoNode
	} else {
		err = s.conn.Delete(n.path, -1)
	}
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		s.mu.Lock()
		delete(s.ours, n.path)
		s.mu.Unlock()
	}
	return err
}

// removeUnconfirmed deletes the node of a create request whose answer was lost, if it was executed.
func (s *ZKSession) removeUnconfirmed(n *node) error {
	if n.unique {
		path, err := s.find(n)
		if err != nil {
			return err
		}
		n.path = path
		return s.conn.Delete(path, -1)
	}
	s.creating.Lock()
	defer s.creating.Unlock()
	children, err := s.syncedChildren(n.dir)
	if err != nil {
		return err
	}
	result := zk.ErrNoNode
	for _, child := range children {
		path := n.dir + "/" + child
		s.mu.Lock()
		_, confirmed := s.ours[path]
		s.mu.Unlock()
		if confirmed || !strings.HasPrefix(path, n.prefix) {
			continue
		}
		exists, stat, err := s.conn.Exists(path)
		if err != nil {
			return err
		}
		if id, _, _ := s.tap.Lease(); exists && stat.EphemeralOwner == id {
			if result = s.conn.Delete(path, -1); result != nil && !errors.Is(result, zk.ErrNoNode) {
				return result
			}
		}
	}
	return result
}

// find looks for the node of a create request whose answer was lost, by its GUID; zk.ErrNoNode when it was not executed.
func (s *ZKSession) find(n *node) (path string, err error) {
	children, err := s.syncedChildren(n.dir)
	if err != nil {
		return "", err
	}
	prefix := strings.TrimPrefix(n.prefix, n.dir+"/")
	i := slices.IndexFunc(children, func(c string) bool { return strings.HasPrefix(c, prefix) })
	if i < 0 {
		return "", zk.ErrNoNode
	}
	return n.dir + "/" + children[i], nil
}

// syncedChildren lists a directory as it is on the leader: after a reconnect to a server that lags, a node that the
// server before has created might be missing.
func (s *ZKSession) syncedChildren(dir string) ([]string, error) {
	if _, err := s.conn.Sync(dir); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	children, _, err := s.conn.Children(dir)
	return children, err
}

// forget removes a node in the background and waits for that until ctx ends.
func (s *ZKSession) forget(ctx context.Context, n *node) removal {
	r, err := ask(ctx, s, func() removal { return s.remove(n) })
	if err != nil {
		return removal{was: true, err: err}
	}
	return r
}
