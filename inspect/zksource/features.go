package zksource

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// Servers from 3.6 on answer many reads in one request, and report all changes below a node with
// one watch. An older server refuses such a request and closes the connection. We remember that
// and, on the next connection, poll the server with one node per request, starting with the nodes
// on the screen.

// lacking records why a server does not get the 3.6 requests: it refused them, or failed.
type lacking struct {
	why   string
	since time.Time
}

// lackingFor limits how long the reason is remembered, since the server may be upgraded.
const lackingFor = time.Hour

// lack explains why a server does not get a request.
func lack(request string, err error) string {
	if errors.Is(err, zkwire.ErrUnimplemented) {
		return "does not support " + request + " (needs ZooKeeper 3.6)"
	}
	return "refuses " + request + ": " + strings.TrimPrefix(err.Error(), "zk: ")
}

// able reports whether the connected server gets the 3.6 requests.
func (r *run) able(now time.Time) bool {
	lacks, known := r.lacks[r.conn.link.connectedTo()]
	return !known || now.Sub(lacks.since) > lackingFor
}

// unable notes a request that the server does not know, and reconnects to do without it.
func (r *run) unable(why string, now time.Time) {
	r.lacks[r.conn.link.connectedTo()] = lacking{why, now}
	r.reconnect(now)
}

// watchRoots sets a watch of all changes below each root, before anything is read. Roots below
// another root need none.
func (r *run) watchRoots() (watched []string) {
	if r.cfg.Once || !r.conn.many {
		return nil
	}
	var requests []zkwire.Request
	for _, p := range r.tree.Roots() {
		if !tree.Covered(watched, p) {
			watched = append(watched, p)
			requests = append(requests, zkwire.WatchBelow(r.cfg.onServer(p)))
		}
	}
	l := r.conn.link
	l.tap.Send(l.conn.SessionID(), func(_ int, reply zkwire.Reply) {
		if reply.Err != nil && !isBroken(reply.Err) {
			r.inbox.add(linkEvent{link: l, at: l.now(), kind: linkNoWatch, err: reply.Err})
		}
	}, requests...)
	return watched
}

// notWatched handles a failure to set a root's watch. Nothing may be read before it is set.
func (r *run) notWatched(err error, now time.Time) {
	if !zkwire.Throttled(err) {
		r.unable(lack("addWatch", err), now)
		return
	}
	r.pacing.throttled(r.tree.FirstPass, now)
	r.forgetLink()
	r.conn.why, r.conn.retryAt = err.Error(), r.pacing.paused.until
}

// requestedTooMuch requeues reads that the servers throttled.
func (r *run) requestedTooMuch(list *[]tree.Job, now time.Time, jobs ...tree.Job) {
	r.pacing.throttled(r.tree.FirstPass, now)
	*list = slices.Concat(jobs, *list)
}

// reading is the value of Backend.Reading; empty without a session.
func (r *run) reading() string {
	if !r.conn.ready {
		return ""
	}
	reads, watches := "many reads per request", "one watch per root"
	if !r.conn.many {
		at := r.conn.link.connectedTo()
		reads, watches = "one by one: "+at+" "+r.lacks[at].why, "polled, starting with the nodes on the screen"
	}
	if r.cfg.Once {
		return reads
	}
	return reads + ", " + watches
}
