package act

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/failpoint"
)

// release looks at the whole lock again and deletes the node if nothing that was confirmed has
// changed: node, session and role. The delete itself checks the node's version and, for a waiter,
// that the contenders ahead of it still exist. It cannot distinguish a node of the same name that
// was deleted and created again, at version 0, right before. Only a GUID in the name rules that
// out.
func (z *ZooKeeper) release(ctx context.Context, p Preview, intent line) (Result, error) {
	result := Result{Seen: p.Seen, Next: p.Next}
	d, err := z.look(ctx, p.Request)
	if err != nil {
		return result, err
	}
	l, now, err := d.contender(p.Request.Owner)
	if err != nil {
		return result, err
	}
	if result.Reason, result.Detail = d.changedSince(p.Seen, now); result.Reason != "" {
		result.HoldersAfter = l.Holders
		return result, nil
	}
	failpoint.At(failpoint.Deleting)
	way := z.deletion(p.Request.ID, l, p.Seen)
	if data, stays := d.vacated(p.Seen); stays {
		way = z.vacation(z.nodeOf(p.Request.ID, p.Seen), data, p.Seen.Version)
	}
	result, err = z.remove(ctx, way, result, intent)
	if result.Late != nil {
		return result, err
	}
	return z.lookAfter(ctx, p, result, err)
}

// lookAfter reads the lock again. If the connection broke before the answer, a missing node may
// have been removed by the delete, its holder or the end of its session.
func (z *ZooKeeper) lookAfter(ctx context.Context, p Preview, result Result, failed error) (Result, error) {
	d, err := z.look(ctx, p.Request)
	if err != nil {
		return result, errors.Join(failed, err)
	}
	l, now, err := d.contender(p.Request.Owner)
	if err != nil {
		return result, errors.Join(failed, err)
	}
	result.HoldersAfter, result.Next = l.Holders, nextNow(p.Next, l)
	if result.Unknown && d.over(p.Seen, now) {
		result.Detail = EndedSomehow.Words()
		return result, fmt.Errorf("%w (%s)", failed, result.Detail)
	}
	return result, failed
}

// deletion removes a node; if refused, it returns the reason.
type deletion func() (Reason, string, error)

// deletion returns the request that removes the contender, which is never repeated.
func (z *ZooKeeper) deletion(id inspect.ID, l *inspect.Lock, seen *inspect.Contender) deletion {
	node, before := z.nodeOf(id, seen), ahead(l, seen)
	ops := make([]any, 0, len(before)+1)
	for i := range before {
		ops = append(ops, &zk.CheckVersionRequest{Path: z.nodeOf(id, &before[i]), Version: -1})
	}
	return func() (Reason, string, error) {
		var err error
		if len(ops) == 0 {
			err = z.conn.Delete(node, seen.Version)
		} else {
			var replies []zk.MultiResponse
			replies, err = z.conn.Multi(append(ops, &zk.DeleteRequest{Path: node, Version: seen.Version})...)
			for i := range min(len(replies), len(before)) {
				if errors.Is(replies[i].Error, zk.ErrNoNode) {
					return Changed, "the contender ahead of it is gone, so it may hold the lock by now", nil
				}
			}
		}
		switch {
		case err == nil:
			return "", "", nil
		case errors.Is(err, zk.ErrNoNode):
			return Gone, "", nil
		case errors.Is(err, zk.ErrBadVersion):
			return Changed, "", nil
		default:
			return "", "", z.failed("delete", node, err)
		}
	}
}

// vacation returns the request that marks a permanent znode as free, by its data.
func (z *ZooKeeper) vacation(node string, data []byte, version int32) deletion {
	return func() (Reason, string, error) {
		_, err := z.conn.Set(node, data, version)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return Gone, "", nil
		case errors.Is(err, zk.ErrBadVersion):
			return Changed, "its holder has written to it since", nil
		}
		return "", "", z.failed("set", node, err)
	}
}

// remove sends the deletion unless ctx has ended. If ctx ends first, the outcome is unknown. A
// later answer is written to the audit file, and delivered to the result's Late.
func (z *ZooKeeper) remove(ctx context.Context, do deletion, result Result, intent line) (Result, error) {
	type answer struct {
		result Result
		err    error
	}
	answers, late, recorded := make(chan answer, 1), make(chan Result, 1), make(chan struct{})
	var decided atomic.Bool // by the answer, or by the end of ctx
	sent := ctx.Err() == nil && z.goDo(func() {
		defer close(late)
		r := result
		var err error
		r.Reason, r.Detail, err = do()
		r.Released, r.Unknown = r.Reason == "" && err == nil, unanswered(err)
		if decided.CompareAndSwap(false, true) {
			answers <- answer{r, err}
			return
		}
		<-recorded
		if err := z.audit.write(intent.outcome(phaseLate, r, err)); err != nil {
			r.Detail = err.Error()
		}
		late <- r
	})
	if !sent {
		return result, z.unreachable("delete", intent.Lock, errors.Join(errNotSent, context.Cause(ctx)))
	}
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
	}
	if !decided.CompareAndSwap(false, true) {
		a := <-answers
		return a.result, a.err
	}
	result.Unknown, result.Late, result.recorded = true, late, recorded
	return result, z.unreachable("delete", intent.Lock, errors.Join(errUnanswered, context.Cause(ctx)))
}

var (
	errNotSent    = errors.New("it was not sent")
	errUnanswered = errors.New("it was sent, and its outcome is unknown")
)

// unanswered reports whether a request may have been executed although it failed.
func unanswered(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing) ||
		errors.Is(err, zk.ErrSessionExpired)
}
