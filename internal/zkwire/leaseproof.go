package zkwire

import (
	"slices"
	"time"
)

// mark is a request that a server has answered: the server has heard of the session after sent and
// before answered.
type mark struct {
	sent     time.Time
	answered time.Time // zero if the leader has heard of the session, too
}

const (
	// marksPerTimeout bounds the marks that are kept. More would lengthen a lease by at most 1/32
	// of the timeout.
	marksPerTimeout = 32
	// reportsPerTimeout is the minimum number of reports per timeout from a follower to the leader
	// about its sessions.
	reportsPerTimeout = 4
)

// mark records an answered request, and forgets requests that are too old to prove a lease.
func (c *tapConn) mark(request sent) {
	n := len(c.marks)
	if n == 0 || request.at.Sub(c.marks[n-1].sent) < c.tap.timeout/marksPerTimeout {
		return
	}
	past := request.at.Add(-c.tap.timeout)
	c.marks = slices.DeleteFunc(c.marks, func(m mark) bool { return m.sent.Before(past) })
	c.marks = append(c.marks, mark{request.at, c.heard})
}

// keep finds what the leader has heard of once a quorum has committed a request. That is all that the server
// had answered one report before the request was sent. This server's messages to the leader arrive in order.
func (c *tapConn) keep(sent time.Time) {
	t := c.tap
	reported := sent.Add(-t.timeout / reportsPerTimeout)
	last := -1
	for i, m := range c.marks {
		if m.answered.After(reported) {
			break
		}
		last = i
	}
	if last < 0 {
		return
	}
	c.marks = append(c.marks[:0], c.marks[last:]...)
	if since := c.marks[0].sent; since.After(t.kept) {
		t.kept = since
	}
}
