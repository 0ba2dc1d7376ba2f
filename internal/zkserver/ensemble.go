package zkserver

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Ensemble is a leader and followers that replicate it, as far as clients can tell. Every change is
// one entry of a log. The leader executes it once it can reach a majority, and each follower
// executes it later, in order. A follower answers reads and pings alone, even while it is cut off.
// It reports its active sessions only with the leader's pings, every half tick. A member that is
// cut off for longer than the sync limit serves no clients. There are no elections: the first
// server leads forever. Methods are safe for concurrent use.
type Ensemble struct {
	cfg       Config
	syncLimit time.Duration
	servers   []*Server
	done      chan struct{}
	work      sync.WaitGroup

	mu      sync.Mutex // locked before any Server.mu
	changed chan struct{}
	log     []entry
	members []*member
	secrets map[int64][16]byte // passwords of the sessions
}

// entry is one change that a majority has committed.
type entry struct {
	at      time.Time
	zxid    int64
	now     int64
	session int64
	who     []identity // the requesting identities
	op      int32
	body    []byte
}

// outcome is the reply to a change.
type outcome struct {
	zxid int64
	code errCode
	body body
}

// opCreateSession begins a session in the log; clients do not send it.
const opCreateSession = -10

// StartEnsemble starts a server for each listener, as one ensemble without AdminServers. The first
// one leads. A member that is cut off stops serving after syncLimit ticks.
func StartEnsemble(cfg Config, syncLimit int, listeners ...net.Listener) (*Ensemble, error) {
	cfg = cfg.withDefaults()
	if len(listeners) < 3 {
		return nil, errors.New("zkserver: an ensemble needs at least three members")
	}
	e := &Ensemble{
		cfg: cfg, syncLimit: time.Duration(syncLimit) * cfg.TickTime, done: make(chan struct{}),
		changed: make(chan struct{}),
		secrets: map[int64][16]byte{},
	}
	for i, l := range listeners {
		s := newServer(cfg, l)
		s.member = &member{
			Ensemble: e, server: s, index: i, waiting: map[int]chan outcome{}, touched: map[int64]struct{}{},
			reported: map[int64]struct{}{}, heard: time.Now(),
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

// Cut holds back messages from a follower to its leader, in the other direction, or both, until
// Heal.
func (e *Ensemble) Cut(follower int, toLeader, fromLeader bool) {
	e.set(func() { e.members[follower].toLeader, e.members[follower].fromLeader = toLeader, fromLeader })
}

// Lag delays a follower's changes by lag.
func (e *Ensemble) Lag(follower int, lag time.Duration) {
	e.set(func() { e.members[follower].lag = lag })
}

// Heal ends all cuts and lags. Delayed messages arrive before all later ones, including the
// leader's pings and their answers.
func (e *Ensemble) Heal() {
	e.set(func() {
		for _, m := range e.members {
			m.toLeader, m.fromLeader, m.lag = false, false, 0
			if m.pinged {
				maps.Copy(m.reported, m.touched)
				clear(m.touched)
				m.pinged = false
			}
			e.hear(m)
		}
	})
}

// hear handles a follower's reports on the leader. Callers hold e.mu.
func (e *Ensemble) hear(m *member) {
	leader := e.servers[0]
	leader.mu.Lock()
	defer leader.mu.Unlock()
	for id := range m.reported {
		if sess := leader.sessions[id]; sess != nil && !sess.closing {
			leader.touch(sess)
		}
	}
	clear(m.reported)
}

// Sessions returns the ids of all live sessions, in ascending order.
func (e *Ensemble) Sessions() []int64 { return e.servers[0].Sessions() }

// Delete removes a node, like an operator, once a majority can be reached. It returns at once and
// calls done later. deleted is false if the node does not exist, or the leader serves no clients.
func (e *Ensemble) Delete(path string, done func(deleted bool)) {
	var enc encoder
	enc.string(path)
	enc.int32(-1)
	e.work.Go(func() {
		out, ok := e.members[0].propose(0, super, opDelete, enc.buf)
		done(ok && out.code == codeOK)
	})
}

// Children returns the names of a node's children, as the leader has them.
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

// broadcast wakes all goroutines that wait for a change. Callers hold e.mu.
func (e *Ensemble) broadcast() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// await calls ok with e.mu held, after each change or the wait that ok asks for, until ok reports
// ready. It returns with e.mu held, and false once the ensemble is closed.
func (e *Ensemble) await(ok func() (ready bool, wait time.Duration)) bool {
	e.mu.Lock()
	for {
		ready, wait := ok()
		if ready {
			return true
		}
		changed := e.changed
		e.mu.Unlock()
		var fires <-chan time.Time
		if wait > 0 {
			fires = time.After(wait)
		}
		select {
		case <-changed:
		case <-fires:
		case <-e.done:
			e.mu.Lock()
			return false
		}
		e.mu.Lock()
	}
}

// majority reports whether the leader and enough followers reach each other. Callers hold e.mu.
func (e *Ensemble) majority() bool {
	reached := 1
	for _, m := range e.members[1:] {
		if !m.toLeader && !m.fromLeader {
			reached++
		}
	}
	return reached > len(e.members)/2
}

// beat does the leader's work of half a tick: pings, followers' reports, silent members and expired
// sessions.
func (e *Ensemble) beat() {
	ticks := time.Tick(e.cfg.TickTime / 2)
	for {
		select {
		case <-ticks:
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
			overdue = nil // later
		}
		e.mu.Unlock()
		for _, id := range overdue {
			e.members[0].propose(id, nil, opCloseSession, nil)
		}
	}
}

// ping does one beat for a member. Callers hold e.mu.
func (e *Ensemble) ping(m *member, now time.Time) {
	switch {
	case m.index == 0:
		if e.majority() {
			m.heard = now
		}
	case m.fromLeader:
		m.pinged = true
	default:
		m.heard = now
		maps.Copy(m.reported, m.touched)
		clear(m.touched)
		if !m.toLeader {
			e.hear(m)
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

// apply executes an entry. Callers hold s.mu.
func (s *Server) apply(e entry) outcome {
	s.zxid = e.zxid
	tx := &txn{tree: s.tree, zxid: e.zxid, now: e.now, session: e.session, who: e.who}
	d := newDecoder(slices.Clone(e.body))
	out := outcome{zxid: e.zxid}
	switch e.op {
	case opSync:
		path := d.String()
		out.body = func(enc *encoder) { enc.string(path) }
		return out
	case opCreateSession:
		if s.member.index == 0 {
			s.sessions[e.session] = &session{id: e.session, timeout: time.Duration(d.Long())}
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
		if apply := writeOps[e.op](e.op, d); apply == nil {
			out.code = codeMarshalling
		} else {
			out.body, out.code = apply(tx)
		}
	}
	s.commit(tx)
	return out
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
