package zksource

import (
	"cmp"
	"errors"
	"time"

	"lockscope/internal/connect"
)

// Servers from 3.6 on answer many reads in one request, and report all changes below a node by one watch. One that knows
// neither answers so and closes the connection; the next is made without, and the lack is remembered. Reading one by one
// with a watch on each directory is the way for those, and, as to watches, for a tree that changes so fast that reporting
// every change costs more than reading what is looked at.

// lacking records why a server does without requests: it refused them as unknown, or failed. Empty: it does not.
type lacking struct {
	manyReads, watchBelow string
	since                 time.Time
}

const (
	// lackingFor bounds that belief: the server may be upgraded meanwhile.
	lackingFor = time.Hour
	// hotFor keeps a tree that was hot on watches by directory, so that the way of reading does not flap.
	hotFor = 10 * time.Minute
	// hotBeats is the number of beats in a row that make a tree hot: a single burst does not.
	hotBeats = 5
)

// lack puts into words why a server does without a request.
func lack(request string, err error) string {
	if errors.Is(err, connect.ErrUnimplemented) {
		return "does not know " + request + " (ZooKeeper 3.6)"
	}
	return "refuses " + request + ": " + reason(err)
}

// heat counts the events of a tree.
type heat struct {
	events int // since the last beat
	beats  int // in a row with too many
	until  time.Time
}

// able leaves out what the server of our connection has refused as unknown.
func (r *run) able(now time.Time) (manyReads, watchBelow bool) {
	lacks := r.lacks[r.link.connectedTo()]
	if now.Sub(lacks.since) > lackingFor {
		lacks = lacking{}
	}
	return lacks.manyReads == "", lacks.watchBelow == ""
}

// unable notes what the server that we are connected to does not know, and connects anew, to do without.
func (r *run) unable(without lacking, now time.Time) {
	at := r.link.connectedTo()
	was := r.lacks[at]
	if now.Sub(was.since) > lackingFor {
		was = lacking{}
	}
	r.lacks[at] = lacking{cmp.Or(without.manyReads, was.manyReads), cmp.Or(without.watchBelow, was.watchBelow), now}
	r.reconnect(now)
}

// reconnect makes a new connection at once, for a reason of our own: nobody was disturbed, and nothing was down.
func (r *run) reconnect(now time.Time) {
	r.forgetLink()
	r.linkErr, r.retryAt = "", now
}

// pause ends when the servers are asked again after they have throttled.
type pause struct {
	until time.Time
	last  time.Duration // how long it was; zero once a request was answered
}

// The first pause, and the longest of several in a row during the first look and later.
const minPause, maxFirstPause, maxPause = 100 * time.Millisecond, time.Second, 5 * time.Second

// throttled waits before more is asked: longer each time in a row.
func (r *run) throttled(now time.Time) {
	longest := maxPause
	if !r.firstPass {
		longest = maxFirstPause
	}
	r.paused.last = min(max(2*r.paused.last, minPause), longest)
	r.paused.until = now.Add(r.paused.last)
}

// requestedTooMuch takes in that the servers throttled requests for reads: they are asked for again.
func (r *run) requestedTooMuch(list *[]job, now time.Time, jobs ...job) {
	r.throttled(now)
	*list = append(jobs, *list...)
}

// notWatched takes in that the watch of all below a root was not set. Nothing may be read before it is.
func (r *run) notWatched(err error, now time.Time) {
	if !connect.Throttled(err) {
		r.unable(lacking{watchBelow: lack("addWatch", err)}, now)
		return
	}
	r.throttled(now)
	r.forgetLink()
	r.linkErr, r.retryAt = reason(err), r.paused.until
}

// measureHeat leaves the watch below the roots while these change too fast, and comes back to it later.
func (r *run) measureHeat(now time.Time) {
	if !r.ready || r.cfg.Once {
		return
	}
	h := &r.heat
	hot := float64(h.events) > r.cfg.Budget.Events*r.beats.poll.Seconds()
	if h.events = 0; !hot {
		h.beats = 0
	} else if h.beats++; h.beats == hotBeats && len(r.below) > 0 {
		h.beats, h.until = 0, now.Add(hotFor)
		r.reconnect(now)
		return
	}
	if !h.until.IsZero() && now.After(h.until) {
		h.until = time.Time{}
		r.reconnect(now)
	}
}

// reading describes the way of reading for Backend.Reading; empty while there is no session.
func (r *run) reading() string {
	if !r.ready {
		return ""
	}
	many, below := r.able(r.cfg.Now())
	at := r.link.connectedTo()
	reads, watches := "many reads per request", "one watch per root"
	if !many {
		reads = "one by one: " + at + " " + r.lacks[at].manyReads
	}
	switch {
	case r.cfg.Once:
		return reads
	case !below:
		watches = "one watch per directory: " + at + " " + r.lacks[at].watchBelow
	case !r.heat.until.IsZero():
		watches = "one watch per directory, those on the screen first: the tree changes too fast to follow all of it"
	}
	return reads + ", " + watches
}
