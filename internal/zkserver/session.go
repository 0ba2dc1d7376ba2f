package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"maps"
	"slices"
	"time"
)

// session is a client's identity over its connections.
type session struct {
	id       int64
	password [16]byte
	timeout  time.Duration
	deadline int64 // milliseconds since the server started, on a beat
	conn     *conn // nil while the client is away
	closing  bool  // found overdue in an Ensemble: nothing keeps it alive
}

// firstSession starts the ids where the real standalone server does: server number 1 in the top byte, then clock bits
// and room for a counter.
func firstSession(now time.Time) int64 {
	return 1<<56 | int64(uint64(now.UnixMilli())<<24>>8)
}

func (s *Server) sessionIDs() []int64 { return slices.Sorted(maps.Keys(s.sessions)) }

// uptime is the server's own clock, in milliseconds.
func (s *Server) uptime() int64 { return time.Since(s.started).Milliseconds() }

// beatMillis is the interval to which session deadlines are rounded up.
func (s *Server) beatMillis() int64 {
	return max(1, min(s.cfg.TickTime, s.cfg.MinSessionTimeout/2).Milliseconds())
}

// touch postpones a session's end, since its client was just heard from. Deadlines are rounded up
// to the beat.
func (s *Server) touch(sess *session) {
	beat := s.beatMillis()
	sess.deadline = ((s.uptime()+sess.timeout.Milliseconds())/beat + 1) * beat
}

// expireOverdue ends the sessions whose deadline has passed and returns the time to the next beat.
func (s *Server) expireOverdue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.uptime()
	for _, id := range s.overdue() {
		s.expire(s.sessions[id])
	}
	beat := s.beatMillis()
	return time.Duration(beat-now%beat) * time.Millisecond
}

// overdue returns the sessions whose deadline has passed.
func (s *Server) overdue() []int64 {
	now := s.uptime()
	return slices.DeleteFunc(s.sessionIDs(), func(id int64) bool { return s.sessions[id].deadline > now })
}

// expire ends a session. Its connection ends after the queued replies.
func (s *Server) expire(sess *session) {
	c := sess.conn
	s.endSession(sess)
	if c != nil {
		s.detach(c)
		c.finish()
	}
}

// endSession deletes a session and its ephemeral nodes, all in one transaction.
func (s *Server) endSession(sess *session) {
	tx := s.begin(sess.id, nil)
	tx.endSession()
	delete(s.sessions, sess.id)
	s.commit(tx)
}

// connect answers the first packet of a connection: a new session, an old one moved here, or a refusal. It
// returns false if the connection must close without an answer.
func (s *Server) connect(c *conn, r connectRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed || r.lastZxidSeen > s.zxid {
		return false // the client knows a later state than ours: it is on the wrong server
	}
	timeout := min(max(r.timeout, s.cfg.MinSessionTimeout), s.cfg.MaxSessionTimeout)
	sess := s.sessions[r.session]
	switch {
	case r.session == 0:
		s.zxid++
		sess = &session{id: s.nextSession}
		s.nextSession++
		rand.Read(sess.password[:])
		s.sessions[sess.id] = sess
	case sess != nil && sess.conn != nil:
		// The real server cuts the old connection before it looks at the password.
		old := sess.conn
		s.detach(old)
		old.abort()
	}
	if sess == nil || r.session != 0 && subtle.ConstantTimeCompare(sess.password[:], r.password) == 0 {
		c.answerConnect(r, 0, 0, [16]byte{})
		c.finish()
		return true
	}
	sess.timeout, sess.conn = timeout, c
	c.session = sess
	s.touch(sess)
	c.answerConnect(r, timeout, sess.id, sess.password)
	return true
}

// detach disables a connection: its watches are dropped and further requests ignored.
func (s *Server) detach(c *conn) {
	c.closed = true
	s.watches.drop(c)
	if c.session != nil && c.session.conn == c {
		c.session.conn = nil
	}
}
