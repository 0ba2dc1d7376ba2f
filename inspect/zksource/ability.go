package zksource

import (
	"time"
)

// Servers from 3.6 on answer many reads in one request, and tell of all changes below a node with one watch. One that knows
// neither says so and closes the connection; then the next is made without, and told what it lacks. Reading one by one with a
// watch on each directory is the way for those, and, as to watches, for a tree that changes so fast that telling us of every
// change costs more than reading what is looked at.

// lacking is what a server does not know.
type lacking struct {
	manyReads, watchBelow bool
	since                 time.Time
}

const (
	// lackingFor is how long a server is believed not to know something: it may be another version after that.
	lackingFor = time.Hour
	// hotFor is how long a tree that was hot is read in the other way.
	hotFor = 10 * time.Minute
	// hotBeats is how many beats a tree must be hot for.
	hotBeats = 5
)

// heat is how fast a tree changes.
type heat struct {
	events int // since the last beat
	beats  int // in a row with too many
	until  time.Time
}

// able is what the server that we are connected to is not known to lack.
func (r *run) able(now time.Time) (manyReads, watchBelow bool) {
	lacks := r.lacks[r.link.connectedTo()]
	if now.Sub(lacks.since) > lackingFor {
		lacks = lacking{}
	}
	return !lacks.manyReads, !lacks.watchBelow
}

// unable notes what the server that we are connected to does not know, and connects anew, to do without.
func (r *run) unable(without lacking, now time.Time) {
	at := r.link.connectedTo()
	was := r.lacks[at]
	if now.Sub(was.since) > lackingFor {
		was = lacking{}
	}
	r.lacks[at] = lacking{was.manyReads || without.manyReads, was.watchBelow || without.watchBelow, now}
	r.reconnect(now)
}

// reconnect makes a new connection at once, for a reason of our own: nobody was disturbed, and nothing was down.
func (r *run) reconnect(now time.Time) {
	r.forgetLink()
	r.linkErr, r.retryAt = "", now
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

// reading is how the servers are read, for people.
func (r *run) reading() string {
	if !r.ready {
		return ""
	}
	many, below := r.able(r.cfg.Now())
	reads, watches := "many reads a request", "one watch a root"
	if !many {
		reads = "one by one: " + r.link.connectedTo() + " does not know multiRead (ZooKeeper 3.6)"
	}
	switch {
	case r.cfg.Once:
		return reads
	case !below:
		watches = "a watch a directory: " + r.link.connectedTo() + " does not know addWatch (ZooKeeper 3.6)"
	case !r.heat.until.IsZero():
		watches = "a watch a directory, what is on the screen first: the tree changes too fast to be told of all"
	}
	return reads + ", " + watches
}
