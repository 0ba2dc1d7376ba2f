package zksource

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

const (
	// requestGoal limits a request for many reads, in bytes: far below the mebibyte that servers take (jute.maxbuffer).
	requestGoal = 64 << 10
	// multiReadFrame is the length of a request for many reads without its reads: xid, operation and an end.
	multiReadFrame = 8 + 9
	// requestsInFlight limits the requests for many reads without an answer yet: a server answers one
	// session's one after the other, so that more would only wait there, in front of what is urgent.
	requestsInFlight = 4
	// eagerInFlight are those of a look without a budget: the server is not to wait for us while we take in
	// what it has answered.
	eagerInFlight = 8
	// gentleItems and gentleInFlight are for a first look by a budget, while others are served: a server
	// answers them after the request that it answers. With 200 reads and four requests another program's p99
	// was 2.2 times what it was alone, and 2.7 times while ls looked; with these 1.05 and 1.1 times, for
	// twice the server's processor time (BenchmarkNeighbour).
	gentleItems, gentleInFlight = 50, 2
	// mostInFlight limits those to servers far away.
	mostInFlight = 64
	// mostMore limits by how many more an answer lets be on their way: a network may deliver two at once that
	// were not made so.
	mostMore = 8
	// listGoal limits the names that one request asks for, in bytes, by the counts known before; a name is taken for
	// nameBytes.
	listGoal, nameBytes = 512 << 10, 64
)

// batch is one request for many reads.
type batch struct {
	jobs  []job
	reads []connect.Read
	items int
	// length of the request, in bytes.
	length int
	sent   time.Time

	results []connect.ReadResult
	bytes   int
	err     error

	body []byte // of the request
}

// newBatch is an empty batch, in the memory of one that is done with.
func (r *run) newBatch() *batch {
	n := len(r.spare)
	if n == 0 {
		return &batch{}
	}
	b := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return b
}

// doneWith keeps the memory of a batch for the next.
func (r *run) doneWith(b *batch) {
	clear(b.jobs)
	clear(b.reads)
	clear(b.results)
	*b = batch{jobs: b.jobs[:0], reads: b.reads[:0], results: b.results[:0], body: b.body[:0]}
	if len(r.spare) < eagerInFlight {
		r.spare = append(r.spare, b)
	}
}

// read returns a job's part of a shared request.
func (j *job) read(cfg Config) connect.Read {
	r := connect.Read{Path: cfg.onServer(j.dir.path), Children: j.kind == jobList}
	if j.kind == jobGet {
		r.Child = j.name
	}
	return r
}

// dispatchMany sends as much as the budgets allow: the jobs that can share requests, and then the others.
func (r *run) dispatchMany(now time.Time) {
	for r.batches < r.mayFly() && r.queue.shared() {
		if r.throttle = r.queue.takeToken(now); r.throttle > 0 {
			break
		}
		r.sendMany(r.gather(), now)
	}
	for r.flying < inFlight && len(r.queue.alone) > 0 {
		pace := &r.queue.discovering
		if r.firstPass {
			pace = &r.queue.steady
		}
		if wait := pace.take(now); wait > 0 {
			if r.throttle == 0 || wait < r.throttle {
				r.throttle = wait
			}
			return
		}
		if j := pop(&r.queue.alone); r.wanted(j) {
			r.sendAlone(j)
		}
	}
}

// gentle reports whether requests are kept short for the sake of others: in a first look that has a budget.
func (r *run) gentle() bool { return !r.cfg.Budget.Unlimited && r.queue.discovers() }

// mayFly returns the number of requests for many reads that may be without an answer. Of short ones these are
// two, and as many more as the budget sends, in reads or in bytes, while one is on its way there and back,
// and as the server has shown that they do not wait for each other there (see quicker). A server that has
// become slow has two.
func (r *run) mayFly() int {
	switch {
	case r.cfg.Budget.Unlimited && r.queue.discovers():
		return eagerInFlight
	case !r.gentle():
		return requestsInFlight
	}
	if r.queue.pace.Slow {
		return gentleInFlight
	}
	onTheWay := r.cfg.Budget.Items / gentleItems * r.link.quickest.Seconds()
	if r.bytesRead > 0 {
		bytes := gentleItems * float64(r.bytesRead) / float64(r.itemsRead) // of an answer
		onTheWay = min(onTheWay, r.cfg.Budget.Bytes/bytes*r.link.quickest.Seconds())
	}
	return gentleInFlight + int(min(onTheWay, mostInFlight-gentleInFlight, float64(r.link.spare)))
}

// quicker takes in how long a request took, and how long after the answer before it its own came. A server
// far away answers each as late as the one before, however many are on their way; one that is slow lets them
// wait for each other, and has no more than it can answer: who is both slow and far cannot be told by its
// greeting. A session's requests are answered one after the other, so that an answer took the server no
// longer than it came apart from the one before. Where that is a small part of the way, several more may be
// on it at once: of one more for each answer, 64 are on their way after five times the way there and back.
func (l *link) quicker(took, apart time.Duration) {
	if l.quickest == 0 || took < l.quickest {
		l.quickest = took
	}
	switch {
	case took <= l.quickest+l.quickest/4:
		more := min(l.quickest/2/max(apart, 1), mostMore)
		l.spare = min(l.spare+max(int(more), 1), mostInFlight-gentleInFlight)
	case took > 2*l.quickest:
		l.spare /= 2
	}
}

// gather takes jobs from the queue for one request. Those that need one of their own are set aside.
func (r *run) gather() *batch {
	most, names := r.size.Items(), 0
	if r.gentle() {
		most = min(most, gentleItems)
	}
	b := r.newBatch()
	b.length = multiReadFrame
	for r.queue.shared() && b.items < most && names < listGoal {
		j := r.queue.pick()
		if !r.wanted(j) {
			continue
		}
		read := j.read(r.cfg)
		switch length := read.Length(); {
		case multiReadFrame+length > requestGoal:
			r.queue.alone = append(r.queue.alone, j)
			continue
		case b.length+length > requestGoal:
			r.queue.urgent = slices.Insert(r.queue.urgent, 0, j) // it comes first in the next
			return b
		default:
			b.length += length
		}
		if j.kind == jobList {
			names += int(j.dir.count) * nameBytes
		}
		b.jobs, b.reads, b.items = append(b.jobs, j), append(b.reads, read), b.items+read.Items()
	}
	return b
}

func (r *run) sendMany(b *batch, now time.Time) {
	if len(b.jobs) == 0 {
		r.doneWith(b)
		return
	}
	b.sent = now
	r.queue.items.spend(float64(b.items))
	r.batches++
	l, request := r.link, connect.MultiRead(b.reads, b.body)
	b.body = request.Body
	l.tap.Send(l.conn.SessionID(), func(_ int, reply connect.Reply) {
		b.results, b.err = reply.Reads(b.reads, b.results)
		b.bytes = len(reply.Body)
		r.inbox.add(linkEvent{link: l, at: l.now(), kind: linkAnswered, batch: b})
	}, request)
}

// answered takes in what came of a request for many reads.
func (r *run) answered(l *link, b *batch, at time.Time) {
	if l != r.link {
		return
	}
	r.batches--
	if isBroken(b.err) {
		l.broken = true
		return // the link's own event says so too, and then everything is asked again
	}
	switch {
	case b.err == nil:
	case errors.Is(b.err, connect.ErrTooLong):
		r.answerTooLong(b)
		return
	case connect.Throttled(b.err):
		r.requestedTooMuch(&r.queue.urgent, at, b.jobs...)
		return
	default: // it does not know the request, or answers what is no answer to it
		r.unable(lack("multiRead", b.err), at)
		return
	}
	r.progress, r.paused.last = at, 0
	r.size.Answered(b.items, b.bytes)
	r.queue.bytes.spend(float64(b.bytes))
	r.itemsRead += uint64(b.items)
	r.bytesRead += uint64(b.bytes)
	r.queue.answered(b.pace(at))
	l.quicker(at.Sub(b.sent), at.Sub(l.answered))
	l.answered = at
	for i, j := range b.jobs {
		r.answeredOne(result{job: j, link: l, sent: b.sent, at: at}, &b.results[i])
		if r.link != l {
			return
		}
	}
	r.doneWith(b)
}

// pace returns the duration of a request as if it had been for one read: twenty take about as long again as the way.
func (b *batch) pace(at time.Time) time.Duration {
	const twice = 20
	return at.Sub(b.sent) * twice / time.Duration(twice+b.items)
}

// answerTooLong asks again, for less at a time.
func (r *run) answerTooLong(b *batch) {
	r.size.Broke(b.items)
	if len(b.jobs) == 1 {
		r.queue.alone = append(r.queue.alone, b.jobs[0])
		return
	}
	r.queue.urgent = append(b.jobs, r.queue.urgent...)
}

// answeredOne takes in one of many answers. What was refused, failed or is in doubt is asked for once more by
// itself, in the way that shows what can be known without the right, or that there is no chroot.
func (r *run) answeredOne(res result, got *connect.ReadResult) {
	j := &res.job
	gone := errors.Is(got.Err, zk.ErrNoNode)
	if got.Err != nil && (!gone || j.dir.root) {
		if r.wanted(*j) {
			j.denied = errors.Is(got.Err, zk.ErrNoAuth)
			r.queue.alone = append(r.queue.alone, *j)
		}
		return
	}
	if res.err = got.Err; !gone {
		res.names, res.data, res.stat = got.Names, got.Data, &got.Stat
	}
	r.apply(res)
}
