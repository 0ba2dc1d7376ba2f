package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
)

// SweepRequest asks for the directories below a path of ZooKeeper that locks have left behind.
type SweepRequest struct {
	// Root is the path to search below; it is never swept itself.
	Root inspect.ID
	// Idle is the minimum time without a change to a directory's children.
	Idle time.Duration
	// Now is the time on our clock. Backend knows the servers' clock, which dates Idle; nil means
	// unknown.
	Now     time.Time
	Backend *inspect.Backend
	// Within bounds each answer of a server; 0 means no bound.
	Within time.Duration
	// Why is the operator's reason, for the audit file; may be empty.
	Why string
}

// EmptyDir is a persistent znode without data that had children once and has none now.
type EmptyDir struct {
	// Path is within the target's chroot. Made is by the servers' clock. IdleSince is the latest
	// possible time of the last change to its children.
	Path            string
	Made, IdleSince time.Time
	// Age counts from Made. Idle is a minimum and counts from IdleSince. Both use the clock that
	// dated them. AgeUnknown means that the age is not known.
	Age, Idle  time.Duration
	AgeUnknown bool

	czxid, pzxid      int64
	version, cversion int32
}

// SweepPreview shows what a sweep would delete.
type SweepPreview struct {
	Request SweepRequest
	// Found are the directories, the longest idle first.
	Found []EmptyDir
	// Walked counts the znodes that were read. Some empty directories stay: Recent were not idle for
	// long enough, the last use of Undated is unknown, and WithData contain data.
	Walked, Recent, Undated, WithData int
	// WhyUndated is a sentence about the Undated directories; empty if there are none.
	WhyUndated string
	// Unread names directories that could not be listed, with the missing right; at most
	// shownUnread.
	Unread []string
}

// Sweeper deletes directories that locks have left behind.
type Sweeper interface {
	// PreviewSweep walks the tree below the root. It changes nothing.
	PreviewSweep(ctx context.Context, r SweepRequest) (SweepPreview, error)
	// Sweep deletes one directory that p shows, if its children have not changed since.
	// Result.Released means that it was deleted. It returns errors as Releaser.Execute does.
	Sweep(ctx context.Context, p SweepPreview, dir EmptyDir, confirmed string) (Result, error)
}

// inFlight bounds the requests waiting for an answer.
const inFlight = 32

// mostWalked bounds the znodes that a sweep reads.
const mostWalked = 1_000_000

// shownUnread bounds the unreadable directories that are named.
const shownUnread = 10

// reserved is ZooKeeper's own subtree, which has no locks.
const reserved = "/zookeeper"

// sweepWalk walks a tree, level by level.
type sweepWalk struct {
	z  *ZooKeeper
	mu sync.Mutex
	p  SweepPreview
	// empty are the candidates; dated are the transactions of all znodes seen, with their times.
	empty []EmptyDir
	dated []datedZxid
	next  []string
}

type datedZxid struct {
	zxid int64
	ms   int64
}

// PreviewSweep implements Sweeper. No Stat has the time of the last change to a directory's children, only
// its transaction (pzxid). The change was no later than the earliest time of any newer transaction that
// the tree shows (ctime of a czxid, mtime of a mzxid).
func (z *ZooKeeper) PreviewSweep(ctx context.Context, r SweepRequest) (SweepPreview, error) {
	w := &sweepWalk{z: z, p: SweepPreview{Request: r}, next: []string{z.path(r.Root.Path)}}
	if err := z.sync(ctx, w.next[0]); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return w.p, err
	}
	root := w.next[0]
	for len(w.next) > 0 {
		level := w.next
		w.next = nil
		if w.p.Walked += len(level); w.p.Walked > mostWalked {
			return w.p, fmt.Errorf("more than %d znodes below %s: sweep a part of it", mostWalked, r.Root)
		}
		var g errgroup.Group
		g.SetLimit(inFlight)
		for _, node := range level {
			g.Go(func() error { return w.look(ctx, node, node == root) })
		}
		if err := g.Wait(); err != nil {
			return w.p, err
		}
	}
	w.judge()
	return w.p, nil
}

// look lists one znode.
func (w *sweepWalk) look(ctx context.Context, node string, root bool) error {
	if within := w.p.Request.Within; within > 0 {
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = limited
	}
	names, stat, err := w.z.list(ctx, node)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, zk.ErrNoNode) && !root:
		return nil // it was deleted meanwhile
	case errors.Is(err, zk.ErrNoAuth):
		if len(w.p.Unread) < shownUnread {
			w.p.Unread = append(w.p.Unread, fmt.Sprintf("%s: grant READ", inspect.Escape(node)))
		}
		return nil
	case err != nil:
		return w.z.failed("list", node, err)
	}
	w.dated = append(w.dated, datedZxid{stat.Czxid, stat.Ctime}, datedZxid{stat.Mzxid, stat.Mtime})
	for _, name := range names {
		if child := path.Join(node, name); child != reserved {
			w.next = append(w.next, child)
		}
	}
	switch {
	// containers and nodes with a TTL have an ephemeral owner, too
	case root || len(names) > 0 || stat.EphemeralOwner != 0 || stat.Cversion == 0:
	case stat.DataLength > 0:
		w.p.WithData++
	default:
		w.empty = append(w.empty, EmptyDir{
			Path: w.z.inChroot(node), Made: time.UnixMilli(stat.Ctime), czxid: stat.Czxid, pzxid: stat.Pzxid,
			version: stat.Version, cversion: stat.Cversion,
		})
	}
	return nil
}

// inChroot is the inverse of path.
func (z *ZooKeeper) inChroot(node string) string {
	return "/" + strings.TrimPrefix(node[len(z.path("")):], "/")
}

// judge keeps the candidates that have been idle for long enough, by the clock that dated later
// changes. Times from another leader, or from this one before its clock was set, prove nothing
// about them.
func (w *sweepWalk) judge() {
	b, now := w.p.Request.Backend, w.p.Request.Now
	if b == nil || b.Clock == (inspect.LeaderClock{}) {
		if w.p.Undated = len(w.empty); w.p.Undated > 0 {
			w.p.WhyUndated = "the servers' clock could not be compared with ours, so no age is known"
		}
		return
	}
	slices.SortFunc(w.dated, func(a, b datedZxid) int { return cmp.Compare(a.zxid, b.zxid) })
	// each transaction's time becomes the earliest of its own and all later ones
	for i := len(w.dated) - 2; i >= 0 && w.dated[i].zxid >= b.Clock.From; i-- {
		w.dated[i].ms = min(w.dated[i].ms, w.dated[i+1].ms)
	}
	for _, dir := range w.empty {
		after := max(dir.pzxid, b.Clock.From)
		at, _ := slices.BinarySearchFunc(w.dated, after,
			func(d datedZxid, zxid int64) int { return cmp.Compare(d.zxid, zxid) })
		if at < len(w.dated) {
			dir.IdleSince = time.UnixMilli(w.dated[at].ms)
		} else if after = dir.pzxid; after < b.Clock.From { // nothing in the tree is newer, but Oldest is
			dir.IdleSince = b.Clock.Oldest
		}
		if !dir.IdleSince.IsZero() {
			dir.Idle = b.AgeAtLeast(dir.IdleSince, after, now)
		}
		switch {
		case dir.Idle >= w.p.Request.Idle && !dir.IdleSince.IsZero():
			dir.Age, dir.AgeUnknown = now.Add(b.ClockOffset()).Sub(dir.Made), !b.Dates(dir.czxid)
			w.p.Found = append(w.p.Found, dir)
		case dir.IdleSince.IsZero() || !b.Dates(dir.pzxid):
			w.p.Undated++
			w.p.WhyUndated = "no timestamp by the servers' current clock shows that they have been idle for that long"
		default:
			w.p.Recent++
		}
	}
	slices.SortFunc(w.p.Found,
		func(a, b EmptyDir) int { return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Path, b.Path)) })
}

// Sweep implements Sweeper. The server refuses to delete a znode with children, so anything that a
// client creates in it meanwhile stays.
func (z *ZooKeeper) Sweep(ctx context.Context, p SweepPreview, dir EmptyDir, confirmed string) (Result, error) {
	intent := line{
		Action: "sweep", Why: inspect.Escape(p.Request.Why), target: z.target.record(), Confirmed: confirmed,
		Lock:  inspect.ID{Backend: p.Request.Root.Backend, Path: dir.Path}.String(),
		Owner: evidence{Name: inspect.Escape(dir.Path), Czxid: fmt.Sprintf("%#x", dir.czxid), Version: &dir.version},
	}
	intent.Chroot = &z.target.Chroot
	return audited(z.audit, intent, func() (Result, error) {
		node := z.path(dir.Path)
		now, err := synced{z}.Exists(ctx, node)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return Result{Reason: Gone, Detail: "it is gone already"}, nil
		case err != nil:
			return Result{}, err
		case now.Czxid != dir.czxid || now.Pzxid != dir.pzxid || now.Cversion != dir.cversion ||
			now.Version != dir.version:
			return Result{Reason: Changed, Detail: "it has been used since the check"}, nil
		}
		return z.remove(ctx, z.sweeping(node, dir.version), Result{}, intent)
	})
}

// sweeping returns the deletion of an empty directory.
func (z *ZooKeeper) sweeping(node string, version int32) deletion {
	return func() (Reason, string, error) {
		switch err := z.conn.Delete(node, version); {
		case err == nil:
			return "", "", nil
		case errors.Is(err, zk.ErrNoNode):
			return Gone, "it is gone already", nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNotEmpty):
			return Changed, "it has been used since the check", nil
		default:
			return "", "", z.failed("delete", node, err)
		}
	}
}
