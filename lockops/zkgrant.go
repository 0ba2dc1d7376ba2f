package lockops

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkGrant is an acquired ZooKeeper lock: a node of ours that is first in its queue.
type zkGrant struct {
	session *ZKSession
	grant   *grant
	node    node
	id      int64  // of the session that has the node
	number  uint64 // the fencing token

	timer *time.Timer // begins to watch the node
	inner chan *Hold  // holds the nested read's hold, or nil; empty while that is being acquired
}

func (z *zkGrant) name() string { return z.node.name() }

func (z *zkGrant) token() (uint64, bool) { return z.number, z.number != 0 }

// errRemoved is the cause of a loss when an operator or another client deleted the node.
var errRemoved = errors.New("its node was deleted")

// watchAfter delays the watch on the holder's own node. Shorter holds save the request.
const watchAfter = 5 * time.Millisecond

// begin starts to watch over the hold, unless Close has begun. Close removes the nodes of this
// session's holds.
func (z *zkGrant) begin() error {
	_, timeout := z.session.tap.Session()
	z.timer = time.AfterFunc(watchAfter, func() { z.session.goDo(z.watch) })
	z.session.held.add(z, z.session.clock.now(), timeout)
	if z.session.ctx.Err() != nil { // after add, so that a later Close finds the hold
		z.lost(ErrClosed)
		return ErrClosed
	}
	return nil
}

// end stops watching over the hold.
func (z *zkGrant) end() {
	z.session.held.remove(z)
	z.timer.Stop()
}

// lost ends the hold, and removes the node in case the session is still alive.
func (z *zkGrant) lost(reason error) {
	z.end()
	if z.grant.lost() != nil {
		return
	}
	z.grant.lose(reason)
	n := z.node
	z.session.goDo(func() {
		z.session.remove(z.id, &n)
		z.leaveInner(z.session.gone)
	})
}

// leaveInner gives up the write's own hold on its nested read. Other holders of it are not
// affected.
func (z *zkGrant) leaveInner(ctx context.Context) {
	read := <-z.inner
	z.inner <- nil
	if read != nil {
		_ = read.Release(ctx) // lost with the write, or removed in the background
	}
}

// abandon does nothing: lost has already removed the node.
func (z *zkGrant) abandon() {}

// judge does nothing: the servers' answer to a release shows whether the session still had the
// node.
func (z *zkGrant) judge() {}

// watch ends the hold as soon as its node is deleted.
func (z *zkGrant) watch() {
	for z.grant.ctx.Err() == nil {
		if _, err := z.session.alive(z.grant.ctx); err != nil {
			return
		}
		watch := z.session.watch(z.id, z.node.path)
		select {
		case <-watch.armed:
		case <-z.grant.ctx.Done():
			return
		}
		stat, err := statOf(watch.reply, true)
		switch {
		case err == nil && stat.Czxid < z.node.czxid: // of an earlier node of that name, whose event was lost
			z.session.watches.end(z.node.path, watch)
			continue
		case errors.Is(err, zk.ErrNoNode), err == nil && stat.Czxid != z.node.czxid:
			z.lost(errRemoved)
			return
		case err != nil && !lostInTransit(err): // it may not be read, so only heartbeats check it
			return
		}
		select {
		case <-watch.ended:
		case <-z.grant.ctx.Done(): // the node goes now, and the watch with it
			return
		}
	}
}

func (z *zkGrant) deadline() (time.Time, bool) {
	session, deadline := z.session.lease()
	return deadline, session == z.id
}

// release deletes the node. It continues in the background when ctx ends.
func (z *zkGrant) release(ctx context.Context) error {
	s := z.session
	z.end()
	z.leaveInner(ctx)
	if z.node.unique { // the usual case without a goroutine
		f := s.send(z.id, deleteRequest(z.node.path))
		if err := s.wait(ctx, f); err != nil {
			s.forgetBehind(z.id, z.node)
			return err
		}
		switch err := f.replies[0].Err; {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return errors.Join(ErrLost, errRemoved)
		case errors.Is(err, zk.ErrSessionExpired):
			return errors.Join(ErrLost, errExpired)
		case errors.Is(err, zk.ErrConnectionClosed):
			return z.released(ctx, s.forget(ctx, z.id, z.node), true)
		}
	}
	return z.released(ctx, s.forget(ctx, z.id, z.node), false)
}

// released turns the outcome of a removal into the error of Release. asked means that an earlier
// request's answer was lost.
func (z *zkGrant) released(ctx context.Context, r removal, asked bool) error {
	now, _ := z.session.tap.Session()
	switch {
	case r.err != nil:
		return r.err
	case ctx.Err() == nil && now != z.id && !r.was:
		return errors.Join(ErrLost, errExpired)
	case !r.was && !asked:
		return errors.Join(ErrLost, errRemoved)
	}
	return nil
}

// extend asks a quorum to confirm the node now, unless the hold is lost meanwhile.
func (z *zkGrant) extend(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(z.grant.ctx, func() { cancel(context.Cause(z.grant.ctx)) })()
	err := z.proveNode(ctx)
	if lost := z.grant.lost(); lost != nil {
		return lost
	}
	return err
}

func (z *zkGrant) proveNode(ctx context.Context) error {
	s := z.session
	for {
		if _, err := s.alive(ctx); err != nil {
			return err
		}
		f := s.send(z.id, checkRequest([]string{z.node.path}), existsRequest(z.node.path))
		if err := s.wait(ctx, f); err != nil {
			return err
		}
		_, err := missing(f.replies[0])
		stat, existsErr := statOf(f.replies[1], false)
		switch {
		case errors.Is(err, zk.ErrSessionExpired):
			z.lost(errExpired)
		case errors.Is(err, zk.ErrNoNode), errors.Is(existsErr, zk.ErrNoNode),
			existsErr == nil && stat.Czxid != z.node.czxid:
			z.lost(errRemoved)
		case lostInTransit(err) || lostInTransit(existsErr):
			continue
		}
		return err
	}
}

// lookAtNode ends the hold if its node is gone.
func (z *zkGrant) lookAtNode() {
	f, err := z.session.patient(z.id, existsRequest(z.node.path))
	if err != nil {
		return
	}
	stat, err := statOf(f.replies[0], false)
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.Czxid != z.node.czxid {
		z.lost(errRemoved)
	}
}
