package zksource

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/zkwire"
)

const (
	// requestGoal limits a multi-read request, in bytes. It is far below the 1 MiB that servers
	// accept (jute.maxbuffer).
	requestGoal = 64 << 10
	// multiReadFrame is the length of an empty multi-read request: xid, operation and end marker.
	multiReadFrame = 8 + 9
	// listGoal limits the names listed by one request, in bytes, by the last known counts. A name
	// counts as nameBytes.
	listGoal, nameBytes = 512 << 10, 64
)

// batch is one multi-read request.
type batch struct {
	jobs  []tree.Job
	reads []zkwire.Read
	items int
	// length is the request's length in bytes.
	length int
	sent   time.Time

	results []zkwire.ReadResult
	bytes   int
	err     error
}

// pace returns how long the request would have taken with a single read: twenty reads add about
// one round trip.
func (b *batch) pace(at time.Time) time.Duration {
	const twice = 20
	return at.Sub(b.sent) * twice / time.Duration(twice+b.items)
}

// shared returns a job's read in a shared request.
func shared(j *tree.Job, cfg Config) zkwire.Read {
	r := zkwire.Read{Path: cfg.onServer(j.Dir.Path), Children: j.Kind == tree.JobList}
	if j.Kind == tree.JobGet {
		r.Child = j.Name
	}
	return r
}

// gather takes jobs for one request from the queue. Jobs that need their own request are set
// aside.
func (r *run) gather() *batch {
	q := &r.tree.Queue
	most, names := r.pacing.size.Items(), 0
	if r.pacing.gentle(q) {
		most = min(most, gentleItems)
	}
	b := &batch{length: multiReadFrame}
	for q.Shared() && b.items < most && names < listGoal {
		j := q.Pick()
		if !r.tree.Wanted(j) {
			continue
		}
		read := shared(&j, r.cfg)
		length := read.Length()
		if multiReadFrame+length > requestGoal {
			q.Alone = append(q.Alone, j)
			continue
		}
		if b.length+length > requestGoal {
			q.Urgent = slices.Insert(q.Urgent, 0, j) // first in the next request
			return b
		}
		if b.length += length; j.Kind == tree.JobList {
			names += j.Dir.Count() * nameBytes
		}
		b.jobs, b.reads, b.items = append(b.jobs, j), append(b.reads, read), b.items+read.Items()
	}
	return b
}

// sendMany sends a multi-read request.
func (r *run) sendMany(b *batch, now time.Time) {
	if len(b.jobs) == 0 {
		return
	}
	b.sent = now
	r.pacing.items.Spend(float64(b.items))
	r.pacing.batches++
	l := r.conn.link
	l.tap.Send(l.conn.SessionID(), func(_ int, reply zkwire.Reply) {
		b.results, b.err = reply.Reads(b.reads, nil)
		b.bytes = len(reply.Body)
		r.inbox.add(linkEvent{link: l, at: l.now(), kind: linkAnswered, batch: b})
	}, zkwire.MultiRead(b.reads, nil))
}

// answered handles the answer to a multi-read request.
func (r *run) answered(l *link, b *batch, at time.Time) {
	if l != r.conn.link {
		return
	}
	r.pacing.batches--
	switch {
	case b.err == nil:
	case isBroken(b.err):
		l.broken = true // the link's own event follows, and then everything is read again
		return
	case errors.Is(b.err, zkwire.ErrTooLong):
		r.answerTooLong(b)
		return
	case zkwire.Throttled(b.err):
		r.requestedTooMuch(&r.tree.Queue.Urgent, at, b.jobs...)
		return
	default: // unknown request, or a malformed answer
		r.unable(lack("multiRead", b.err), at)
		return
	}
	r.progress = at
	r.pacing.answeredMany(b, at)
	l.distance.learn(at.Sub(b.sent), at.Sub(l.distance.answered))
	l.distance.answered = at
	var reply tree.Reply // reused, since there are as many as contenders
	for i, j := range b.jobs {
		reply = tree.Reply{Job: j, Sent: b.sent, At: at}
		r.answeredOne(&reply, &b.results[i])
		if r.conn.link != l {
			return
		}
	}
}

// answerTooLong repeats the reads in smaller requests.
func (r *run) answerTooLong(b *batch) {
	r.pacing.size.Broke(b.items)
	q := &r.tree.Queue
	if len(b.jobs) == 1 {
		q.Alone = append(q.Alone, b.jobs[0])
		return
	}
	q.Urgent = append(b.jobs, q.Urgent...)
}

// answeredOne handles one of many answers. A refused, failed or doubtful read is repeated alone,
// which shows what is readable without the right, or that the chroot is missing.
func (r *run) answeredOne(reply *tree.Reply, got *zkwire.ReadResult) {
	gone := errors.Is(got.Err, zk.ErrNoNode)
	if got.Err != nil && (!gone || reply.Dir.Root()) {
		if j := reply.Job; r.tree.Wanted(j) {
			j.Denied = errors.Is(got.Err, zk.ErrNoAuth)
			r.tree.Queue.Alone = append(r.tree.Queue.Alone, j)
		}
		return
	}
	if reply.Err = replyError(got.Err); !gone {
		reply.Names, reply.Data, reply.Stat = got.Names, got.Data, statOf(&got.Stat)
	}
	r.apply(reply)
}
