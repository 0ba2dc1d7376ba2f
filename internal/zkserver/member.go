package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"time"
)

// member is a server as a part of an Ensemble. Guarded by Ensemble.mu.
type member struct {
	*Ensemble
	server *Server
	index  int
	// toLeader and fromLeader are cut when true; lag is the member's delay in executing an entry.
	toLeader, fromLeader bool
	lag                  time.Duration
	applied              int // entries of the log
	waiting              map[int]chan outcome
	touched              map[int64]struct{} // sessions heard of since it last answered a ping
	reported             map[int64]struct{} // in answers that have not arrived
	pinged               bool               // a ping has not arrived
	heard                time.Time          // when a follower last heard from the leader, or the leader from a majority
	down                 bool               // serves no client
}

// propose commits a change, waits until this member has executed it, and returns the answer. It
// returns false if the member stopped serving first; the change may or may not have been executed.
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
	if session != 0 && leader.server.expired(session, op) {
		zxid := leader.server.zxid
		leader.server.mu.Unlock()
		m.mu.Unlock()
		return outcome{zxid: zxid, code: codeSessionExpired}, true
	}
	now := time.Now()
	next := entry{
		at: now, zxid: leader.server.zxid + 1, now: leader.server.wall().UnixMilli(), session: session,
		who: who, op: op, body: body,
	}
	if op == opSync { // changes nothing, and is answered after everything before it
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

// expired reports whether a session is over for an operation. Callers hold s.mu.
func (s *Server) expired(session int64, op int32) bool {
	sess := s.sessions[session]
	switch op {
	case opCreateSession:
		return false
	case opCloseSession:
		return sess == nil
	default:
		return sess == nil || sess.closing
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

// dropAll cuts all clients off. Callers hold e.mu.
func (m *member) dropAll() {
	for i, c := range m.waiting {
		close(c)
		delete(m.waiting, i)
	}
	clear(m.touched)
	clear(m.reported)
	m.pinged = false
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	for c := range m.server.conns {
		c.abort()
	}
}

// touch records a sign of life of a session. On the leader it counts at once.
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

// connect is Server.connect on a member of an ensemble.
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

// session creates a session, or asks the leader whether one lives; id is 0 if it does not. It
// returns false when the leader is unreachable.
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

// ordered reports whether an operation goes through the log.
func ordered(op int32) bool {
	_, writes := writeOps[op]
	return writes && op != opCheck || op == opMulti || op == opSync || op == opCloseSession
}

// handle is Server.handle on a member of an ensemble: reads are answered here, changes go through the log.
func (m *member) handle(c *conn, packet []byte) bool {
	s := m.server
	d := newDecoder(packet)
	xid, op := d.Int(), d.Int()
	s.mu.Lock()
	if d.Err != nil || c.closed || c.session == nil {
		s.mu.Unlock()
		return false
	}
	id, who := c.session.id, c.who
	s.mu.Unlock()
	m.touch(id)
	if ordered(op) {
		out, ok := m.propose(id, who, op, d.Rest)
		s.mu.Lock()
		defer s.mu.Unlock()
		if !ok {
			c.abort()
			return false
		}
		if op == opCloseSession || c.closed && !c.closing {
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
