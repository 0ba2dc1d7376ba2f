package lockops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/zkwire"
)

// makeDir creates a lock's directory and missing parents. They are containers, which servers remove
// once emptied, or persistent nodes on servers without containers. It returns NoNode when a parent
// was deleted meanwhile.
func (s *ZKSession) makeDir(ctx context.Context, session int64, path string) error {
	return s.make(ctx, session, path, nil, opCreateContainer)
}

// makeNode is like makeDir, for a persistent node with data.
func (s *ZKSession) makeNode(ctx context.Context, session int64, path string, data []byte) error {
	return s.make(ctx, session, path, data, opCreate2)
}

func (s *ZKSession) make(ctx context.Context, session int64, path string, data []byte, op int32) error {
	parent, ok := parentOf(path)
	if !ok {
		return fmt.Errorf("the root of %s: %w", path, zk.ErrNoNode)
	}
	acl, err := s.aclBelow(ctx, session, parent)
	if errors.Is(err, zk.ErrNoNode) && parent != "/" {
		if err := s.makeDir(ctx, session, parent); err != nil {
			return err
		}
		acl, err = s.aclBelow(ctx, session, parent)
	}
	if err != nil {
		return err
	}
	mode := int32(modeContainer)
	if op != opCreateContainer {
		mode = modePersistent
	}
	_, err = s.call(ctx, session, createRequest(op, path, data, acl, mode))
	if err != nil && !lostInTransit(err) && !expectedOfCreate(err) && ctx.Err() == nil {
		// containers are disabled
		_, err = s.call(ctx, session, createRequest(opCreate2, path, data, acl, modePersistent))
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// parentOf returns the path of the parent node; false for the root.
func parentOf(path string) (string, bool) {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0 || path == "/":
		return "", false
	case i == 0:
		return "/", true
	}
	return path[:i], true
}

func expectedOfCreate(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoAuth) ||
		errors.Is(err, zk.ErrNoChildrenForEphemerals) || errors.Is(err, zk.ErrInvalidPath) ||
		errors.Is(err, zk.ErrInvalidACL)
}

// node is a contender's node.
type node struct {
	dir      string
	prefix   string // full path without the number that the server appends
	data     []byte // has a random part if the prefix has none
	unique   bool   // the prefix has a GUID
	numbered bool   // the prefix has a number, so the server appends none
	path     string // "" when not known
	czxid    int64  // with path
	maybe    bool   // a node of this prefix may exist although path is not known
}

func (n *node) name() string { return n.path[strings.LastIndexByte(n.path, '/')+1:] }

// create asks for an ephemeral node and the listing of its directory.
func (s *ZKSession) create(session int64, n *node, acl []zk.ACL) *flight {
	mode := int32(modeEphemeralSequential)
	if n.numbered {
		mode = modeEphemeral
	}
	return s.send(session, createRequest(opCreate2, n.prefix, n.data, acl, mode), listRequest(n.dir))
}

// created reads the reply to a create request.
func created(r zkwire.Reply) (path string, czxid int64, err error) {
	if r.Err != nil {
		return "", 0, r.Err
	}
	d := zkwire.NewDecoder(r.Body)
	path = string(d.Buffer())
	stat := d.Stat()
	return path, stat.Czxid, d.Err
}

// removal is the outcome of deleting a node.
type removal struct {
	was bool // the node was there, or may have been, until it was removed
	err error
}

// remove deletes a node of a session, for as long as it takes. It ends when a server confirms the
// removal, or when that session has ended, which removes the node too. Curator calls this a
// guaranteed delete (CURATOR-45).
func (s *ZKSession) remove(session int64, n *node) removal {
	var result removal
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.removeOnce(session, n)
		switch {
		case err == nil:
			return removal{was: true}
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
			return result
		case !lostInTransit(err):
			result.err = s.stays(n, err)
			return result
		}
		result.was = result.was || errors.Is(err, zk.ErrConnectionClosed) // perhaps deleted, but the answer was lost
		select {
		case <-time.After(pause):
		case <-s.gone.Done():
			return removal{err: ErrClosed}
		}
		now, err := s.aliveUntil(s.gone, s.gone.Done())
		switch {
		case err != nil:
			return removal{err: ErrClosed}
		case now != session:
			return result
		}
	}
}

// stays returns the error for a node that cannot be removed.
func (s *ZKSession) stays(n *node, err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("node %s stays until the session ends: %w (it may be created but not deleted: "+
			"grant delete, d, on %s)",
			n.path, err, n.dir)
	}
	return err
}

// patient sends requests for clean-up. It waits for the replies even while the session is being
// closed.
func (s *ZKSession) patient(session int64, requests ...zkwire.Request) (*flight, error) {
	f := s.send(session, requests...)
	select {
	case <-f.done:
		return f, nil
	case <-s.gone.Done():
		return nil, ErrClosed
	}
}

func (s *ZKSession) deleteNow(session int64, path string) error {
	f, err := s.patient(session, deleteRequest(path))
	if err != nil {
		return err
	}
	return f.replies[0].Err
}

// removeOnce returns nil if the node was deleted, zk.ErrNoNode when it does not exist.
func (s *ZKSession) removeOnce(session int64, n *node) error {
	switch {
	case n.path == "" && !n.maybe:
		return zk.ErrNoNode
	case n.path == "":
		if err := s.find(session, n); err != nil {
			return err
		}
	case !n.unique:
		// A directory that was created again starts with number 0 and may repeat the name: check the owner.
		f, err := s.patient(session, existsRequest(n.path))
		if err != nil {
			return err
		}
		stat, err := statOf(f.replies[0], false)
		if err != nil {
			return err
		}
		if stat.Czxid != n.czxid {
			return zk.ErrNoNode
		}
	}
	return s.deleteNow(session, n.path)
}

// find looks for the node of a create request whose answer was lost, by the GUID in its name or by its data. It returns
// zk.ErrNoNode when the request was not executed.
func (s *ZKSession) find(session int64, n *node) error {
	children, err := s.syncedChildren(session, n.dir)
	if err != nil {
		return err
	}
	slices.SortFunc(children, func(a, b string) int { return strings.Compare(b, a) }) // the newest first
	for _, child := range children {
		path := n.dir + "/" + child
		if !strings.HasPrefix(path, n.prefix) {
			continue
		}
		request := existsRequest(path)
		if !n.unique {
			request = watchableRequest(opGetData, path, false)
		}
		f, err := s.patient(session, request)
		if err != nil {
			return err
		}
		r := f.replies[0]
		stat, err := statOf(r, !n.unique)
		switch {
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth): // not ours, or no longer
			continue
		case err != nil:
			return err
		case n.unique || bytes.Equal(dataOf(r), n.data):
			n.path, n.czxid = path, stat.Czxid
			return nil
		}
	}
	return zk.ErrNoNode
}

// syncedChildren lists a directory as the leader sees it. After a reconnect, a lagging server might
// not show a node that the previous server created.
func (s *ZKSession) syncedChildren(session int64, dir string) ([]string, error) {
	f, err := s.patient(session, pathRequest(opSync, dir), listRequest(dir))
	if err != nil {
		return nil, err
	}
	if err := f.replies[0].Err; err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	l, err := listingOf(f.replies[1])
	return l.children, err
}

// forget removes a node in the background and waits for that until ctx ends.
func (s *ZKSession) forget(ctx context.Context, session int64, n node) removal {
	done := make(chan removal, 1)
	if !s.goDo(func() { done <- s.remove(session, &n) }) {
		return removal{err: ErrClosed}
	}
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		return removal{was: true, err: because(ctx)}
	}
}

// forgetBehind removes a node in the background.
func (s *ZKSession) forgetBehind(session int64, n node) {
	s.goDo(func() { s.remove(session, &n) })
}
