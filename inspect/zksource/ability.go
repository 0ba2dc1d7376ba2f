package zksource

import (
	"errors"
	"time"

	"lockscope/internal/connect"
)

// Servers from 3.6 on answer many reads in one request, and report all changes below a node by one watch. One
// that knows neither answers so and closes the connection; the next is made without, and the lack is
// remembered. Such a server is read one node a request, again and again, what is on the screen first. So is,
// many nodes a request, a tree that changes so fast that reporting every change costs more than reading what
// is looked at.

// lacking records why a server does without the requests of 3.6: it refused them as unknown, or failed.
type lacking struct {
	why   string
	since time.Time
}

const (
	// lackingFor bounds that belief: the server may be upgraded meanwhile.
	lackingFor = time.Hour
	// hotFor keeps a tree that was hot without a watch, so that the way of reading does not flap.
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

// able reports whether the server of our connection is not known to lack the requests of 3.6.
func (r *run) able(now time.Time) bool {
	lacks, known := r.lacks[r.link.connectedTo()]
	return !known || now.Sub(lacks.since) > lackingFor
}

// unable notes what the server that we are connected to does not know, and connects again, to do without.
func (r *run) unable(why string, now time.Time) {
	r.lacks[r.link.connectedTo()] = lacking{why, now}
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
		r.unable(lack("addWatch", err), now)
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
	reads, watches := "many reads per request", "one watch per root"
	if !r.manyReads {
		at := r.link.connectedTo()
		reads, watches = "one by one: "+at+" "+r.lacks[at].why, "again and again, what is on the screen first"
	} else if !r.heat.until.IsZero() {
		watches = "again and again, what is on the screen first: the tree changes too fast to follow all of it"
	}
	if r.cfg.Once {
		return reads
	}
	return reads + ", " + watches
}
