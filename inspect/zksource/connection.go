package zksource

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/connect"
)

// connection is our connection to the ensemble, and the history of earlier ones.
type connection struct {
	link    *link // nil while there is none
	ready   bool  // there is a session, and we are logged in if needed
	since   time.Time
	many    bool     // many reads can share a request
	watched []string // roots with a watch of all below

	auth      []byte    // the credentials for the next session
	refusedAt time.Time // the newest refusal of a login, or of a read that was allowed before; zero once that is long past
	renewedAt time.Time // when NewAuth was last called

	retryAt  time.Time
	failures int
	why      string // why there is no link
	slow     bool   // a server did not answer in time
	reasons  map[string]failure
	lost     int // connections that broke
	lies     int // of these, because a server sent nonsense

	spent      map[string]uint64 // requests on links that are gone, by server
	heartbeats uint64            // on links that are gone
}

// connect opens a link if there is none and a retry is due.
func (r *run) connect(now time.Time) {
	if r.conn.link != nil || now.Before(r.conn.retryAt) {
		return
	}
	l, err := open(r.cfg, r.cfg.Servers, r.sessionTimeout(), r.patience(), r.inbox)
	if err != nil {
		r.conn.why, r.backend.stale = err.Error(), true
		r.conn.backoff(now)
		return
	}
	r.conn.link = l
	if !r.cfg.Once {
		l.keepAwake()
	}
}

// patience returns the time for one connection attempt, including its session. go-zookeeper's
// fixed second is too short for a slow or distant server. So the time doubles while no server
// accepts us, until trying all servers takes the whole Timeout. A single pass has no time to start
// lower.
func (r *run) patience() time.Duration {
	most := r.cfg.Timeout / time.Duration(max(1, len(r.cfg.Servers)))
	if r.cfg.Once {
		return most
	}
	return min(time.Second<<min(r.conn.failures, 8), most)
}

// sessionTimeout returns the timeout to request. A request may go unanswered for a third of it. A
// single pass shares its Timeout among the servers, so that it can try the next if one hangs. A
// continuous watch must notice sooner.
func (r *run) sessionTimeout() time.Duration {
	if r.cfg.Once {
		return max(r.beats.session, 3*r.cfg.Timeout/time.Duration(max(1, len(r.cfg.Servers))))
	}
	return r.beats.session
}

// backoff sets the next attempt to connect: soon at first, then every second.
func (c *connection) backoff(now time.Time) {
	c.failures++
	c.retryAt = now.Add(min(time.Second, 100*time.Millisecond<<min(c.failures, 8)))
}

// requestsTo returns the number of requests sent to a server so far.
func (c *connection) requestsTo(server string) uint64 {
	n := c.spent[server]
	if c.link != nil && c.link.connectedTo() == server {
		n += c.link.tap.Requests()
	}
	return n
}

// cost counts all requests so far, and the heartbeats.
func (c *connection) cost() (requests, heartbeats uint64) {
	heartbeats = c.heartbeats
	for _, n := range c.spent {
		requests += n
	}
	if c.link != nil {
		requests += c.link.tap.Requests()
		heartbeats += c.link.tap.Heartbeats()
	}
	return requests, heartbeats
}

func (c *connection) session() (id int64) {
	if c.link != nil {
		id, _ = c.link.tap.Session()
	}
	return id
}

// serving names the connected server, or all servers.
func (r *run) serving() string {
	if r.conn.link != nil {
		if at := r.conn.link.tap.Server(); at != "" {
			return at
		}
	}
	return strings.Join(r.cfg.Servers, ",")
}

// dropLink closes the link in the background.
func (r *run) dropLink() {
	c := &r.conn
	l := c.link
	if l == nil {
		return
	}
	r.hear()
	c.link, c.ready = nil, false
	c.spent[l.connectedTo()] += l.tap.Requests()
	c.heartbeats += l.tap.Heartbeats()
	r.tasks.Go(l.close)
}

// dialReason returns why the last dial failed, with the address if there are several servers.
func (r *run) dialReason(err error) string {
	if dial, ok := errors.AsType[*connect.DialError](err); ok && len(r.cfg.Servers) > 1 {
		return dial.Addr + ": " + connect.Reason(err)
	}
	return connect.Reason(err)
}

// lost forgets the link's watches and pending requests. Everything else keeps its last state.
func (r *run) lost(e linkEvent) {
	c := &r.conn
	c.reasons, c.slow = e.link.reasons(), e.link.wasSlow()
	c.why = "the connection was lost"
	err := e.link.tap.DialError()
	if err != nil {
		c.why = r.dialReason(err)
	}
	nonsense := errors.Is(err, connect.ErrNonsense)
	if nonsense {
		c.lies++
		r.done = r.done || r.cfg.Once && c.lies > len(r.cfg.Servers)
	}
	if e.kind == linkLost {
		c.failures = 0
		c.lost++
		r.ensemble.Disturb(e.at)
	}
	r.forgetLink()
	c.backoff(e.at)
	if nonsense && !r.cfg.Once && len(r.cfg.Servers) == 1 {
		c.retryAt = e.at.Add(nonsenseRest)
	}
}

// nonsenseRest is the wait after our only server has sent nonsense.
const nonsenseRest = 10 * time.Second

// forgetLink closes the link and forgets what depended on it.
func (r *run) forgetLink() {
	r.dropLink()
	r.backend.stale = true
	r.pacing.batches, r.conn.many, r.conn.watched = 0, false, nil
	r.tree.Stop(r.serving())
}

// reconnect makes a new connection at once for a reason of our own. No client was disturbed and no
// server was down.
func (r *run) reconnect(now time.Time) {
	r.forgetLink()
	r.conn.why, r.conn.retryAt = "", now
}

// login sends the credentials, if any, and then starts to read.
func (r *run) login() {
	if len(r.conn.auth) == 0 {
		r.started()
		return
	}
	l, auth := r.conn.link, r.conn.auth
	r.pacing.flying++
	r.tasks.Go(func() {
		err := l.conn.AddAuth("digest", auth)
		r.deliver(result{Reply: tree.Reply{At: r.cfg.Now(), Err: err}, link: l, login: true})
	})
}

func (r *run) loggedIn(res result) {
	if res.Err == nil {
		r.started()
		return
	}
	r.conn.refusedAt = res.At
	r.lost(linkEvent{link: r.conn.link, at: res.At, kind: linkFailed})
	const advice = " (check LOCKSCOPE_ZK_AUTH)"
	r.conn.why = "user " + r.user() + ": the server refused the login: " + res.Err.Error() + advice
}

// How often new credentials are requested, and for how long after a refusal.
const (
	newAuthEvery  = 5 * time.Second
	newAuthWithin = time.Minute
)

// renewAuth logs in again if the credentials have changed. ZooKeeper never refuses a digest, only
// the operations that it does not permit.
func (r *run) renewAuth(now time.Time) {
	c := &r.conn
	switch {
	case r.cfg.NewAuth == nil || c.refusedAt.IsZero() || now.Sub(c.renewedAt) < newAuthEvery:
		return
	case now.Sub(c.refusedAt) > newAuthWithin:
		c.refusedAt = time.Time{}
		return
	}
	c.renewedAt = now
	if auth := r.cfg.NewAuth(); !bytes.Equal(auth, c.auth) {
		c.auth, c.refusedAt = auth, time.Time{}
		r.reconnect(now)
	}
}

// started reads everything known again, starting with the nodes on the screen, and then continues
// the walk.
func (r *run) started() {
	c, now := &r.conn, r.cfg.Now()
	c.ready, c.since, c.failures, c.why, c.reasons = true, now, 0, "", nil
	r.looksAgain(now)
	c.many = r.able(now)
	c.watched = r.watchRoots()
	if r.backend.stale = true; c.lost == 0 { // repeatedly lost connections are not progress
		r.progress = now
	} else {
		r.ensemble.Disturb(now) // other clients may have lost theirs too
	}
	r.tree.Start(tree.Server{
		Addr: r.serving(), Many: c.many, Watched: c.watched, Since: now, Lost: c.lost,
	})
}
