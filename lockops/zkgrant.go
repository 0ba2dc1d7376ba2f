package lockops

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkGrant is an acquired ZooKeeper lock: a node of ours that is first in its queue.
type zkGrant struct {
	session *ZKSession
	grant   *grant
	node    node
	life    *life
	stop    func() bool // stop listening to the end of life

	asked chan struct{} // somebody wants the token now
	read  chan struct{} // closed when the node has been read
	czxid uint64        // then set, 0 when the hold ended before

	inner chan *Hold // has the write's own hold of the read inside of it, nil if there is none, unless it is being taken
}

func (z *zkGrant) name() string { return z.node.path[strings.LastIndexByte(z.node.path, '/')+1:] }

// errRemoved is why a hold was lost whose node an operator, or another client, deleted.
var errRemoved = errors.New("its node was deleted")

// lost ends the hold, and removes the node in case its session turns out to live.
func (z *zkGrant) lost(reason error) {
	z.stop()
	z.grant.lose(reason)
	n := z.node
	z.session.goDo(func() {
		z.session.remove(&n)
		z.leaveInner(z.session.ctx)
	})
}

// leaveInner gives up the write's own hold of the read inside of it. Whoever else holds that goes on.
func (z *zkGrant) leaveInner(ctx context.Context) {
	read := <-z.inner
	z.inner <- nil
	if read != nil {
		_ = read.Release(ctx) // lost with the write, or removed in the background
	}
}

// abandon has nothing to do: lost has done it.
func (z *zkGrant) abandon() {}

// watchAfter is how long a hold lasts before its own node is watched. Shorter ones save the request.
const watchAfter = 5 * time.Millisecond

// watch reads the own node, for its czxid, and watches it while it is held.
func (z *zkGrant) watch() {
	defer z.readOnce(0)
	select {
	case <-time.After(watchAfter):
	case <-z.asked:
	case <-z.grant.ctx.Done():
		return
	}
	for z.grant.ctx.Err() == nil {
		_, stat, events, err := z.session.conn.GetW(z.node.path)
		switch {
		case errors.Is(err, zk.ErrNoNode), err == nil && stat.EphemeralOwner != z.life.id:
			z.lost(errRemoved)
			return
		case lostInTransit(err):
			if _, err := z.session.alive(z.grant.ctx); err != nil {
				return
			}
			continue
		case err != nil:
			z.lost(err)
			return
		}
		z.readOnce(uint64(stat.Czxid))
		select {
		case <-events:
		case <-z.grant.ctx.Done():
			return
		}
	}
}

func (z *zkGrant) readOnce(czxid uint64) {
	select {
	case <-z.read:
	default:
		z.czxid = czxid
		close(z.read)
	}
}

func (z *zkGrant) token() (uint64, bool) {
	select {
	case z.asked <- struct{}{}:
	default:
	}
	<-z.read
	return z.czxid, z.czxid != 0
}

func (z *zkGrant) deadline() (time.Time, bool) {
	id, deadline := z.session.deadline()
	return deadline, id == z.life.id
}

func (z *zkGrant) release(ctx context.Context) error {
	z.stop()
	z.leaveInner(ctx)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(z.life.ctx, cancel)() // the session ends: there is nothing left to wait for
	n := z.node
	result := z.session.forget(waiting, &n)
	if result.err != nil && ctx.Err() == nil && z.life.ctx.Err() != nil {
		return errors.Join(ErrLost, context.Cause(z.life.ctx))
	}
	if result.err == nil && !result.was {
		return errors.Join(ErrLost, errRemoved)
	}
	return result.err
}

// extend looks at the node, which touches the session.
func (z *zkGrant) extend(ctx context.Context) error {
	_, err := z.look(ctx)
	return err
}

// look makes sure that the node is there, and returns its czxid.
func (z *zkGrant) look(ctx context.Context) (czxid uint64, err error) {
	type found struct {
		exists bool
		stat   *zk.Stat
		err    error
	}
	for {
		if _, err := z.session.alive(ctx); err != nil {
			return 0, err
		}
		f, err := ask(ctx, z.session, func() found {
			exists, stat, err := z.session.conn.Exists(z.node.path)
			return found{exists && stat.EphemeralOwner == z.life.id, stat, err}
		})
		switch {
		case err != nil:
			return 0, err
		case lostInTransit(f.err):
			continue
		case f.err == nil && !f.exists:
			z.lost(errRemoved)
		}
		if lost := z.grant.lost(); lost != nil {
			return 0, lost
		}
		if f.err != nil {
			return 0, f.err
		}
		return uint64(f.stat.Czxid), nil
	}
}
