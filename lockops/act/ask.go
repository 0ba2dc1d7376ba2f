package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// DefaultAskWait is how long to watch a holder that was asked to let go.
const DefaultAskWait = 10 * time.Second

// cannotAsk reports why a holder cannot be asked to let go; empty if it can. Only Curator has such
// a request (Revoker.attemptRevoke). A lock made revocable writes empty data when it queues
// (LockInternals.attemptLock), and watches its node for the request. A lock with other data does
// not listen.
func cannotAsk(d *directory, l *inspect.Lock, seen *inspect.Contender) string {
	data, readable := d.data(seen)
	switch {
	case seen.Recipe != "" && seen.Recipe != "curator" || seen.Recipe == "" && l.Recipe != "curator":
		return "only Curator's locks have a way to ask the holder"
	case l.Kind != inspect.KindMutex && l.Kind != inspect.KindRW && l.KindConfidence != recipe.Possible:
		return fmt.Sprintf("a Curator %s has no such request: only its mutex and read-write lock do", l.Kind)
	case !readable:
		return "its data, which shows whether it listens, cannot be read: grant READ"
	case !recipe.CuratorListens(data):
		return "it does not listen: a lock that its program made revocable (makeRevocable) has empty data, " +
			"but this one does not"
	}
	return ""
}

// data returns the data of a contender's znode; false if it may not be read.
func (d *directory) data(c *inspect.Contender) ([]byte, bool) {
	n, ok := d.Node(c)
	return n.Data, ok && !n.Sealed
}

// previewAsk completes a preview of asking.
func (z *ZooKeeper) previewAsk(p Preview, d *directory, l *inspect.Lock) Preview {
	if p.Refused != "" {
		return p
	}
	if why := cannotAsk(d, l, p.Seen); why != "" {
		p.Refused, p.Detail = Unsupported, why
		return p
	}
	node := inspect.Escape(z.nodeOf(p.Request.ID, p.Seen))
	p.Next, p.NextUnknown = d.next(l, p.Seen)
	p.Sends = []string{
		"sync " + node,
		fmt.Sprintf("get %s (go on only if czxid is %#x and the session is %s)", node, p.Seen.Czxid,
			inspect.SessionID(p.Seen.Owner.Session)),
		fmt.Sprintf("set -v %d %s %s", p.Seen.Version, node, recipe.CuratorRevoke),
	}
	p.Warnings = []string{"its program decides: it may release later, or not at all; nothing is taken from it"}
	if data, _ := d.data(p.Seen); len(data) > 0 {
		p.Warnings = append(p.Warnings, "it was asked before, but still holds the lock")
	}
	return p
}

// askHolder writes the request into the holder's node, if it is still the one that was seen, and
// watches for the holder to let go.
func (z *ZooKeeper) askHolder(ctx context.Context, p Preview, intent line) (Result, error) {
	result := Result{Seen: p.Seen, Next: p.Next}
	d, err := z.look(ctx, p.Request)
	if err != nil {
		return result, err
	}
	l, now, err := d.contender(p.Request.Owner)
	if err != nil {
		return result, err
	}
	if result.Reason, result.Detail = d.changedSince(p.Seen, now); result.Reason == "" {
		if why := cannotAsk(&d, l, now); why != "" {
			result.Reason, result.Detail = Unsupported, why
		}
	}
	if result.Reason != "" {
		result.HoldersAfter = l.Holders
		return result, nil
	}
	node := z.nodeOf(p.Request.ID, p.Seen)
	result, err = z.remove(ctx, z.vacation(node, []byte(recipe.CuratorRevoke), p.Seen.Version), result, intent)
	result.Asked, result.Released = result.Released, false
	if !result.Asked {
		return result, err
	}
	waiting, cancel := context.WithTimeout(ctx, p.Request.Wait)
	defer cancel()
	result.LetGo = z.awaitGone(waiting, node, p.Seen.Czxid)
	waited := errors.Is(waiting.Err(), context.DeadlineExceeded) // for the whole time
	after, err := z.look(ctx, p.Request)
	if err == nil {
		l, now, err = after.contender(p.Request.Owner)
	}
	switch {
	case err != nil:
		if !result.LetGo {
			result.Unknown, result.Detail = true, "it was asked, but whether it released the lock is unknown"
		}
		return result, err
	case after.over(p.Seen, now):
		result.LetGo = true
	case waited:
		result.Reason, result.Detail = Ignored,
			fmt.Sprintf("it was asked, but still holds the lock after %v", p.Request.Wait)
	default:
		result.Reason, result.Detail = Ignored,
			"it was asked, but still holds the lock; it could not be watched the whole time"
	}
	result.HoldersAfter, result.Next = l.Holders, nextNow(p.Next, l)
	return result, nil
}

// awaitGone waits until a node is deleted or replaced by another of the same name; false if ctx
// ends first.
func (z *ZooKeeper) awaitGone(ctx context.Context, node string, czxid int64) bool {
	type sight struct {
		gone   bool
		events <-chan zk.Event
	}
	for {
		now, err := request(ctx, z, "watch", node, func() (sight, error) {
			exists, stat, events, err := z.conn.ExistsW(node)
			return sight{!exists || stat.Czxid != czxid, events}, err
		})
		if err != nil || now.gone {
			return err == nil
		}
		select {
		case <-now.events:
		case <-ctx.Done():
			return false
		}
	}
}
