package zksource

import (
	"errors"
	"time"

	"lockscope/internal/connect"
)

// connect makes a link when there is none and it is time for one.
func (r *run) connect(now time.Time) {
	if r.link != nil || now.Before(r.retryAt) {
		return
	}
	l, err := open(r.cfg, r.cfg.Servers, r.sessionTimeout(), r.patience(), r.inbox)
	if err != nil {
		r.linkErr, r.backend.stale = err.Error(), true
		r.backoff(now)
		return
	}
	r.link = l
	if !r.cfg.Once {
		l.keepAwake()
	}
}

// patience returns the time for an attempt to connect, its session included: go-zookeeper's second would keep
// a server that is slower, or far, out of reach for ever. So it doubles while no server lets us in, until
// trying all servers takes the whole Timeout. Who looks once has no time to begin with less.
func (r *run) patience() time.Duration {
	most := r.cfg.Timeout / time.Duration(max(1, len(r.cfg.Servers)))
	if r.cfg.Once {
		return most
	}
	return min(time.Second<<min(r.failures, 8), most)
}

// sessionTimeout returns the one to ask for: a third of it is for how long a request may go unanswered. Who
// looks once waits for as long as it was told to, of which each server has its part: when one hangs, another
// is tried. Who watches on is to notice sooner.
func (r *run) sessionTimeout() time.Duration {
	if r.cfg.Once {
		return max(r.beats.session, 3*r.cfg.Timeout/time.Duration(max(1, len(r.cfg.Servers))))
	}
	return r.beats.session
}

// backoff sets the next attempt to connect: soon at first, then every second.
func (r *run) backoff(now time.Time) {
	r.failures++
	r.retryAt = now.Add(min(time.Second, 100*time.Millisecond<<min(r.failures, 8)))
}

// dropLink ends the link in the background.
func (r *run) dropLink() {
	l := r.link
	if l == nil {
		return
	}
	r.hear()
	r.link, r.ready = nil, false
	r.spend(l.cost())
	r.tasks.Go(l.close)
}

// spend counts what a connection that is gone has cost.
func (r *run) spend(c *cost) {
	r.spent += c.requests
	r.heartbeats += c.heartbeats
	r.spentOn[c.server] += c.requests
}

// dialReason returns why the last dial failed, with the address where there are several servers.
func (r *run) dialReason(err error) string {
	var dial *connect.DialError
	if errors.As(err, &dial) && len(r.cfg.Servers) > 1 {
		return dial.Addr + ": " + connect.Reason(err)
	}
	return connect.Reason(err)
}

// lost forgets what only held on the link: watches, and requests on their way. All else stays as it was last seen.
func (r *run) lost(e linkEvent) {
	r.reasons, r.slow = e.link.reasons(), e.link.wasSlow()
	r.linkErr = "the connection was lost"
	err := e.link.tap.DialError()
	if err != nil {
		r.linkErr = r.dialReason(err)
	}
	nonsense := errors.Is(err, connect.ErrNonsense)
	if nonsense {
		r.lies++
		r.done = r.done || r.cfg.Once && r.lies > len(r.cfg.Servers)
	}
	if e.kind == linkLost {
		r.failures = 0
		r.lostLinks++
		r.ensemble.Disturb(e.at)
	}
	r.forgetLink()
	if r.backoff(e.at); nonsense && !r.cfg.Once && len(r.cfg.Servers) == 1 {
		r.retryAt = e.at.Add(nonsenseRest)
	}
}

// nonsenseRest is before a server that said nonsense is asked again, where there is no other.
const nonsenseRest = 10 * time.Second

// forgetLink ends the link, and forgets what only held on it.
func (r *run) forgetLink() {
	r.dropLink()
	r.backend.stale = true
	r.queue.clear()
	clear(r.due)
	r.batches, r.manyReads, r.below = 0, false, nil
	r.toSweep, r.sweepAt = nil, time.Time{}
	for _, d := range r.dirs {
		d.busy, d.again, d.answers, d.due = false, false, false, time.Time{}
		d.awaitNone()
		d.firedAt = time.Time{}
		d.dataStale, d.reread = d.dataWanted, nil
	}
}

// login gives the credentials, if there are any, and then starts to read.
func (r *run) login() {
	if len(r.cfg.Auth) == 0 {
		r.started()
		return
	}
	l := r.link
	r.flying++
	r.tasks.Go(func() {
		err := l.conn.AddAuth("digest", r.cfg.Auth)
		r.deliver(result{job: job{kind: jobLogin}, link: l, at: r.cfg.Now(), err: err})
	})
}
