package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Ensemble is a leader and followers that replicate it, as far as clients can see: every change is one entry of a log,
// which the leader executes when a majority is in reach and each follower behind it, in order. A follower answers reads
// and pings by itself, also while it is cut off, and reports to the leader the sessions that it heard of only with the
// leader's pings, every half tick. A member that is cut off for longer than the sync limit serves nobody. There are no
// elections: the first server leads for ever. Methods may be called by any goroutine.
type Ensemble struct {
	cfg       Config
	syncLimit time.Duration
	servers   []*Server
	done      chan struct{}
	work      sync.WaitGroup

	mu      sync.Mutex // before any Server.mu
	changed chan struct{}
	log     []entry
	members []*member
	secrets map[int64][16]byte // passwords of the sessions
}

// member is a server as a part of an Ensemble. Guarded by Ensemble.mu.
type member struct {
	*Ensemble
	server *Server
	index  int
	// toLeader and fromLeader are cut when true; lag is its delay behind the leader in executing an entry.
	toLeader, fromLeader bool
	lag                  time.Duration
	applied              int // entries of the log
	waiting              map[int]chan outcome
	touched              map[int64]struct{}
	heard                time.Time // of the leader; the leader: of a majority
	down                 bool      // serves nobody
}

// entry is one change that a majority has committed.
type entry struct {
	at      time.Time
	zxid    int64
	now     int64
	session int64
	who     []identity // who asks for it
	op      int32
	body    []byte
}

// outcome of a change, as it is answered.
type outcome struct {
	zxid int64
	code errCode
	body body
}

// opCreateSession begins a session in the log; clients do not send it.
const opCreateSession = -10

// StartEnsemble starts a server for each of these listeners, one ensemble without AdminServers; the first one leads. A
// member that is cut off serves nobody any more after syncLimit ticks.
func StartEnsemble(cfg Config, syncLimit int, listeners ...net.Listener) (*Ensemble, error) {
	cfg = cfg.withDefaults()
	if len(listeners) < 3 {
		return nil, errors.New("zkserver: an ensemble has at least three members")
	}
	e := &Ensemble{
		cfg: cfg, syncLimit: time.Duration(syncLimit) * cfg.TickTime, done: make(chan struct{}), changed: make(chan struct{}),
		secrets: map[int64][16]byte{},
	}
	for i, l := range listeners {
		s := newServer(cfg, l)
		s.member = &member{
			Ensemble: e, server: s, index: i, waiting: map[int]chan outcome{}, touched: map[int64]struct{}{}, heard: time.Now(),
		}
		e.servers, e.members = append(e.servers, s), append(e.members, s.member)
	}
	for i, s := range e.servers {
		if i > 0 {
			e.work.Go(s.member.follow)
		}
		s.wg.Go(s.accept)
	}
	e.work.Go(e.beat)
	return e, nil
}

// Close ends all servers and waits for all goroutines.
func (e *Ensemble) Close() {
	close(e.done)
	for _, s := range e.servers {
		s.Close()
	}
	e.work.Wait()
}

// Cut holds back the messages from a follower to its leader, to the follower, or both. Heal ends that.
func (e *Ensemble) Cut(follower int, toLeader, fromLeader bool) {
	e.set(func() { e.members[follower].toLeader, e.members[follower].fromLeader = toLeader, fromLeader })
}

// Lag makes a follower execute changes so much later than the leader.
func (e *Ensemble) Lag(follower int, lag time.Duration) {
	e.set(func() { e.members[follower].lag = lag })
}

// Heal ends all cuts and lags.
func (e *Ensemble) Heal() {
	e.set(func() {
		for _, m := range e.members {
			m.toLeader, m.fromLeader, m.lag = false, false, 0
		}
	})
}

// Sessions are the ids of all living sessions, in ascending order.
func (e *Ensemble) Sessions() []int64 { return e.servers[0].Sessions() }

// Delete removes a node, as an operator does, when a majority is in reach.
func (e *Ensemble) Delete(path string) {
	var enc encoder
	enc.string(path)
	enc.int32(-1)
	e.work.Go(func() { e.members[0].propose(0, super, opDelete, enc.buf) })
}

// Children are the names of a node's children, as the leader has them.
func (e *Ensemble) Children(path string) []string {
	s := e.servers[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.get(path)
	if n == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(n.children))
}

func (e *Ensemble) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	e.broadcast()
}

// broadcast wakes all who wait for a change. Callers hold e.mu.
func (e *Ensemble) broadcast() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// await waits until ok, which is called with e.mu held, answers with no wait; false when the ensemble has ended. It returns
// with e.mu held.
func (e *Ensemble) await(ok func() (ready bool, wait time.Duration)) bool {
	e.mu.Lock()
	for {
		ready, wait := ok()
		if ready {
			return true
		}
		changed := e.changed
		e.mu.Unlock()
		var timer *time.Timer
		var fires <-chan time.Time
		if wait > 0 {
			timer = time.NewTimer(wait)
			fires = timer.C
		}
		select {
		case <-changed:
		case <-fires:
		case <-e.done:
			e.mu.Lock()
			return false
		}
		if timer != nil {
			timer.Stop()
		}
		e.mu.Lock()
	}
}

// majority reports whether the leader reaches enough followers, and they it. Callers hold e.mu.
func (e *Ensemble) majority() bool {
	reached := 1
	for _, m := range e.members[1:] {
		if !m.toLeader && !m.fromLeader {
			reached++
		}
	}
	return reached > len(e.members)/2
}

// propose has a change committed and executed on this member, and returns its answer; false when this member has stopped
// to serve before, and then it may be executed or not.
func (m *member) propose(session int64, who []identity, op int32, body []byte) (outcome, bool) {
	gone := false
	ok := m.await(func() (bool, time.Duration) {
		gone = m.down || m.members[0].down
		return gone || !m.toLeader && m.majority(), 0
	})
	if !ok || gone {
		m.mu.Unlock()
		return outcome{}, false
	}
	leader := m.members[0]
	leader.server.mu.Lock()
	if sess := leader.server.sessions[session]; session != 0 && op != opCreateSession && (sess == nil || sess.closing && op != opCloseSession) {
		zxid := leader.server.zxid
		leader.server.mu.Unlock()
		m.mu.Unlock()
		return outcome{zxid: zxid, code: codeSessionExpired}, true
	}
	now := time.Now()
	next := entry{at: now, zxid: leader.server.zxid + 1, now: now.UnixMilli(), session: session, who: who, op: op, body: body}
	if op == opSync { // changes nothing, and is answered behind everything before it
		next.zxid--
	}
	answer := leader.server.apply(next)
	leader.server.mu.Unlock()
	m.log = append(m.log, next)
	var mine chan outcome
	if m != leader {
		mine = make(chan outcome, 1)
		m.waiting[len(m.log)-1] = mine
	}
	m.broadcast()
	m.mu.Unlock()
	if mine == nil {
		return answer, true
	}
	select {
	case answer, ok = <-mine:
		return answer, ok
	case <-m.done:
		return outcome{}, false
	}
}

// follow executes the log on a follower.
func (m *member) follow() {
	for {
		if !m.await(func() (bool, time.Duration) {
			if m.fromLeader || m.applied == len(m.log) {
				return false, 0
			}
			wait := time.Until(m.log[m.applied].at.Add(m.lag))
			return wait <= 0, wait
		}) {
			for i, c := range m.waiting {
				close(c)
				delete(m.waiting, i)
			}
			m.mu.Unlock()
			return
		}
		i, next := m.applied, m.log[m.applied]
		m.server.mu.Lock()
		answer := m.server.apply(next)
		m.server.mu.Unlock()
		m.applied++
		if mine, ok := m.waiting[i]; ok {
			mine <- answer
			delete(m.waiting, i)
		}
		m.mu.Unlock()
	}
}

// beat does the leader's work of every half tick: pings, the followers' reports with them, members that are silent for
// too long, and the end of sessions.
func (e *Ensemble) beat() {
	ticks := time.NewTicker(e.cfg.TickTime / 2)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-e.done:
			return
		}
		e.mu.Lock()
		now := time.Now()
		for _, m := range e.members {
			e.ping(m, now)
		}
		leader := e.servers[0]
		leader.mu.Lock()
		overdue := leader.overdue()
		for _, id := range overdue {
			leader.sessions[id].closing = true
		}
		leader.mu.Unlock()
		if !e.majority() {
			overdue = nil // at a later beat
		}
		e.mu.Unlock()
		for _, id := range overdue {
			e.members[0].propose(id, nil, opCloseSession, nil)
		}
	}
}

// ping does one beat for a member. Callers hold e.mu.
func (e *Ensemble) ping(m *member, now time.Time) {
	leader := e.servers[0]
	switch {
	case m.index == 0:
		if e.majority() {
			m.heard = now
		}
	case !m.fromLeader:
		m.heard = now
		if !m.toLeader {
			leader.mu.Lock()
			for id := range m.touched {
				if sess := leader.sessions[id]; sess != nil && !sess.closing {
					leader.touch(sess)
				}
			}
			leader.mu.Unlock()
			clear(m.touched)
		}
	}
	silent := now.Sub(m.heard) >= e.syncLimit
	if silent && !m.down {
		m.down = true
		m.dropAll()
		e.broadcast()
	}
	if !silent && m.down && (m.index == 0 || m.applied == len(e.log)) {
		m.down = false
	}
}

// dropAll cuts all clients off. Callers hold e.mu.
func (m *member) dropAll() {
	for i, c := range m.waiting {
		close(c)
		delete(m.waiting, i)
	}
	clear(m.touched)
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	for c := range m.server.conns {
		c.abort()
	}
}

// touch notes that a session was heard of here. The leader knows it at once.
func (m *member) touch(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.index > 0 {
		m.touched[id] = struct{}{}
		return
	}
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	if sess := m.server.sessions[id]; sess != nil && !sess.closing {
		m.server.touch(sess)
	}
}

// apply executes an entry. Callers hold s.mu.
func (s *Server) apply(e entry) outcome {
	s.zxid = e.zxid
	tx := &txn{tree: s.tree, zxid: e.zxid, now: e.now, session: e.session, who: e.who}
	d := &decoder{buf: slices.Clone(e.body)}
	out := outcome{zxid: e.zxid}
	switch e.op {
	case opSync:
		path := d.string()
		out.body = func(enc *encoder) { enc.string(path) }
		return out
	case opCreateSession:
		if s.member.index == 0 {
			s.sessions[e.session] = &session{id: e.session, timeout: time.Duration(d.int64())}
			s.touch(s.sessions[e.session])
		}
		return out
	case opCloseSession:
		tx.endSession()
		sess := s.sessions[e.session]
		delete(s.sessions, e.session)
		s.commit(tx)
		if sess != nil && sess.conn != nil {
			c := sess.conn
			c.closing = true
			s.detach(c)
			c.finish()
		}
		return out
	case opMulti:
		out.body, out.code = applyMulti(tx, d)
	default:
		if apply := writeOps[e.op].parse(e.op, d); apply == nil {
			out.code = codeMarshalling
		} else {
			out.body, out.code = apply(tx)
		}
	}
	s.commit(tx)
	return out
}

// connect is a server's own connect, on a member of an ensemble.
func (m *member) connect(c *conn, r connectRequest) bool {
	s := m.server
	m.mu.Lock()
	s.mu.Lock()
	refuse := m.down || c.closed || r.lastZxidSeen > s.zxid
	s.mu.Unlock()
	m.mu.Unlock()
	if refuse {
		return false
	}
	timeout := min(max(r.timeout, m.cfg.MinSessionTimeout), m.cfg.MaxSessionTimeout)
	id, secret, ok := m.session(r, timeout)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed {
		return false
	}
	if id == 0 {
		c.answerConnect(r, 0, 0, [16]byte{})
		c.finish()
		return true
	}
	sess := s.sessions[id]
	if sess == nil {
		if m.index == 0 {
			return false // expired meanwhile
		}
		sess = &session{id: id}
		s.sessions[id] = sess
	}
	if old := sess.conn; old != nil {
		s.detach(old)
		old.abort()
	}
	sess.timeout, sess.conn, c.session = timeout, c, sess
	c.answerConnect(r, timeout, id, secret)
	return true
}

// session makes a session, or asks the leader whether one lives; 0 when it does not. False when the leader is out of reach.
func (m *member) session(r connectRequest, timeout time.Duration) (id int64, secret [16]byte, ok bool) {
	if r.session == 0 {
		rand.Read(secret[:])
		m.mu.Lock()
		leader := m.members[0].server
		leader.mu.Lock()
		id = leader.nextSession
		leader.nextSession++
		leader.mu.Unlock()
		m.secrets[id] = secret
		m.mu.Unlock()
		var enc encoder
		enc.int64(int64(timeout))
		_, ok = m.propose(id, nil, opCreateSession, enc.buf)
		return id, secret, ok
	}
	gone := false
	ok = m.await(func() (bool, time.Duration) {
		gone = m.down || m.members[0].down
		return gone || !m.toLeader && !m.fromLeader, 0
	})
	defer m.mu.Unlock()
	if !ok || gone {
		return 0, secret, false
	}
	leader := m.members[0].server
	leader.mu.Lock()
	sess := leader.sessions[r.session]
	secret = m.secrets[r.session]
	if sess == nil || sess.closing || subtle.ConstantTimeCompare(secret[:], r.password) == 0 {
		leader.mu.Unlock()
		return 0, secret, true
	}
	leader.touch(sess)
	leader.mu.Unlock()
	for _, other := range m.members {
		if other != m {
			other.server.cutOff(r.session)
		}
	}
	return r.session, secret, true
}

// cutOff ends the connection of a session that has moved to another member.
func (s *Server) cutOff(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess := s.sessions[id]; sess != nil && sess.conn != nil {
		old := sess.conn
		s.detach(old)
		old.abort()
	}
}

// handle is Server.handle on a member of an ensemble: reads are answered here, changes go through the log.
func (m *member) handle(c *conn, packet []byte) bool {
	s := m.server
	d := &decoder{buf: packet}
	xid, op := d.int32(), d.int32()
	s.mu.Lock()
	if d.err != nil || c.closed || c.session == nil {
		s.mu.Unlock()
		return false
	}
	id, who := c.session.id, c.who
	s.mu.Unlock()
	m.touch(id)
	_, writes := writeOps[op]
	if op == opMulti || op == opSync || op == opCloseSession || writes && op != opCheck {
		out, ok := m.propose(id, who, op, d.buf)
		s.mu.Lock()
		defer s.mu.Unlock()
		if !ok {
			c.abort()
			return false
		}
		if c.closed && !c.closing {
			return false
		}
		if op == opCloseSession {
			return false
		}
		c.reply(xid, out.zxid, out.code, out.body)
		if out.code == codeSessionExpired {
			s.detach(c)
			return false
		}
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.closed:
		return false
	case op == opPing:
		c.reply(xidPing, s.zxid, codeOK, nil)
		return true
	case op == opAuth:
		return c.runAuth(xid, d)
	}
	return s.run(request{srv: s, c: c, d: d, op: op}, xid)
}
